"""Each fast twin computes the values and gradients of its plain one, in both precisions."""

import subprocess
import sys
from typing import Any

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.models import deep_lstm, grconv, kernels, layers, rnnsearch
from nmtkit.models.base import OutputLayer
from nmtkit.models.fast.embedding_cache import EmbeddingCache
from nmtkit.models.fast.output_layer import output_layer
from nmtkit.models.kernels import Twin, plain_pieces
from nmtkit.models.packing import Packing
from nmtkit.search.beam import beam_search
from tests.unit.models import test_laws as laws

LENGTHS = [[1], [4], [2, 2], [1, 4, 2], [5, 3, 3, 1]]
TOLERANCES: dict[torch.dtype, Any] = {
    torch.float64: {"rtol": 1e-9, "atol": 1e-11},
    torch.float32: {"rtol": 2e-4, "atol": 2e-5},
}
N, ALIGN, POOL, K, T_X = 3, 5, 4, 7, 4

WHOLE_MODEL: dict[torch.dtype, Any] = {
    torch.float64: {"rtol": 1e-8, "atol": 1e-10},
    torch.float32: {"rtol": 1e-3, "atol": 1e-4},
}

precision = pytest.mark.parametrize("dtype", list(TOLERANCES), ids=str)
batches = pytest.mark.parametrize("lengths", LENGTHS, ids=str)


@pytest.fixture(autouse=True)
def fast_by_default():
    with plain_pieces(False):
        yield


def leaves(dtype, *shapes):
    torch.manual_seed(len(shapes))
    return [torch.randn(*shape, dtype=dtype).requires_grad_() for shape in shapes]


def packing_of(lengths):
    mask = torch.arange(max(lengths) + 1) < torch.tensor(lengths).unsqueeze(1)  # padded by one
    return Packing.of(mask, torch.device("cpu"))


def tensors(values):
    return [values] if isinstance(values, torch.Tensor) else list(values)


def assert_twins(twin: Twin[..., Any], arguments, inputs):
    """Compare values, and the gradients of a random sum of them.

    :param inputs: tensors to differentiate by.
    """
    tolerance = TOLERANCES[inputs[0].dtype]
    fast = tensors(twin.fast(*arguments))
    with plain_pieces():
        plain = tensors(twin(*arguments))
    torch.testing.assert_close(fast, plain, **tolerance)
    torch.manual_seed(0)
    weights = [torch.randn_like(value) for value in plain]
    grads = []
    for values in (fast, plain):
        cost: Any = sum((v * w).sum() for v, w in zip(values, weights, strict=True))
        grads.append(torch.autograd.grad(cost, inputs, allow_unused=True, materialize_grads=True))
    torch.testing.assert_close(*grads, **tolerance)


@precision
@pytest.mark.parametrize("rows", [0, 1, 6])
@pytest.mark.parametrize("shape", [(), (2,)], ids=["2-D", "3-D"])
def test_matmul_and_addmm(always_onednn, dtype, rows, shape):
    a, B, b, c = leaves(dtype, (*shape, rows, 4), (4, 3), (3,), (*shape, rows, 3))
    assert_twins(layers.matmul, (a, B), [a, B])
    assert_twins(layers.addmm, (b, a, B), [b, a, B])
    assert_twins(layers.addmm, (c, a, B), [c, a, B])


@precision
@batches
@pytest.mark.parametrize("units", [1, 2])
def test_gru_scan(dtype, lengths, units):
    shapes = [(sum(lengths), 3 * N), (len(lengths), N), (N, 2 * N), (N, N)]
    inputs = leaves(dtype, *((units, *shape) for shape in shapes))
    assert_twins(layers.gru_scan, (*inputs, packing_of(lengths)), inputs)


@precision
@batches
def test_attention(dtype, lengths):
    mask = torch.arange(max(lengths) + 1) < torch.tensor(lengths).unsqueeze(1)
    query, keys, v_a = leaves(dtype, (len(lengths), 2, ALIGN), (*mask.shape, ALIGN), (ALIGN,))
    with torch.no_grad():  # the fast twin is for search only
        fast = rnnsearch.attention.fast(query, keys, v_a, mask)
        plain = rnnsearch.attention.plain(query, keys, v_a, mask)
    torch.testing.assert_close(fast, plain, **TOLERANCES[dtype])
    assert_twins(rnnsearch.attention, (query, keys, v_a, mask), [query, keys, v_a])


