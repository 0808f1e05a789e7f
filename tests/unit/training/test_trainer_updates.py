"""One update: its gradient and learning rate, and what becomes of costs that are not finite."""

import dataclasses

import pytest
import torch

from nmtkit.data.batch import make_batch
from nmtkit.data.batching import Batches
from nmtkit.errors import ModelError
from tests.unit.training.tensors import close, equal, gradients, parameters


def length(named):
    return sum(float((value.double() ** 2).sum()) for value in named.values()) ** 0.5


def gradient_of(make_trainer, cost, **changes):
    """Return the gradient that the optimizer gets in the first update, and the `Update`."""
    trainer = make_trainer(
        loss_reduction=cost, clip_norm=0.0, learning_rate=0.0, optimizer="sgd", **changes
    )
    update = trainer.update()
    return gradients(trainer), update


def test_the_cost_reductions_are_multiples_of_each_other(make_trainer):
    by_sum, update = gradient_of(make_trainer, "batch-sum")
    by_sentence, _ = gradient_of(make_trainer, "sentence-mean")
    by_token, _ = gradient_of(make_trainer, "token-mean")
    assert update.tokens > 4
    close(by_sum, {name: 4 * value for name, value in by_sentence.items()})
    close(by_sum, {name: update.tokens * value for name, value in by_token.items()})


def test_bfloat16_products_give_nearly_the_same_gradient_in_float32(make_trainer):
    float32_gradient, update = gradient_of(make_trainer, "token-mean")
    bfloat16_gradient, bfloat16_update = gradient_of(
        make_trainer, "token-mean", precision="bfloat16"
    )
    assert {value.dtype for value in bfloat16_gradient.values()} == {torch.float32}
    assert bfloat16_update.cost == pytest.approx(update.cost, rel=0.01)
    assert not equal(float32_gradient, bfloat16_gradient)
    difference = {name: value - bfloat16_gradient[name] for name, value in float32_gradient.items()}
    assert length(difference) < 0.05 * length(float32_gradient)


@pytest.mark.parametrize("cost", ["batch-sum", "sentence-mean", "token-mean"])
def test_the_gradient_is_that_of_the_models_loss(make_trainer, cost):
    gradient, update = gradient_of(make_trainer, cost, label_smoothing=0.1)
    trainer = make_trainer()
    batch = next(iter(trainer.batches))
    loss = trainer.model.loss(*batch[:4], label_smoothing=0.1)
    sizes = {"batch-sum": 1, "sentence-mean": 4, "token-mean": int(batch.tgt_mask.sum())}
    (loss / sizes[cost]).backward()
    close(gradient, gradients(trainer))
    assert update.cost == pytest.approx(loss.item())
    assert update.tokens == sizes["token-mean"]
    assert update.norm == pytest.approx(length(gradient), rel=1e-5)


@pytest.mark.parametrize("cost", ["batch-sum", "sentence-mean", "token-mean"])
def test_accumulating_two_batches_equals_one_batch_of_both(make_trainer, cost):
    gradient, update = gradient_of(make_trainer, cost, gradient_accumulation=2)
    trainer = make_trainer(loss_reduction=cost, clip_norm=0.0, learning_rate=0.0, optimizer="sgd")
    stream = iter(trainer.batches)
    batches = [next(stream), next(stream)]
    pairs = []
    for batch in batches:
        for row in range(len(batch.lines)):
            src = batch.src[row][batch.src_mask[row]].tolist()
            pairs.append((src, batch.tgt[row][batch.tgt_mask[row]].tolist()))
    joined = make_batch([src for src, _ in pairs], [tgt for _, tgt in pairs], [1] * len(pairs))
    trainer.stream = iter([joined])
    joined_update = trainer.update()
    close(gradient, gradients(trainer), rtol=1e-4, atol=1e-5)
    assert (update.tokens, len(pairs)) == (joined_update.tokens, 8)
    assert update.cost == pytest.approx(joined_update.cost, rel=1e-5)
    assert update.norm == pytest.approx(joined_update.norm, rel=1e-4)


