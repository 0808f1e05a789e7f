"""The training loop: updates, validations, checkpoints, resuming and stopping."""

import dataclasses
import json
import logging
import signal
from typing import Any

import pytest
import torch

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import make_batch
from nmtkit.data.batching import Batches, Position
from nmtkit.errors import ModelError, TrainingInterrupted
from nmtkit.io.parameters import read_parameters
from nmtkit.training.checkpoint import Progress, list_checkpoints
from nmtkit.training.early_stopping import update_early_stopping
from nmtkit.training.validation import Validation

TIMES = {"seconds", "words_per_second"}


def parameters(training):
    return {name: value.detach().clone() for name, value in training.model.named_parameters()}


def gradients(training):
    return {name: value.grad.clone() for name, value in training.model.named_parameters()}


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def close(one, other, **tolerance):
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], **tolerance, msg=name)


def metrics(training):
    """Return the lines of metrics.jsonl without times."""
    path = training.folder / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def length(named):
    return sum(float((value.double() ** 2).sum()) for value in named.values()) ** 0.5


# One update


def gradient_of(begin, cost, **changes):
    """Return the gradient that the optimizer gets in the first update, and the `Update`."""
    training = begin(
        loss_reduction=cost, clip_norm=0.0, learning_rate=0.0, optimizer="sgd", **changes
    )
    update = training.update()
    return gradients(training), update


def test_the_cost_reductions_are_multiples_of_each_other(begin):
    by_sum, update = gradient_of(begin, "batch-sum")
    by_sentence, _ = gradient_of(begin, "sentence-mean")
    by_token, _ = gradient_of(begin, "token-mean")
    assert update.tokens > 4
    close(by_sum, {name: 4 * value for name, value in by_sentence.items()})
    close(by_sum, {name: update.tokens * value for name, value in by_token.items()})


def test_bfloat16_products_give_nearly_the_same_gradient_in_float32(begin):
    exact, update = gradient_of(begin, "token-mean")
    lowered, again = gradient_of(begin, "token-mean", precision="bfloat16")
    assert {value.dtype for value in lowered.values()} == {torch.float32}
    assert again.cost == pytest.approx(update.cost, rel=0.01)
    assert not equal(exact, lowered)
    difference = {name: value - lowered[name] for name, value in exact.items()}
    assert length(difference) < 0.05 * length(exact)


@pytest.mark.parametrize("cost", ["batch-sum", "sentence-mean", "token-mean"])
def test_the_gradient_is_that_of_the_models_loss(begin, cost):
    found, update = gradient_of(begin, cost, label_smoothing=0.1)
    training = begin()
    batch = next(iter(training.batches))
    loss = training.model.loss(*batch[:4], label_smoothing=0.1)
    sizes = {"batch-sum": 1, "sentence-mean": 4, "token-mean": int(batch.tgt_mask.sum())}
    (loss / sizes[cost]).backward()
    close(found, gradients(training))
    assert update.cost == pytest.approx(loss.item())
    assert update.tokens == sizes["token-mean"]
    assert update.norm == pytest.approx(length(found), rel=1e-5)


@pytest.mark.parametrize("cost", ["batch-sum", "sentence-mean", "token-mean"])
def test_accumulating_two_batches_equals_one_batch_of_both(begin, cost):
    found, update = gradient_of(begin, cost, gradient_accumulation=2)
    training = begin(loss_reduction=cost, clip_norm=0.0, learning_rate=0.0, optimizer="sgd")
    stream = iter(training.batches)
    both = [next(stream), next(stream)]
    pairs = []
    for batch in both:
        for row in range(len(batch.lines)):
            src = batch.src[row][batch.src_mask[row]].tolist()
            pairs.append((src, batch.tgt[row][batch.tgt_mask[row]].tolist()))
    joined = make_batch([src for src, _ in pairs], [tgt for _, tgt in pairs], [1] * len(pairs))
    training.stream = iter([joined])
    together = training.update()
    close(found, gradients(training), rtol=1e-4, atol=1e-5)
    assert (update.tokens, len(pairs)) == (together.tokens, 8)
    assert update.cost == pytest.approx(together.cost, rel=1e-5)
    assert update.norm == pytest.approx(together.norm, rel=1e-4)