@precision
@batches
def test_decoder_scan(dtype, lengths):
    lengths = sorted(lengths, reverse=True)
    batch = len(lengths)
    mask = torch.arange(T_X) <= torch.arange(batch).unsqueeze(1) % T_X
    inputs = leaves(
        dtype,
        *[(sum(lengths), 3 * N), (batch, N), (batch, T_X, ALIGN), (batch, T_X, 3 * N)],
        *[(N, ALIGN + 2 * N), (N, N), (ALIGN,)],
    )
    x, s_0, keys, values, *weights = inputs
    arguments = (x, s_0, (keys, values, mask), tuple(weights), packing_of(lengths))
    assert_twins(rnnsearch.decoder_scan, arguments, inputs)


@precision
@batches
@pytest.mark.parametrize("peepholes", [True, False])
def test_lstm_scan(dtype, lengths, peepholes):
    batch = len(lengths)
    inputs = leaves(dtype, (sum(lengths), 4 * N), (batch, N), (batch, N), (N, 4 * N), (3, N))
    x, h, c, U, p = inputs
    arguments = (x, (h, c), U, p if peepholes else None, packing_of(lengths))
    assert_twins(deep_lstm.lstm_scan, arguments, inputs[: 4 + peepholes])


@precision
@batches
def test_compose(dtype, lengths):
    inputs = leaves(dtype, (sum(lengths), N), (N, 2 * (N + 3)), (N + 3,))
    assert_twins(grconv.compose, (*inputs, packing_of(lengths)), inputs)


@precision
@pytest.mark.parametrize("rows", [0, 1, 200])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_softmax_cost_and_target_log_probs(dtype, rows, smoothing):
    inputs = leaves(dtype, (rows, POOL), (K, POOL), (K,))
    targets = torch.randint(0, K, (rows,))
    assert_twins(layers.softmax_cost, (*inputs, targets, smoothing), inputs)
    log_probs = layers.target_log_probs
    readout, W, bias = inputs
    fast, plain = (f(readout, W, bias, targets) for f in (log_probs.fast, log_probs.plain))
    torch.testing.assert_close(fast, plain, **TOLERANCES[dtype])
    assert not plain.requires_grad


@precision
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_rows_without_cost_count_as_if_they_were_not_there(dtype, smoothing):
    inputs = leaves(dtype, (200, POOL), (K, POOL), (K,))
    targets, real = torch.randint(0, K, (200,)), torch.rand(200) < 0.7
    assert_twins(layers.softmax_cost, (*inputs, targets, smoothing, real), inputs)
    readout, W, bias = inputs
    with_all = layers.softmax_cost.fast(readout, W, bias, targets, smoothing, real)
    alone = layers.softmax_cost.fast(readout[real], W, bias, targets[real], smoothing)
    torch.testing.assert_close(with_all, alone, **TOLERANCES[dtype])


@precision
@pytest.mark.parametrize("rows", [0, 1, 200])
def test_target_evidence(dtype, rows):
    readout, W, bias = leaves(dtype, (rows, POOL), (K, POOL), (K,))
    targets = torch.randint(0, K, (rows,))
    evidence = layers.target_evidence
    fast, plain = (f(readout, W, bias, targets) for f in (evidence.fast, evidence.plain))
    torch.testing.assert_close(fast, plain, **TOLERANCES[dtype])
    assert plain.shape == (rows, 3) and not plain.requires_grad
    log_probs = (readout @ W.t() + bias).log_softmax(1).detach()
    entropies = torch.special.entr(log_probs.exp()).sum(1)
    torch.testing.assert_close(plain[:, 2], entropies, **TOLERANCES[dtype])
    best, second = log_probs.topk(2, 1).values.unbind(1)
    is_best = log_probs.argmax(1) == targets
    rivals = torch.where(is_best, second, best)
    torch.testing.assert_close(plain[:, 1], rivals, **TOLERANCES[dtype])


@precision
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_dropout(dtype, share):
    """The random bits differ, but not their share, nor the scale of the kept values."""
    values = torch.ones(100_000, dtype=dtype, requires_grad=True)
    for dropout in (layers.dropout.fast, layers.dropout.plain):
        torch.manual_seed(1)
        dropped = dropout(values, share)
        kept = dropped.detach() != 0
        assert abs(float(kept.double().mean()) - (1 - share)) < 0.01
        (grad,) = torch.autograd.grad(dropped.sum(), values)
        expected = kept.to(dtype) / (1 - share)
        torch.testing.assert_close([dropped.detach(), grad], [expected, expected])


