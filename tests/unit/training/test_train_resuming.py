"""A training from a prepared folder that is resumed ends as if it had not been stopped."""

import functools
import itertools
import json
import logging
import os
import shutil
import signal
import time

import pytest

from nmtkit.errors import OutputError, TrainingInterrupted
from nmtkit.training.checkpoint_folder import list_checkpoints
from nmtkit.training.trainer import Trainer
from tests.full_disk import full_disk
from tests.unit.training.toy_trainings import EARLY, assert_same_training, contents


@pytest.mark.parametrize(
    ("recipe", "settings"), [("toy", []), ("rnnsearch-50", []), ("toy", EARLY)]
)
def test_a_resumed_training_equals_an_uninterrupted_one(run, recipe, settings, monkeypatch):
    uninterrupted = run("whole", *settings, recipe=recipe)
    update = Trainer.update
    for death in (2, 5):  # in the third update, then in the sixth

        def update_or_die(self, death=death):
            if self.progress.updates == death:
                raise KeyboardInterrupt
            return update(self)

        monkeypatch.setattr(Trainer, "update", update_or_die)
        with pytest.raises(KeyboardInterrupt):
            run("stopped", *settings, recipe=recipe)
    monkeypatch.setattr(Trainer, "update", update)
    assert_same_training(uninterrupted, run("stopped", *settings, recipe=recipe))


def test_a_training_resumes_with_a_raised_limit(run):
    uninterrupted = run("whole", "training.max_updates=8", "training.cooldown=0")
    run("parts", "training.max_updates=4", "training.cooldown=0")
    assert_same_training(
        uninterrupted, run("parts", "training.max_updates=8", "training.cooldown=0")
    )


def test_a_finished_training_says_so_and_changes_nothing(run, caplog):
    before = contents(run("model", *EARLY))
    caplog.clear()  # another test may have left the level of the log lower
    with caplog.at_level(logging.INFO, "nmtkit"):
        folder = run("model", *EARLY)
    assert "pairs of words" not in caplog.text  # what only training needs is not learned
    assert "finished after 6 updates; raise --updates to train further" in caplog.text
    assert contents(folder) == before


def test_resuming_removes_the_checkpoints_that_a_killed_process_left(run):
    """It was killed after the newest was saved, and before the oldest was removed."""
    folder = run("model", "training.keep_checkpoints=1")
    newest = list_checkpoints(folder)[-1]
    shutil.copytree(newest, newest.with_name("00000002"))
    run("model", "training.keep_checkpoints=1")
    assert list_checkpoints(folder) == [newest]


@pytest.mark.parametrize("updates_before", [0, 4])
def test_a_full_disk_loses_nothing_that_was_saved(run, tmp_path, updates_before):
    constant_rate = "training.cooldown=0"  # as that depends on the number of updates
    uninterrupted = run("whole", constant_rate)
    if updates_before:
        run("cut", constant_rate, f"training.max_updates={updates_before}")
        before = contents(tmp_path / "cut")
    with full_disk(2500), pytest.raises(OutputError) as error:
        run("cut", constant_rate)
    assert "params.best.safetensors: cannot be written" in str(error.value)
    saved = (
        "; what was saved before is complete" if updates_before else "; nothing was saved before"
    )
    assert saved in str(error.value)
    if updates_before:
        old = {path: content for path, content in before.items() if path.suffix == ".safetensors"}
        assert {path: path.read_bytes() for path in old} == old
    assert not [path for path in (tmp_path / "cut").rglob(".*")]
    assert_same_training(uninterrupted, run("cut", constant_rate))


@pytest.mark.parametrize("step", [0.0, -3600.0, 1e9])
def test_a_clock_that_stands_still_or_jumps_changes_no_result(run, monkeypatch, step):
    monkeypatch.setattr("nmtkit.training.metrics_logger.LOG_EVERY", 2)
    expected = run("whole", "training.dev_bleu=false")
    with monkeypatch.context() as clocks:
        for name in ("time", "monotonic"):
            readings = itertools.count(getattr(time, name)(), step)
            clocks.setattr(time, name, functools.partial(next, readings))
        folder = run("jumping", "training.dev_bleu=false")
    assert_same_training(expected, folder)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(row["seconds"] >= 0 for row in rows)
    assert run("jumping", "training.dev_bleu=false") == folder  # its times can be read


@pytest.mark.parametrize("seconds", [0, 4e9])
def test_times_of_files_change_no_result(run, prepared, seconds):
    folder = run("model", "training.max_updates=4", "training.cooldown=0")
    for path in [*prepared.iterdir(), *folder.rglob("*")]:
        os.utime(path, (seconds, seconds))
    uninterrupted = run("other", "training.cooldown=0")
    assert_same_training(uninterrupted, run("model", "training.cooldown=0"))


AVERAGED = [
    "training.max_updates=10",
    "training.cooldown=0",
    "training.average_checkpoints=2",
    "training.keep_checkpoints=3",
]


def interrupted(run, monkeypatch):
    """Stop a training by a signal in update 7; the next validation averages update 6."""
    update = Trainer.update

    def update_and_stop(trainer):
        if trainer.progress.updates == 6:
            trainer.stop_signals.signal = signal.SIGTERM
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", update_and_stop)
    with pytest.raises(TrainingInterrupted):
        run("model", *AVERAGED)
    monkeypatch.setattr(Trainer, "update", update)


def test_a_training_does_not_average_other_checkpoints_than_it_should(run, monkeypatch, caplog):
    expected = run("whole", *AVERAGED)
    interrupted(run, monkeypatch)
    shutil.rmtree(expected.parent / "model" / "checkpoints" / "00000006")
    folder = run("model", *AVERAGED)
    assert "00000007.interrupted: cannot be resumed, as checkpoints before it" in caplog.text
    shutil.rmtree(folder / "checkpoints" / "00000007.interrupted.damaged")
    assert_same_training(expected, folder)


@pytest.mark.parametrize("limit", ["training.max_updates=7", "training.max_updates=5"])
def test_a_training_that_ends_where_it_was_interrupted_is_validated_there(run, monkeypatch, limit):
    expected = run("whole", *AVERAGED, "training.max_updates=7")
    interrupted(run, monkeypatch)
    for _ in range(2):  # the second time there is nothing left to do
        assert_same_training(expected, run("model", *AVERAGED, limit))
    assert_same_training(run("whole", *AVERAGED), run("model", *AVERAGED))


def test_a_checkpoint_under_another_name_is_not_used(run, monkeypatch, caplog):
    expected = run("whole", *AVERAGED)
    interrupted(run, monkeypatch)
    checkpoints = expected.parent / "model" / "checkpoints"
    (checkpoints / "00000004").rename(checkpoints / "00000099")
    folder = run("model", *AVERAGED)
    assert "00000099: damaged checkpoint (it was written under another name" in caplog.text
    shutil.rmtree(folder / "checkpoints" / "00000099.damaged")
    assert_same_training(expected, folder)


def test_metrics_that_have_changed_are_reported(run, caplog):
    folder = run()
    path = folder / "metrics.jsonl"
    path.write_text(path.read_text("utf-8").split("\n", 1)[1], "utf-8")
    run("model", "training.max_updates=8")
    assert "metrics.jsonl: has changed since update 6 was saved" in caplog.text
    caplog.clear()
    run("model", "training.max_updates=10")
    assert "has changed" not in caplog.text