@pytest.mark.parametrize("cost", ["batch-sum", "token-mean"])
def test_a_long_gradient_is_clipped_and_keeps_its_direction(begin, cost):
    plain, update = gradient_of(begin, cost)
    clip = update.norm / 3
    training = begin(loss_reduction=cost, clip_norm=clip, learning_rate=0.0, optimizer="sgd")
    assert training.update().norm == pytest.approx(update.norm)
    found = gradients(training)
    assert length(found) == pytest.approx(clip, rel=1e-5)
    close(found, {name: value / 3 for name, value in plain.items()})


@pytest.mark.parametrize("factor", [1.01, 100])
def test_a_short_gradient_is_not_clipped(begin, factor):
    plain, update = gradient_of(begin, "token-mean")
    training = begin(loss_reduction="token-mean", clip_norm=factor * update.norm, learning_rate=0.0)
    training.update()
    close(gradients(training), plain)


def test_sgd_moves_against_the_gradient(begin):
    training = begin(optimizer="sgd", learning_rate=0.25)
    before = parameters(training)
    training.update()
    slope = gradients(training)
    close(parameters(training), {name: before[name] - 0.25 * slope[name] for name in before})


def test_updates_lower_the_cost(begin):
    training = begin(
        optimizer="adam", learning_rate=0.05, loss_reduction="token-mean", data={"sort_pool": 1}
    )
    batch = next(training.stream)
    training.stream = iter([batch] * 60)
    costs = [training.update().cost for _ in range(60)]
    assert costs[-1] < 0.3 * costs[0]


@pytest.mark.parametrize("settings", [{"warmup": 4}, {"max_updates": 6, "cooldown": 3}])
def test_the_learning_rate_follows_the_schedule(begin, settings):
    training = begin(
        optimizer="sgd", learning_rate=0.8, **{"max_updates": 6, "validate_every": 50, **settings}
    )
    found = []
    step = training.optimizer.step

    def spied():
        found.append(training.optimizer.param_groups[0]["lr"])
        return step()

    training.optimizer.step = spied
    training.run()
    warming = [0.2, 0.4, 0.6, 0.8, 0.8, 0.8]
    cooling = [0.8, 0.8, 0.8, 0.8, 1.6 / 3, 0.8 / 3]
    assert found == pytest.approx(warming if "warmup" in settings else cooling)


# Validations


def validation(cost=1.0, bleu=None):
    return Validation(cost, 9 * cost, bleu)


@pytest.mark.parametrize(
    ("costs", "stale", "decays"),
    [
        ([3.0], [0], [0]),
        ([3.0, 2.0, 1.0], [0, 0, 0], [0, 0, 0]),
        ([1.0, 1.0, 1.0], [0, 1, 2], [0, 0, 1]),
        ([1.0, 2.0, 0.5, 0.6], [0, 1, 0, 1], [0, 0, 0, 0]),
        ([1.0, 2.0, 3.0, 2.0, 1.5, 1.2], [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2]),
        ([1.0, 2.0, 3.0, 0.9, 1.0, 1.0], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 2]),
        ([2.0, float("nan"), 1.0], [0, 1, 0], [0, 0, 0]),
        ([float("nan"), 1.0, 2.0], [None, 0, 1], [0, 0, 0]),
        ([float("inf"), 5.0], [0, 0], [0, 0]),
    ],
)
def test_early_stopping_counts_validations_without_improvement(costs, stale, decays):
    config = TrainingConfig(lr_decay_patience=2)
    progress, found = Progress(updates=1), []
    for cost in costs:
        progress = update_early_stopping(progress, validation(cost), config)
        found.append((progress.stale, progress.decays))
    expected = list(zip(stale, decays, strict=True))
    assert [row for row, want in zip(found, expected, strict=True) if want[0] is not None] == [
        want for want in expected if want[0] is not None
    ]
    best = min(cost for cost in costs if cost == cost)
    assert progress.best == best and progress.best_cost == best
    assert progress.updates == 1


