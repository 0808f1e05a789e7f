"""The training loop: when it validates, which checkpoints it keeps and averages, when it ends."""

import dataclasses

import pytest

from nmtkit.config_io import recipe_names
from nmtkit.data.batching import Position
from nmtkit.io.parameters import read_parameters
from nmtkit.training.checkpoint_folder import list_checkpoints
from nmtkit.training.progress import Progress
from nmtkit.training.settings import make_config
from tests.unit.training.tensors import close, equal, parameters
from tests.unit.training.trainer_metrics import metrics

# Validations


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


# The end


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