@precision
def test_output_layer(dtype):
    W, bias, readout = (v.detach() for v in leaves(dtype, (20, POOL), (20,), (2, 3, POOL)))
    lists = torch.tensor([[0, 3, 19], [5, -1, -1]])
    words, rows = torch.randint(0, 20, (6, 4)), torch.tensor([1])
    actual = []
    for layer in (output_layer(W, bias), OutputLayer(W, bias)):
        flat, candidates = readout.flatten(0, 1), layer.for_candidates(lists)
        actual.append(
            [
                layer.logits(readout),
                layer.logits_of(flat, words),
                candidates.logits(readout),
                candidates.select(rows).logits(readout[rows]),
                torch.cat([shard.logits(flat) for shard in layer.shards(16, 8)], 1),
            ]
        )
    torch.testing.assert_close(*actual, **TOLERANCES[dtype])
    assert actual[0][-1].shape == (6, 24) and (actual[1][-1][:, 20:] == -torch.inf).all()


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3)])
def test_embedding_cache(shape):
    def compute(words):
        return torch.stack([words, words**2], -1).double()

    words = torch.randint(-1, 9, shape)
    assert torch.equal(EmbeddingCache(compute, 9)(words), compute(words))


def model_of(name, dtype):
    return laws.random_model(laws.CASES[name]).to(dtype)


@precision
@pytest.mark.parametrize("name", list(laws.CASES))
def test_models_have_the_same_loss_scores_and_gradients(name, dtype):
    model = model_of(name, dtype)
    batch = (*pad(laws.SOURCES), *pad(laws.TARGETS))
    actual = []
    for plain in (False, True):
        with plain_pieces(plain):
            loss = model.loss(*batch, label_smoothing=0.1)
            grads = torch.autograd.grad(loss, list(model.parameters()))
            scored = model.score(*batch)
            actual.append([loss, *grads, scored.log_probs, scored.alignment])
    for fast, plain in zip(*actual, strict=True):
        if fast is not None:
            torch.testing.assert_close(fast, plain, **WHOLE_MODEL[dtype])


@pytest.mark.parametrize("name", list(laws.CASES))
def test_models_have_nearly_the_same_gradients_in_bfloat16(name):
    model = model_of(name, torch.float32)
    batch = (*pad(laws.SOURCES), *pad(laws.TARGETS))
    losses, gradients = [], []
    for plain in (False, True):
        with plain_pieces(plain):
            with torch.autocast("cpu", torch.bfloat16):
                losses.append(model.loss(*batch))
            grads = torch.autograd.grad(losses[-1], list(model.parameters()))
            assert all(grad.dtype == torch.float32 for grad in grads)
            gradients.append(torch.cat([grad.flatten() for grad in grads]))
    torch.testing.assert_close(*losses, rtol=0.02, atol=0.0)
    cosine = torch.cosine_similarity(gradients[0], gradients[1], dim=0)
    assert cosine > 0.8  # most are 0.9999; rounding decides near ties of maxout


@precision
@pytest.mark.parametrize("name", list(laws.CASES))
def test_models_take_the_same_steps(name, dtype):
    model = model_of(name, dtype)
    (src, src_mask), (tgt, _) = pad(laws.SOURCES), pad(laws.TARGETS)
    fast = laws.step_log_probs(model.for_inference(), src, src_mask, tgt)
    with plain_pieces():
        assert model.for_inference() is model
        plain = laws.step_log_probs(model, src, src_mask, tgt)
    for ours, theirs in zip(fast, plain, strict=True):
        if ours is not None:
            torch.testing.assert_close(ours, theirs, **WHOLE_MODEL[dtype])


@pytest.mark.parametrize("name", list(laws.CASES))
def test_models_give_the_same_translations(name):
    model = model_of(name, torch.float64)
    src, src_mask = pad(laws.SOURCES)
    actual = []
    for plain in (False, True):
        with plain_pieces(plain), torch.inference_mode():
            n_best = beam_search([model.for_inference()], src, src_mask, SearchConfig(beam=3), 3)
            actual.append([[(h.ids, h.score) for h in hypotheses] for hypotheses in n_best])
    for fast, plain in zip(*actual, strict=True):
        assert [ids for ids, _ in fast] == [ids for ids, _ in plain]
        assert [score for _, score in fast] == pytest.approx([score for _, score in plain])


def test_plain_implementations_refuse_to_quantize():
    model = model_of("rnnenc", torch.float32)
    with plain_pieces(), pytest.raises(ValueError, match="NMTKIT_PLAIN"):
        model.for_inference("int8")


@pytest.mark.parametrize(("value", "plain"), [("1", True), ("0", False), ("", False)])
def test_the_environment_selects_the_implementation(value, plain):
    done = subprocess.run(
        [sys.executable, "-c", "from nmtkit.models import kernels; print(kernels.PLAIN)"],
        env={"NMTKIT_PLAIN": value, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(plain)


def test_plain_pieces_affects_its_block_only():
    with pytest.raises(ZeroDivisionError), plain_pieces():
        assert kernels.PLAIN
        raise ZeroDivisionError
    assert not kernels.PLAIN
    twin = Twin(lambda: "plain", lambda: "fast")
    assert twin() == "fast"
    with plain_pieces():
        assert twin() == "plain"
