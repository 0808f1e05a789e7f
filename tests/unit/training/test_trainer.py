"""The training loop: updates, validations, checkpoints, resuming and stopping."""

import dataclasses
import json
import logging
import signal
from typing import Any

import pytest
import torch

from nmtkit.config import TrainingConfig
from nmtkit.config_io import recipe_names
from nmtkit.data.batch import make_batch
from nmtkit.data.batching import Batches, Position
from nmtkit.errors import ModelError, TrainingInterrupted
from nmtkit.io.parameters import read_parameters
from nmtkit.training.checkpoint_folder import list_checkpoints
from nmtkit.training.early_stopping import update_early_stopping
from nmtkit.training.progress import Progress
from nmtkit.training.settings import make_config
from nmtkit.training.validation import Validation
from tests.unit.training.tensors import close, equal, gradients, parameters

TIMES = {"seconds", "words_per_second"}


def metrics(trainer):
    """Return the lines of metrics.jsonl without times."""
    path = trainer.folder / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def length(named):
    return sum(float((value.double() ** 2).sum()) for value in named.values()) ** 0.5


# One update


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
    progress, counters = Progress(updates=1), []
    for cost in costs:
        progress = update_early_stopping(progress, validation(cost), config)
        counters.append((progress.stale, progress.decays))
    expected = list(zip(stale, decays, strict=True))
    assert [
        row for row, counts in zip(counters, expected, strict=True) if counts[0] is not None
    ] == [counts for counts in expected if counts[0] is not None]
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
    progress, counters = Progress(), []
    for cost, bleu in figures:
        progress = update_early_stopping(progress, validation(cost, bleu), config)
        counters.append((progress.stale, progress.decays))
    assert counters == list(zip(stale, decays, strict=True))
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


def test_validations_run_when_due_and_at_the_end(make_trainer):
    trainer = make_trainer(max_updates=7, validate_every=3)
    trainer.run()
    assert [row["update"] for row in metrics(trainer)] == [3, 6, 7]
    assert trainer.progress.updates == 7


def test_a_validation_due_at_the_end_runs_once(make_trainer):
    trainer = make_trainer(max_updates=6, validate_every=3)
    trainer.run()
    assert [row["update"] for row in metrics(trainer)] == [3, 6]


def test_max_epochs_ends_a_training(make_trainer):
    trainer = make_trainer(max_updates=0, max_epochs=2, validate_every=1000)
    trainer.run()
    assert trainer.progress.position == Position(2)
    assert trainer.progress.updates == 2 * 6  # 23 pairs, 4 a batch
    assert [row["update"] for row in metrics(trainer)] == [12]


def test_validations_run_at_the_ends_of_epochs(make_trainer):
    trainer = make_trainer(max_updates=20, validate_every=1, validate_epochs=1.0)
    trainer.run()
    assert [row["update"] for row in metrics(trainer)] == [6, 12, 18, 20]  # 6 updates an epoch
    assert [row["epoch"] for row in metrics(trainer)][:3] == [1, 2, 3]


@pytest.mark.parametrize(
    ("every", "accumulate", "updates"),
    [(2.0, 1, [12]), (0.3, 1, [2, 4, 6, 8, 10, 12]), (1.0, 4, [2, 3]), (0.01, 6, [1, 2])],
)
def test_validate_epochs_validates_after_the_first_update_beyond(
    make_trainer, every, accumulate, updates
):
    """2 updates per pool, 3 pools per epoch; an epoch may end within an accumulated update."""
    trainer = make_trainer(
        max_updates=0, max_epochs=2.0, validate_epochs=every, gradient_accumulation=accumulate
    )
    trainer.run()
    assert [row["update"] for row in metrics(trainer)] == updates


def test_patience_counts_validations_by_epochs(make_trainer, dev):
    figures = dev(costs=[5.0, 6.0, 4.0, *[4.0 + n for n in range(10)], 1.0])
    trainer = make_trainer(dev=figures, max_updates=0, validate_epochs=1.0, patience=10)
    trainer.run()
    assert trainer.progress.position == Position(13)
    assert [row["update"] for row in metrics(trainer)] == [6 * n for n in range(1, 14)]
    assert [n for n, row in enumerate(metrics(trainer)) if row["best"]] == [0, 2]
    assert equal(read_parameters(trainer.folder / "params.best.safetensors"), figures.seen[2])


