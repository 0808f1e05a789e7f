"""The gradient by recorded steps, whose recorder repeats them on this machine: as without them."""

import logging
from collections.abc import Callable

import device_checks as checks
import pytest
import torch
from torch import Tensor

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import Batch, make_batch
from nmtkit.models import Model, kernels
from nmtkit.models.attention_guide import AttentionGuide
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.training.cost_gradient import CostGradient, Teacher
from nmtkit.training.cuda_graphs import CudaGraphs, Step, pad_batch
from nmtkit.training.part_gradients import GradientTask
from tests.simulated_device import DEVICE, simulated_device

PADDED = [name for name in checks.CONFIGS if name != "grconv"]
GUIDE = AttentionGuide(
    torch.tensor([13, 35, 90]), torch.tensor([0.5, 1.0, 0.25]).double(), checks.TGT_SIZE
)
LONGER = make_batch([[3, 8, 1, 4, 0], [2, 0]], [[2, 6, 6, 1, 7, 9, 0], [4, 0]], [6, 7])


class Recorder:
    """Counts the steps that are recorded."""

    def __init__(self) -> None:
        self.recorded = 0

    def __call__(self, step: Step) -> Step:
        self.recorded += 1
        return step


def make(
    name: str, smoothing: float = 0.0, device: torch.device = checks.CPU
) -> tuple[Model, CostGradient]:
    model = checks.make_model(checks.CONFIGS[name], device=device)
    return model, CostGradient(model, TrainingConfig(label_smoothing=smoothing))


def gradient_of(
    model: Model,
    add: Callable[[GradientTask], Tensor],
    task: GradientTask,
    clear: Callable[[], object],
) -> tuple[float, Tensor]:
    clear()
    cost = float(add(task))
    missing = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return cost, torch.cat([gradient.flatten() for gradient in missing]).clone()


def assert_same(
    name: str, task: GradientTask, smoothing: float = 0.0, guide: AttentionGuide | None = None
) -> Recorder:
    """Compare three updates with those without graphs; return the recorder."""
    model, cost = make(name, smoothing)
    cost.guide, cost.teacher = guide, Teacher(checks.changed(model), 2.0)
    torch.manual_seed(3)
    expected = gradient_of(model, cost, task, model.zero_grad)
    recorder = Recorder()
    graphs = CudaGraphs(cost, recorder)
    for _ in range(3):
        torch.manual_seed(3)
        actual = gradient_of(model, graphs, task, graphs.clear)
        assert actual[0] == pytest.approx(expected[0], rel=1e-12)
        assert checks.difference(actual[1], expected[1]) < 1e-12
    return recorder


