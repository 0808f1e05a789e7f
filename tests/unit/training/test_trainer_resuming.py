"""A training that is killed, or stopped by a signal, ends as if it had not been."""

import dataclasses
import signal
from typing import Any

import pytest
import torch

from nmtkit.errors import TrainingInterrupted
from nmtkit.training.progress import Progress
from tests.unit.training.tensors import equal, parameters
from tests.unit.training.trainer_metrics import metrics

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
def test_a_later_signal_stops_at_once(make_trainer, monkeypatch):
    monkeypatch.setattr("nmtkit.parallel.environment.SignalEcho.lasts", lambda _: False)
    trainer = make_trainer()
    loss = trainer.model.loss

    def loss_with_signal(*arguments):
        signal.raise_signal(signal.SIGINT)
        return loss(*arguments)

    trainer.model.loss = loss_with_signal
    trainer.config = dataclasses.replace(trainer.config, gradient_accumulation=2)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