def test_early_stopping_on_cost(make_trainer, dev):
    figures = dev(costs=[5.0, 4.0, 4.5, 4.0, 4.1, 1.0])
    trainer = make_trainer(dev=figures, max_updates=0, validate_every=1, patience=3)
    trainer.run()
    assert trainer.progress.updates == 5
    assert [row["best"] for row in metrics(trainer)] == [True, True, False, False, False]
    assert equal(read_parameters(trainer.folder / "params.best.safetensors"), figures.seen[1])
    assert equal(read_parameters(trainer.folder / "params.last.safetensors"), figures.seen[4])


def test_chrf_decides_early_stopping():
    config = TrainingConfig(early_stopping_metric="chrf")
    progress = Progress()
    for chrf, stale in ((30.0, 0), (29.0, 1), (31.5, 0), (31.5, 1)):
        figures = dataclasses.replace(validation(9.0 - progress.stale, bleu=1.0), chrf=chrf)
        progress = update_early_stopping(progress, figures, config)
        assert progress.stale == stale
    assert progress.best == -31.5


def test_early_stopping_on_bleu(make_trainer, dev):
    figures = dev(costs=[9.0, 8.0, 7.0, 6.0, 5.0], bleus=[1.0, 3.0, 2.0, 3.0, 9.0])
    trainer = make_trainer(
        dev=figures, max_updates=0, validate_every=1, patience=2, early_stopping_metric="bleu"
    )
    trainer.run()
    assert trainer.progress.updates == 4
    assert trainer.progress.best == -3.0
    assert equal(read_parameters(trainer.folder / "params.best.safetensors"), figures.seen[1])


def test_a_decayed_rate_is_used_from_the_next_update_on(make_trainer, dev):
    figures = dev(costs=[5.0, 6.0, 7.0, 8.0])
    trainer = make_trainer(
        dev=figures, optimizer="sgd", learning_rate=0.5, validate_every=1, lr_decay_patience=1
    )
    trainer.run()
    assert trainer.progress.decays == 3
    assert trainer.optimizer.param_groups[0]["lr"] == 0.5 * 0.5**2
    assert [row["decays"] for row in metrics(trainer)] == [0, 1, 2, 3]


# Checkpoints and averages


@pytest.mark.parametrize(("keep", "average", "kept"), [(1, 1, 1), (3, 1, 3), (1, 2, 2), (9, 1, 5)])
def test_keep_checkpoints_and_average_checkpoints_decide_what_is_kept(
    make_trainer, keep, average, kept
):
    trainer = make_trainer(
        max_updates=5, validate_every=1, keep_checkpoints=keep, average_checkpoints=average
    )
    trainer.run()
    updates = [int(path.name) for path in list_checkpoints(trainer.folder)]
    assert updates == list(range(6 - kept, 6))


def test_checkpoints_hold_the_models_own_parameters(make_trainer):
    trainer = make_trainer(max_updates=3, validate_every=1, average_checkpoints=3)
    trainer.run()
    newest = list_checkpoints(trainer.folder)[-1]
    assert equal(read_parameters(newest / "params.safetensors"), parameters(trainer))


@pytest.mark.parametrize("average", [1, 2, 3])
def test_the_mean_of_the_last_checkpoints_is_validated_and_saved(make_trainer, dev, average):
    figures = dev(costs=[5.0, 4.0, 3.0, 3.5, 9.0])
    trainer = make_trainer(
        dev=figures, optimizer="sgd", learning_rate=0.1,
        max_updates=5, validate_every=1, average_checkpoints=average, keep_checkpoints=5,
    )  # fmt: skip
    trainer.run()
    checkpoints = [
        read_parameters(path / "params.safetensors") for path in list_checkpoints(trainer.folder)
    ]
    assert len(checkpoints) == 5
    for number, validated in enumerate(figures.seen):
        averaged = checkpoints[max(0, number + 1 - average) : number + 1]
        mean = {
            name: sum(values[name] for values in averaged) / len(averaged) for name in validated
        }
        close(validated, mean, rtol=1e-5, atol=1e-7)
    assert equal(read_parameters(trainer.folder / "params.best.safetensors"), figures.seen[2])
    assert equal(read_parameters(trainer.folder / "params.last.safetensors"), figures.seen[4])
    assert equal(parameters(trainer), checkpoints[-1])


def test_averaging_does_not_disturb_the_training(make_trainer):
    unaveraged = make_trainer(folder="plain", max_updates=6, validate_every=1)
    averaged = make_trainer(
        folder="averaged", max_updates=6, validate_every=1, average_checkpoints=3
    )
    unaveraged.run()
    averaged.run()
    assert equal(parameters(unaveraged), parameters(averaged))