@pytest.mark.parametrize(
    ("figures", "stale", "decays"),
    [
        ([(3.0, 10.0), (2.0, 20.0)], [0, 0], [0, 0]),
        ([(3.0, 10.0), (4.0, 20.0), (5.0, 30.0)], [0, 0, 0], [0, 0, 1]),
        ([(3.0, 10.0), (2.0, 10.0), (1.0, 9.0)], [0, 1, 2], [0, 0, 0]),
        ([(3.0, 0.0), (2.0, 0.1)], [0, 0], [0, 0]),
    ],
)
def test_bleu_decides_early_stopping_and_cost_the_decay(figures, stale, decays):
    config = TrainingConfig(early_stopping_metric="bleu", lr_decay_patience=2)
    progress, found = Progress(), []
    for cost, bleu in figures:
        progress = update_early_stopping(progress, validation(cost, bleu), config)
        found.append((progress.stale, progress.decays))
    assert found == list(zip(stale, decays, strict=True))
    assert progress.best == -max(bleu for _, bleu in figures)
    assert progress.best_cost == min(cost for cost, _ in figures)


def test_patience_0_never_decays():
    progress = Progress()
    for _ in range(50):
        progress = update_early_stopping(progress, validation(), TrainingConfig())
    assert (progress.decays, progress.stale) == (0, 49)


def test_a_decay_is_logged(caplog):
    config = TrainingConfig(lr_decay=0.25, lr_decay_patience=1)
    with caplog.at_level(logging.INFO, "nmtkit"):
        update_early_stopping(
            update_early_stopping(Progress(), validation(), config), validation(), config
        )
    assert caplog.messages == ["learning rate multiplied by 0.25 from now on"]


def test_validations_run_when_due_and_at_the_end(begin):
    training = begin(max_updates=7, validate_every=3)
    training.run()
    assert [row["update"] for row in metrics(training)] == [3, 6, 7]
    assert training.progress.updates == 7


def test_a_validation_due_at_the_end_runs_once(begin):
    training = begin(max_updates=6, validate_every=3)
    training.run()
    assert [row["update"] for row in metrics(training)] == [3, 6]


def test_max_epochs_ends_a_training(begin):
    training = begin(max_updates=0, max_epochs=2, validate_every=1000)
    training.run()
    assert training.progress.position == Position(2)
    assert training.progress.updates == 2 * 6  # 23 pairs, 4 a batch
    assert [row["update"] for row in metrics(training)] == [12]


def test_validations_run_at_the_ends_of_epochs(begin):
    training = begin(max_updates=20, validate_every=1, validate_epochs=1.0)
    training.run()
    assert [row["update"] for row in metrics(training)] == [6, 12, 18, 20]  # 6 updates an epoch
    assert [row["epoch"] for row in metrics(training)][:3] == [1, 2, 3]


@pytest.mark.parametrize(
    ("every", "accumulate", "updates"),
    [(2.0, 1, [12]), (0.3, 1, [2, 4, 6, 8, 10, 12]), (1.0, 4, [2, 3]), (0.01, 6, [1, 2])],
)
def test_validate_epochs_validates_after_the_first_update_beyond(begin, every, accumulate, updates):
    """2 updates a pool, 3 pools an epoch; where batches are joined, an epoch may end within."""
    training = begin(
        max_updates=0, max_epochs=2.0, validate_epochs=every, gradient_accumulation=accumulate
    )
    training.run()
    assert [row["update"] for row in metrics(training)] == updates