def test_guided_attention_changes_the_gradient_until_its_updates_are_over(make_trainer):
    plain, _ = gradient_of(make_trainer, "token-mean")
    guided, _ = gradient_of(make_trainer, "token-mean", guided_alignment=0.5)
    assert not equal(plain, guided)
    trainer = make_trainer(guided_alignment=0.5, guided_updates=4, max_updates=8)
    weights, compute = [], trainer.gradient.compute

    def record(*arguments):
        weights.append(arguments[-1])
        return compute(*arguments)

    trainer.gradient.compute = record
    trainer.run()
    assert weights == [0.5, 0.375, 0.25, 0.125, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("cost", ["batch-sum", "token-mean"])
def test_a_long_gradient_is_clipped_and_keeps_its_direction(make_trainer, cost):
    unclipped, update = gradient_of(make_trainer, cost)
    clip = update.norm / 3
    trainer = make_trainer(loss_reduction=cost, clip_norm=clip, learning_rate=0.0, optimizer="sgd")
    assert trainer.update().norm == pytest.approx(update.norm)
    clipped = gradients(trainer)
    assert length(clipped) == pytest.approx(clip, rel=1e-5)
    close(clipped, {name: value / 3 for name, value in unclipped.items()})


@pytest.mark.parametrize("factor", [1.01, 100])
def test_a_short_gradient_is_not_clipped(make_trainer, factor):
    unclipped, update = gradient_of(make_trainer, "token-mean")
    trainer = make_trainer(
        loss_reduction="token-mean", clip_norm=factor * update.norm, learning_rate=0.0
    )
    trainer.update()
    close(gradients(trainer), unclipped)


def test_sgd_moves_against_the_gradient(make_trainer):
    trainer = make_trainer(optimizer="sgd", learning_rate=0.25)
    before = parameters(trainer)
    trainer.update()
    gradient = gradients(trainer)
    close(parameters(trainer), {name: before[name] - 0.25 * gradient[name] for name in before})


def test_updates_lower_the_cost(make_trainer):
    trainer = make_trainer(
        optimizer="adam", learning_rate=0.05, loss_reduction="token-mean", data={"sort_pool": 1}
    )
    batch = next(trainer.stream)
    trainer.stream = iter([batch] * 60)
    costs = [trainer.update().cost for _ in range(60)]
    assert costs[-1] < 0.3 * costs[0]


@pytest.mark.parametrize("settings", [{"warmup": 4}, {"max_updates": 6, "cooldown": 3}])
def test_the_learning_rate_follows_the_schedule(make_trainer, settings):
    trainer = make_trainer(
        optimizer="sgd", learning_rate=0.8, **{"max_updates": 6, "validate_every": 50, **settings}
    )
    rates = []
    step = trainer.optimizer.step

    def record_rate():
        rates.append(trainer.optimizer.param_groups[0]["lr"])
        return step()

    trainer.optimizer.step = record_rate
    trainer.run()
    warmup_rates = [0.2, 0.4, 0.6, 0.8, 0.8, 0.8]
    cooldown_rates = [0.8, 0.8, 0.8, 0.8, 1.6 / 3, 0.8 / 3]
    assert rates == pytest.approx(warmup_rates if "warmup" in settings else cooldown_rates)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_non_finite_gradient_changes_nothing(make_trainer, value):
    trainer = make_trainer(max_updates=6, max_nonfinite=1)
    trainer.run()
    saved = {path: path.read_bytes() for path in trainer.folder.rglob("*") if path.is_file()}
    trainer.config = dataclasses.replace(trainer.config, max_updates=12)
    loss = trainer.model.loss
    trainer.model.loss = lambda *arguments: loss(*arguments) * value
    before = parameters(trainer)
    lines = next_lines(trainer)
    with pytest.raises(ModelError, match="not finite at update 7") as error:
        trainer.run()
    assert ", ".join(str(line) for line in lines) in str(error.value)
    assert equal(parameters(trainer), before)
    assert {path: path.read_bytes() for path in saved} == saved


def multiplied(trainer, factors):
    """Multiply the costs of the next updates by the factors."""
    loss, remaining = trainer.model.loss, iter(factors)
    trainer.model.loss = lambda *arguments: loss(*arguments) * next(remaining)


def test_a_non_finite_update_is_skipped_and_counted(make_trainer, caplog):
    nan, inf = float("nan"), float("inf")
    trainer = make_trainer(optimizer="sgd", learning_rate=0.1, max_updates=6, max_nonfinite=3)
    multiplied(trainer, [1, nan, inf, 1, nan, 1])
    trainer.run()
    assert (trainer.progress.updates, trainer.progress.skipped) == (6, 3)
    assert trainer.progress.skipped_in_a_row == 0
    assert len([m for m in caplog.messages if "; skipped" in m]) == 3
    finite_trainer = make_trainer("sound", optimizer="sgd", learning_rate=0.1, max_updates=3)
    batches = [batch for n, batch in enumerate(first_batches(finite_trainer, 6)) if n in (0, 3, 5)]
    finite_trainer.stream = iter(batches)
    finite_trainer.run()
    assert equal(parameters(trainer), parameters(finite_trainer))


def test_too_many_skipped_updates_in_a_row_stop_a_training(make_trainer):
    nan = float("nan")
    trainer = make_trainer(max_updates=9, max_nonfinite=3)
    multiplied(trainer, [nan, nan, 1, nan, nan, nan])
    with pytest.raises(ModelError, match="update 6 .*, 3 times in a row"):
        trainer.run()
    assert trainer.progress.updates == 5


@pytest.mark.parametrize("cost", ["batch-sum", "sentence-mean", "token-mean"])
def test_a_batch_too_large_for_memory_is_split(make_trainer, cost, caplog):
    """At most 3 pairs fit: a batch of 4 becomes two with the same gradient."""
    expected, update = gradient_of(make_trainer, cost)
    trainer = make_trainer(
        "short", loss_reduction=cost, clip_norm=0.0, learning_rate=0.0, optimizer="sgd"
    )
    loss, sizes = trainer.model.loss, []

    def loss_of_small_batches(src, *arguments):
        sizes.append(len(src))
        if len(src) > 3:
            raise torch.OutOfMemoryError("none left")
        return loss(src, *arguments)

    trainer.model.loss = loss_of_small_batches
    split_update = trainer.update()
    assert sizes == [4, 2, 2] and "batches of at most 2 pairs" in caplog.text
    close(gradients(trainer), expected, rtol=1e-4, atol=1e-6)
    assert (split_update.tokens, split_update.cost) == (update.tokens, pytest.approx(update.cost))


def test_a_single_pair_too_large_for_memory_stops_a_training(make_trainer):
    trainer = make_trainer()

    def run_out_of_memory(*_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ...")

    trainer.model.loss = run_out_of_memory
    with pytest.raises(RuntimeError, match="allocate memory"):
        trainer.update()


def test_other_errors_are_not_mistaken_for_lack_of_memory(make_trainer):
    trainer = make_trainer()

    def fail(*_):
        raise RuntimeError("shapes differ")

    trainer.model.loss = fail
    with pytest.raises(RuntimeError, match="shapes differ"):
        trainer.update()


def first_batches(trainer, count):
    """Return the next batches without using them up."""
    batches = trainer.batches
    stream = iter(Batches(batches.corpus, batches.config, batches.seed, batches.position))
    return [next(stream) for _ in range(count)]


def next_lines(trainer):
    """Return the line numbers of the next batch without using it up."""
    return first_batches(trainer, 1)[0].lines