def test_a_failing_validation_restores_the_parameters(make_trainer):
    trainer = make_trainer(max_updates=4, validate_every=1, average_checkpoints=2)
    trainer.run()

    def fail(model):
        raise KeyboardInterrupt

    trainer.validate = fail
    before = parameters(trainer)
    with pytest.raises(KeyboardInterrupt):
        trainer.validate_and_save()
    assert equal(parameters(trainer), before)


# Stopping and resuming


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
    "curriculum": {
        "curriculum_updates": 8, "guided_alignment": 0.3, "guided_updates": 9,
        "gradient_accumulation": 2,
    },
}  # fmt: skip


class Killed(BaseException):
    """Ends a training suddenly, like a signal."""


def killed_at(trainer, updates):
    """Run a trainer, and stop it suddenly in the middle of update number `updates`."""
    step = trainer.optimizer.step

    def step_or_die():
        if trainer.progress.updates + 1 == updates:
            raise Killed
        return step()

    trainer.optimizer.step = step_or_die
    with pytest.raises(Killed):
        trainer.run()


@pytest.mark.parametrize("name", list(OPTIONS))
@pytest.mark.parametrize("deaths", [[4], [1, 2, 12], [5, 5, 9]])
def test_a_resumed_training_equals_an_uninterrupted_one(make_trainer, name, deaths):
    settings = {"dropout": 0.3, "max_updates": 12, "validate_every": 2, **OPTIONS[name]}
    uninterrupted = make_trainer(folder="whole", **settings)
    uninterrupted.run()
    for death in deaths:
        stopped = make_trainer(folder="stopped", **settings)
        stopped.resume()
        killed_at(stopped, death)
    resumed = make_trainer(folder="stopped", **settings)
    resumed.resume()
    resumed.run()
    assert equal(parameters(uninterrupted), parameters(resumed))
    assert metrics(uninterrupted) == metrics(resumed)
    expected_state, resumed_state = (
        trainer.optimizer.state_dict()["state"] for trainer in (uninterrupted, resumed)
    )
    assert expected_state.keys() == resumed_state.keys()
    assert all(equal(expected_state[number], resumed_state[number]) for number in expected_state)
    progress = dataclasses.replace(resumed.progress, seconds=uninterrupted.progress.seconds)
    assert progress == uninterrupted.progress
    for path in (
        *uninterrupted.folder.glob("params.*"),
        *uninterrupted.folder.glob("checkpoints/*/*.safet*"),
    ):
        resumed_path = resumed.folder / path.relative_to(uninterrupted.folder)
        assert path.read_bytes() == resumed_path.read_bytes(), path.name
    torch.manual_seed(4)
    next_update = uninterrupted.update()
    torch.manual_seed(4)
    assert resumed.update() == next_update


def test_a_raised_limit_equals_one_that_was_higher_from_the_start(make_trainer):
    settings = {"dropout": 0.3, "validate_every": 2}
    uninterrupted = make_trainer(folder="whole", max_updates=8, **settings)
    uninterrupted.run()
    make_trainer(folder="parts", max_updates=4, **settings).run()
    resumed = make_trainer(folder="parts", max_updates=8, **settings)
    assert resumed.resume()
    resumed.run()
    assert equal(parameters(uninterrupted), parameters(resumed))
    assert metrics(uninterrupted) == metrics(resumed)