def test_patience_counts_validations_by_epochs(begin, dev):
    figures = dev(costs=[5.0, 6.0, 4.0, *[4.0 + n for n in range(10)], 1.0])
    training = begin(dev=figures, max_updates=0, validate_epochs=1.0, patience=10)
    training.run()
    assert training.progress.position == Position(13)
    assert [row["update"] for row in metrics(training)] == [6 * n for n in range(1, 14)]
    assert [n for n, row in enumerate(metrics(training)) if row["best"]] == [0, 2]
    assert equal(read_parameters(training.folder / "params.best.safetensors"), figures.seen[2])


def test_early_stopping_on_cost(begin, dev):
    figures = dev(costs=[5.0, 4.0, 4.5, 4.0, 4.1, 1.0])
    training = begin(dev=figures, max_updates=0, validate_every=1, patience=3)
    training.run()
    assert training.progress.updates == 5
    assert [row["best"] for row in metrics(training)] == [True, True, False, False, False]
    assert equal(read_parameters(training.folder / "params.best.safetensors"), figures.seen[1])
    assert equal(read_parameters(training.folder / "params.last.safetensors"), figures.seen[4])


def test_early_stopping_on_bleu(begin, dev):
    figures = dev(costs=[9.0, 8.0, 7.0, 6.0, 5.0], bleus=[1.0, 3.0, 2.0, 3.0, 9.0])
    training = begin(
        dev=figures, max_updates=0, validate_every=1, patience=2, early_stopping_metric="bleu"
    )
    training.run()
    assert training.progress.updates == 4
    assert training.progress.best == -3.0
    assert equal(read_parameters(training.folder / "params.best.safetensors"), figures.seen[1])


def test_a_decayed_rate_is_used_from_the_next_update_on(begin, dev):
    figures = dev(costs=[5.0, 6.0, 7.0, 8.0])
    training = begin(
        dev=figures, optimizer="sgd", learning_rate=0.5, validate_every=1, lr_decay_patience=1
    )
    training.run()
    assert training.progress.decays == 3
    assert training.optimizer.param_groups[0]["lr"] == 0.5 * 0.5**2
    assert [row["decays"] for row in metrics(training)] == [0, 1, 2, 3]


# Checkpoints and averages


@pytest.mark.parametrize(("keep", "average", "left"), [(1, 1, 1), (3, 1, 3), (1, 2, 2), (9, 1, 5)])
def test_keep_checkpoints_and_average_checkpoints_decide_what_is_kept(begin, keep, average, left):
    training = begin(
        max_updates=5, validate_every=1, keep_checkpoints=keep, average_checkpoints=average
    )
    training.run()
    found = [int(path.name) for path in list_checkpoints(training.folder)]
    assert found == list(range(6 - left, 6))


def test_checkpoints_hold_the_models_own_parameters(begin):
    training = begin(max_updates=3, validate_every=1, average_checkpoints=3)
    training.run()
    newest = list_checkpoints(training.folder)[-1]
    assert equal(read_parameters(newest / "params.safetensors"), parameters(training))


@pytest.mark.parametrize("average", [1, 2, 3])
def test_the_mean_of_the_last_checkpoints_is_validated_and_saved(begin, dev, average):
    figures = dev(costs=[5.0, 4.0, 3.0, 3.5, 9.0])
    training = begin(
        dev=figures, optimizer="sgd", learning_rate=0.1,
        max_updates=5, validate_every=1, average_checkpoints=average, keep_checkpoints=5,
    )  # fmt: skip
    training.run()
    own = [
        read_parameters(path / "params.safetensors") for path in list_checkpoints(training.folder)
    ]
    assert len(own) == 5
    for number, seen in enumerate(figures.seen):
        part = own[max(0, number + 1 - average) : number + 1]
        mean = {name: sum(values[name] for values in part) / len(part) for name in seen}
        close(seen, mean, rtol=1e-5, atol=1e-7)
    assert equal(read_parameters(training.folder / "params.best.safetensors"), figures.seen[2])
    assert equal(read_parameters(training.folder / "params.last.safetensors"), figures.seen[4])
    assert equal(parameters(training), own[-1])