@pytest.mark.parametrize("plain", [False, True], ids=["fast", "plain"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("name", PADDED)
def test_padding_changes_neither_costs_nor_gradients(
    name: str, smoothing: float, plain: bool
) -> None:
    with kernels.plain_pieces(plain):
        recorder = assert_same(name, GradientTask(checks.make_batches(), 0.5, True), smoothing)
    assert recorder.recorded == 2  # one for each shape


def test_guided_attention_is_recorded_too() -> None:
    task = GradientTask(checks.make_batches(), 0.5, True, guidance=0.3)
    assert assert_same("rnnsearch, groundhog", task, guide=GUIDE).recorded == 2


@pytest.mark.parametrize("name", PADDED)
def test_rehearsed_batches_are_recorded_too_and_apart(name: str) -> None:
    [short, long] = checks.make_batches()
    batches = [short, short._replace(rehearsed=True), long._replace(rehearsed=True)]
    assert assert_same(name, GradientTask(batches, 0.5, True)).recorded == 3


def test_guidance_may_change_from_update_to_update() -> None:
    model, cost = make("rnnsearch, groundhog")
    cost.guide = GUIDE
    recorder = Recorder()
    graphs = CudaGraphs(cost, recorder)
    for guidance in (0.3, 0.2, 0.1, 0.0, 0.0):
        task = GradientTask(checks.make_batches()[:1], 0.5, True, guidance=guidance)
        actual = gradient_of(model, graphs, task, graphs.clear)
        expected = gradient_of(model, cost, task, model.zero_grad)
        assert checks.difference(actual[1], expected[1]) < 1e-12
    assert recorder.recorded == 2  # with guidance and without


def test_batches_of_one_shape_with_and_without_dropout_are_recorded_apart() -> None:
    model, cost = make("rnnsearch, groundhog")
    recorder = Recorder()
    graphs = CudaGraphs(cost, recorder)
    modes = []
    for dropout in (True, False, True, False):
        graphs(GradientTask([LONGER._replace(dropout=dropout)], 0.5, True))
        modes.append((model.training, recorder.recorded))
    assert modes == [(True, 0), (False, 0), (True, 1), (False, 2)]


def test_a_shape_is_recorded_when_it_is_met_again_and_repeated_with_new_words() -> None:
    model, cost = make("rnnsearch, groundhog")
    recorder = Recorder()
    graphs = CudaGraphs(cost, recorder)
    other = make_batch([[6, 2, 2, 0]], [[3, 1, 0]], [1])
    same_shape = make_batch([[1, 8, 0], [5, 5, 4, 0]], [[2, 0], [1, 0]], [1, 2])
    counts = []
    for batch in (other, LONGER, same_shape, LONGER, other):
        task = GradientTask([batch], 0.25, True)
        actual = gradient_of(model, graphs, task, graphs.clear)
        expected = gradient_of(model, cost, task, model.zero_grad)
        assert actual[0] == pytest.approx(expected[0], rel=1e-12)
        assert checks.difference(actual[1], expected[1]) < 1e-12
        counts.append(recorder.recorded)
    assert counts == [0, 0, 1, 2, 2]


def test_gradients_of_several_batches_are_summed_in_the_same_tensors() -> None:
    model, cost = make("rnnenc")
    graphs = CudaGraphs(cost, Recorder())
    graphs.clear()
    places = [p.grad for p in model.parameters()]
    for _ in range(3):
        graphs.clear()
        graphs(GradientTask([*checks.make_batches(), LONGER], 0.5, True))
        now = [p.grad for p in model.parameters()]
        assert all(a is b for a, b in zip(places, now, strict=True))


def test_drawn_words_are_computed_without_graphs() -> None:
    model, cost = make("rnnsearch, factored")
    cost.sampler = WordSampler(range(checks.TGT_SIZE, 0, -1), 4)
    recorder = Recorder()
    graphs = CudaGraphs(cost, recorder)
    for samples in (True, True, False, False):
        task = GradientTask(checks.make_batches()[:1], 0.5, samples)
        results = []
        for add, clear in ((graphs, graphs.clear), (cost, model.zero_grad)):
            torch.manual_seed(5)
            results.append(gradient_of(model, add, task, clear))
        (a, ours), (b, theirs) = results
        assert a == pytest.approx(b) and checks.difference(ours, theirs) < 1e-12
    assert recorder.recorded == 1


def test_where_nothing_can_be_recorded_training_goes_on_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def recorder(step: Step) -> Step:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    model, cost = make("rnnenc")
    graphs = CudaGraphs(cost, recorder)
    task = GradientTask(checks.make_batches(), 0.5, True)
    expected = gradient_of(model, cost, task, model.zero_grad)
    with caplog.at_level(logging.WARNING, "nmtkit"):
        for _ in range(3):
            actual = gradient_of(model, graphs, task, graphs.clear)
            assert checks.difference(actual[1], expected[1]) < 1e-12
    [message] = caplog.messages
    assert "cannot be recorded: operation not permitted when stream is capturing" in message


@pytest.mark.parametrize("kind", ["plain", "guided", "rehearsed"])
@pytest.mark.parametrize("name", PADDED)
def test_a_recorded_step_never_waits_for_the_device(name: str, kind: str) -> None:
    class Steps(Recorder):
        """Records the waits of each step, which a graph cannot repeat."""

        def __call__(self, step: Step) -> Step:
            device.waits.clear()
            step()
            assert not device.waits
            return super().__call__(step)

    with simulated_device() as device:
        model, cost = make(name, device=DEVICE)
        cost.teacher = Teacher(checks.changed(model), 2.0)
        if kind == "guided" and model.has_attention:
            keys, strengths = GUIDE.keys.to(DEVICE), GUIDE.strengths.to(DEVICE)
            cost.guide = GUIDE._replace(keys=keys, strengths=strengths)
        recorder = Steps()
        graphs = CudaGraphs(cost, recorder)
        for _ in range(2):
            graphs.clear()
            batches = [
                batch._replace(rehearsed=kind == "rehearsed") for batch in checks.make_batches()
            ]
            graphs(GradientTask(batches, 0.5, True, guidance=0.3 * (kind == "guided")))
    assert recorder.recorded == 2


@pytest.mark.parametrize(("pairs", "length"), [(1, 1), (7, 4), (8, 5), (9, 12)])
def test_batches_are_padded_to_few_shapes(pairs: int, length: int) -> None:
    sentences = [[3] * (length - 1) + [0]] * pairs
    batch: Batch = make_batch(sentences, sentences, list(range(1, pairs + 1)))
    src, src_mask, tgt, tgt_mask = pad_batch(batch)
    assert all(size % 8 == 0 for size in (len(src), len(tgt)))
    assert src.size(1) % 4 == 0 and src.size(1) - length < 4
    for padded, original in zip((src, src_mask, tgt, tgt_mask), batch[:4], strict=True):
        assert torch.equal(padded[:pairs, :length], original)
    assert int(tgt_mask.sum()) == pairs * length  # nothing else costs anything
    assert src_mask[pairs:].sum(1).tolist() == [1] * (len(src) - pairs)