def test_death_between_the_best_parameters_and_the_checkpoint(make_trainer, monkeypatch):
    settings = {"max_updates": 6, "validate_every": 2, "dropout": 0.3}
    uninterrupted = make_trainer(folder="whole", **settings)
    uninterrupted.run()
    stopped = make_trainer(folder="stopped", **settings)

    def die(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("nmtkit.training.checkpoint_store.save_checkpoint", die)
        with pytest.raises(Killed):
            stopped.run()
    assert (stopped.folder / "params.best.safetensors").exists()
    resumed = make_trainer(folder="stopped", **settings)
    assert not resumed.resume()
    resumed.run()
    assert equal(parameters(uninterrupted), parameters(resumed))
    assert metrics(uninterrupted)[-1] == metrics(resumed)[-1]


def test_a_training_killed_before_its_first_checkpoint_leaves_no_metrics_twice(
    make_trainer, monkeypatch
):
    monkeypatch.setattr("nmtkit.training.metrics_logger.LOG_EVERY", 2)
    settings = {"max_updates": 6, "validate_every": 5}
    killed_at(make_trainer(**settings), 4)
    resumed = make_trainer(**settings)
    resumed.resume()
    resumed.run()
    assert [row["update"] for row in metrics(resumed)] == [2, 4, 5, 6, 6]


def test_resuming_without_a_checkpoint_starts_from_the_beginning(make_trainer):
    trainer = make_trainer()
    before = parameters(trainer)
    assert trainer.resume() is False
    assert trainer.progress == Progress(corpus=trainer.batches.corpus.checksum)
    assert equal(parameters(trainer), before)


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({"max_updates": 4}, ["--updates"]),
        ({"max_updates": 4, "time_limit": 1e6}, ["--updates"]),
        ({"max_updates": 0, "schedule": ("4:1.0",)}, ["--updates"]),
        ({"max_updates": 0, "patience": 1}, ["training.patience"]),
        ({"max_updates": 4, "patience": 1}, ["--updates", "training.patience"]),
        ({"max_updates": 0, "max_epochs": 0.5}, ["training.max_epochs"]),
    ],
)
def test_a_finished_training_is_recognised(make_trainer, dev, settings, limits):
    first = make_trainer(dev=dev(costs=[1.0, 2.0]), **settings)
    assert not first.finished()
    first.run()
    resumed = make_trainer(dev=dev(costs=[1.0, 2.0]), **settings)
    assert resumed.resume() and resumed.finished()
    assert resumed.reached_limits() == limits
    before = parameters(resumed)
    resumed.run()
    assert equal(parameters(resumed), before)
    assert metrics(resumed) == metrics(first)


@pytest.mark.parametrize("recipe", recipe_names())
def test_every_recipe_ends(make_trainer, recipe):
    trainer = make_trainer(**dataclasses.asdict(make_config(recipe).training))
    assert not trainer.finished()
    trainer.progress = Progress(updates=10**9, stale=10**6, position=Position(10**6))
    assert trainer.finished()


def test_without_limits_training_never_finishes(make_trainer):
    trainer = make_trainer(max_updates=0)
    trainer.progress = Progress(updates=10**9, stale=10**6, position=Position(10**6))
    assert not trainer.finished()


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


# Signals


@pytest.fixture
def foreground():
    """Handle SIGINT as a program in the foreground, even if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(trainer, update, number):
    """Raise a signal in the middle of an update."""
    loss = trainer.model.loss

    def loss_with_signal(*arguments):
        if trainer.progress.updates == update - 1:
            signal.raise_signal(number)
        return loss(*arguments)

    trainer.model.loss = loss_with_signal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("update", [1, 3, 4])
@pytest.mark.usefixtures("foreground")
def test_a_training_stopped_by_a_signal_resumes_exactly(make_trainer, number, update):
    settings = {"max_updates": 7, "average_checkpoints": 2, "dropout": 0.3, "optimizer": "adam"}
    uninterrupted = make_trainer("whole", **settings)
    uninterrupted.run()
    handlers = [signal.getsignal(stop_signal) for stop_signal in (signal.SIGINT, signal.SIGTERM)]
    interrupted = make_trainer("cut", **settings)
    signalled(interrupted, update, number)
    with pytest.raises(TrainingInterrupted) as interruption:
        interrupted.run()
    assert interruption.value.signal == number and interrupted.progress.updates == update
    assert handlers == [
        signal.getsignal(stop_signal) for stop_signal in (signal.SIGINT, signal.SIGTERM)
    ]
    resumed = make_trainer("cut", **settings)
    assert resumed.resume() and resumed.progress.updates == update
    resumed.run()
    assert equal(parameters(uninterrupted), parameters(resumed))
    for name in ("best", "last"):
        expected, actual = (
            t.folder / f"params.{name}.safetensors" for t in (uninterrupted, resumed)
        )
        assert expected.read_bytes() == actual.read_bytes()
    assert metrics(uninterrupted) == metrics(resumed)
    assert [p.name for p in (resumed.folder / "checkpoints").iterdir() if "int" in p.name] == []


@pytest.mark.usefixtures("foreground")
def test_a_second_signal_stops_at_once(make_trainer):
    trainer = make_trainer()
    loss = trainer.model.loss

    def loss_with_signal(*arguments):
        signal.raise_signal(signal.SIGINT)
        return loss(*arguments)

    trainer.model.loss = loss_with_signal
    trainer.config = dataclasses.replace(trainer.config, gradient_accumulation=2)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()


def first_batches(trainer, count):
    """Return the next batches without using them up."""
    batches = trainer.batches
    stream = iter(Batches(batches.corpus, batches.config, batches.seed, batches.position))
    return [next(stream) for _ in range(count)]


def next_lines(trainer):
    """Return the line numbers of the next batch without using it up."""
    return first_batches(trainer, 1)[0].lines