def test_averaging_does_not_disturb_the_training(begin):
    plain = begin(folder="plain", max_updates=6, validate_every=1)
    averaged = begin(folder="averaged", max_updates=6, validate_every=1, average_checkpoints=3)
    plain.run()
    averaged.run()
    assert equal(parameters(plain), parameters(averaged))


def test_a_failing_validation_restores_the_parameters(begin):
    training = begin(max_updates=4, validate_every=1, average_checkpoints=2)
    training.run()

    def fail(model):
        raise KeyboardInterrupt

    training.validate = fail
    before = parameters(training)
    with pytest.raises(KeyboardInterrupt):
        training.validate_and_save()
    assert equal(parameters(training), before)


# Stopping and going on


OPTIONS: dict[str, dict[str, Any]] = {
    "adadelta": {},
    "adam": {
        "optimizer": "adam", "learning_rate": 0.01, "warmup": 5, "label_smoothing": 0.1,
        "loss_reduction": "token-mean", "average_checkpoints": 3, "lr_decay_patience": 1,
        "gradient_accumulation": 2,
        "data": {"order": "random", "shuffle": "every-epoch"},
    },
    "sgd": {
        "optimizer": "sgd", "learning_rate": 0.1, "clip_norm": 5.0,
        "loss_reduction": "sentence-mean",
        "max_updates": 12, "cooldown": 4, "data": {"batch_unit": "tokens", "batch_size": 16},
    },
    "epochs": {"validate_epochs": 0.5},
}  # fmt: skip


class Killed(BaseException):
    """Ends a training as suddenly as a signal."""


def killed_at(training, updates):
    """Run, and die in the middle of update number `updates`."""
    step = training.optimizer.step

    def dying():
        if training.progress.updates + 1 == updates:
            raise Killed
        return step()

    training.optimizer.step = dying
    with pytest.raises(Killed):
        training.run()


@pytest.mark.parametrize("name", list(OPTIONS))
@pytest.mark.parametrize("deaths", [[4], [1, 2, 12], [5, 5, 9]])
def test_a_resumed_training_equals_an_uninterrupted_one(begin, name, deaths):
    settings = {"dropout": 0.3, "max_updates": 12, "validate_every": 2, **OPTIONS[name]}
    whole = begin(folder="whole", **settings)
    whole.run()
    for death in deaths:
        stopped = begin(folder="stopped", **settings)
        stopped.resume()
        killed_at(stopped, death)
    last = begin(folder="stopped", **settings)
    last.resume()
    last.run()
    assert equal(parameters(whole), parameters(last))
    assert metrics(whole) == metrics(last)
    mine, theirs = (training.optimizer.state_dict()["state"] for training in (whole, last))
    assert mine.keys() == theirs.keys()
    assert all(equal(mine[number], theirs[number]) for number in mine)
    same = dataclasses.replace(last.progress, seconds=whole.progress.seconds)
    assert same == whole.progress
    for path in (*whole.folder.glob("params.*"), *whole.folder.glob("checkpoints/*/*.safet*")):
        other = last.folder / path.relative_to(whole.folder)
        assert path.read_bytes() == other.read_bytes(), path.name
    torch.manual_seed(4)
    following = whole.update()
    torch.manual_seed(4)
    assert last.update() == following


def test_a_raised_limit_equals_one_that_was_higher_from_the_start(begin):
    settings = {"dropout": 0.3, "validate_every": 2}
    whole = begin(folder="whole", max_updates=8, **settings)
    whole.run()
    begin(folder="parts", max_updates=4, **settings).run()
    last = begin(folder="parts", max_updates=8, **settings)
    assert last.resume()
    last.run()
    assert equal(parameters(whole), parameters(last))
    assert metrics(whole) == metrics(last)


def test_death_between_the_best_parameters_and_the_checkpoint(begin, monkeypatch):
    settings = {"max_updates": 6, "validate_every": 2, "dropout": 0.3}
    whole = begin(folder="whole", **settings)
    whole.run()
    stopped = begin(folder="stopped", **settings)

    def die(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("nmtkit.training.trainer.save_checkpoint", die)
        with pytest.raises(Killed):
            stopped.run()
    assert (stopped.folder / "params.best.safetensors").exists()
    last = begin(folder="stopped", **settings)
    assert not last.resume()
    last.run()
    assert equal(parameters(whole), parameters(last))
    assert metrics(whole)[-1] == metrics(last)[-1]


def test_a_training_killed_before_its_first_checkpoint_leaves_no_metrics_twice(begin, monkeypatch):
    monkeypatch.setattr("nmtkit.training.metrics_logger.LOG_EVERY", 2)
    settings = {"max_updates": 6, "validate_every": 5}
    killed_at(begin(**settings), 4)
    last = begin(**settings)
    last.resume()
    last.run()
    assert [row["update"] for row in metrics(last)] == [2, 4, 5, 6, 6]


def test_resuming_without_a_checkpoint_starts_from_the_beginning(begin):
    training = begin()
    before = parameters(training)
    assert training.resume() is False
    assert training.progress == Progress() and equal(parameters(training), before)


@pytest.mark.parametrize("settings", [{"max_updates": 4}, {"max_updates": 0, "patience": 1}])
def test_a_finished_training_is_known_to_be(begin, dev, settings):
    first = begin(dev=dev(costs=[1.0, 2.0]), **settings)
    assert not first.finished()
    first.run()
    again = begin(dev=dev(costs=[1.0, 2.0]), **settings)
    assert again.resume() and again.finished()
    before = parameters(again)
    again.run()
    assert equal(parameters(again), before)
    assert metrics(again) == metrics(first)


def test_without_limits_training_never_finishes(begin):
    training = begin(max_updates=0)
    training.progress = Progress(updates=10**9, stale=10**6, position=Position(10**6))
    assert not training.finished()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_non_finite_gradient_changes_nothing(begin, value):
    training = begin(max_updates=6, max_nonfinite=1)
    training.run()
    saved = {path: path.read_bytes() for path in training.folder.rglob("*") if path.is_file()}
    training.config = dataclasses.replace(training.config, max_updates=12)
    loss = training.model.loss
    training.model.loss = lambda *arguments: loss(*arguments) * value
    before = parameters(training)
    lines = next_lines(training)
    with pytest.raises(ModelError, match="not finite at update 7") as error:
        training.run()
    assert ", ".join(str(line) for line in lines) in str(error.value)
    assert equal(parameters(training), before)
    assert {path: path.read_bytes() for path in saved} == saved


def multiplied(training, factors):
    """Multiply the costs of the next updates by factors."""
    loss, left = training.model.loss, iter(factors)
    training.model.loss = lambda *arguments: loss(*arguments) * next(left)


def test_a_non_finite_update_is_skipped_and_counted(begin, caplog):
    nan, inf = float("nan"), float("inf")
    training = begin(optimizer="sgd", learning_rate=0.1, max_updates=6, max_nonfinite=3)
    multiplied(training, [1, nan, inf, 1, nan, 1])
    training.run()
    assert (training.progress.updates, training.progress.skipped) == (6, 3)
    assert training.progress.skipped_in_a_row == 0
    assert len([m for m in caplog.messages if "; skipped" in m]) == 3
    sound = begin("sound", optimizer="sgd", learning_rate=0.1, max_updates=3)
    batches = [batch for n, batch in enumerate(first_batches(sound, 6)) if n in (0, 3, 5)]
    sound.stream = iter(batches)
    sound.run()
    assert equal(parameters(training), parameters(sound))


def test_too_many_skipped_updates_in_a_row_stop_a_training(begin):
    nan = float("nan")
    training = begin(max_updates=9, max_nonfinite=3)
    multiplied(training, [nan, nan, 1, nan, nan, nan])
    with pytest.raises(ModelError, match="update 6 .*, the 3th time in a row"):
        training.run()
    assert training.progress.updates == 5


@pytest.mark.parametrize("cost", ["batch-sum", "sentence-mean", "token-mean"])
def test_a_batch_too_large_for_memory_is_split(begin, cost, caplog):
    """At most 3 pairs fit: a batch of 4 becomes two, to the same gradient."""
    expected, update = gradient_of(begin, cost)
    training = begin(
        "short", loss_reduction=cost, clip_norm=0.0, learning_rate=0.0, optimizer="sgd"
    )
    loss, sizes = training.model.loss, []

    def starved(src, *others):
        sizes.append(len(src))
        if len(src) > 3:
            raise torch.OutOfMemoryError("none left")
        return loss(src, *others)

    training.model.loss = starved
    found = training.update()
    assert sizes == [4, 2, 2] and "batches of at most 2 pairs" in caplog.text
    close(gradients(training), expected, rtol=1e-4, atol=1e-6)
    assert (found.tokens, found.cost) == (update.tokens, pytest.approx(update.cost))


def test_a_single_pair_too_large_for_memory_stops_a_training(begin):
    training = begin()

    def starved(*_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ...")

    training.model.loss = starved
    with pytest.raises(RuntimeError, match="allocate memory"):
        training.update()


def test_other_errors_are_not_mistaken_for_lack_of_memory(begin):
    training = begin()

    def broken(*_):
        raise RuntimeError("shapes differ")

    training.model.loss = broken
    with pytest.raises(RuntimeError, match="shapes differ"):
        training.update()


# Signals


@pytest.fixture
def foreground():
    """Handle SIGINT as a program in the foreground does, wherever the tests run."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(training, update, number):
    """Raise a signal in the middle of an update."""
    loss = training.model.loss

    def spied(*arguments):
        if training.progress.updates == update - 1:
            signal.raise_signal(number)
        return loss(*arguments)

    training.model.loss = spied


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("update", [1, 3, 4])
@pytest.mark.usefixtures("foreground")
def test_a_training_stopped_by_a_signal_resumes_exactly(begin, number, update):
    settings = {"max_updates": 7, "average_checkpoints": 2, "dropout": 0.3, "optimizer": "adam"}
    whole = begin("whole", **settings)
    whole.run()
    handlers = [signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)]
    first = begin("cut", **settings)
    signalled(first, update, number)
    with pytest.raises(TrainingInterrupted) as wish:
        first.run()
    assert wish.value.signal == number and first.progress.updates == update
    assert handlers == [signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)]
    last = begin("cut", **settings)
    assert last.resume() and last.progress.updates == update
    last.run()
    assert equal(parameters(whole), parameters(last))
    for name in ("best", "last"):
        one, other = (t.folder / f"params.{name}.safetensors" for t in (whole, last))
        assert one.read_bytes() == other.read_bytes()
    assert metrics(whole) == metrics(last)
    assert [p.name for p in (last.folder / "checkpoints").iterdir() if "int" in p.name] == []


@pytest.mark.usefixtures("foreground")
def test_a_second_signal_stops_at_once(begin):
    training = begin()
    loss = training.model.loss

    def spied(*arguments):
        signal.raise_signal(signal.SIGINT)
        return loss(*arguments)

    training.model.loss = spied
    training.config = dataclasses.replace(training.config, gradient_accumulation=2)
    with pytest.raises(KeyboardInterrupt):
        training.run()


def first_batches(training, count):
    """Return the next batches without using them up."""
    batches = training.batches
    stream = iter(Batches(batches.corpus, batches.config, batches.seed, batches.position))
    return [next(stream) for _ in range(count)]


def next_lines(training):
    """Return the line numbers of the next batch without using it up."""
    return first_batches(training, 1)[0].lines
