"""The folder of a training: what was saved is loaded again, and nothing without the lock."""

import dataclasses
from pathlib import Path

import pytest
import torch

from nmtkit.config import TrainingConfig
from nmtkit.errors import DataError, ModelError
from nmtkit.io.parameters import parameters_of
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.training.checkpoint_folder import CheckpointKind, has_checkpoints
from nmtkit.training.checkpoint_store import CheckpointStore
from nmtkit.training.optimizers import make_optimizer
from nmtkit.training.progress import Progress

CONFIG = TrainingConfig(optimizer="adam", average_checkpoints=1, keep_checkpoints=2)
DATA = Progress(corpus="corpus", dev="dev")


class Training:
    """A model with other parameters for each seed, its optimizer, and the store of a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir(exist_ok=True)
        torch.manual_seed(seed)
        self.model = RNNsearch(RNNsearchConfig(3, 4, 3, 2, initialisation="scaled"), 9, 9)
        self.has_lock = True
        optimizer = make_optimizer(self.model, CONFIG)
        self.store = CheckpointStore(
            folder, self.model, optimizer, CONFIG, self.check_lock, lambda: "metrics"
        )

    def check_lock(self) -> None:
        if not self.has_lock:
            raise ModelError("the lock is lost")

    def sums(self) -> list[float]:
        return [float(value.double().sum()) for value in parameters_of(self.model).values()]


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    first, second = Training(tmp_path, 1), Training(tmp_path, 2)
    saved = first.store.save(dataclasses.replace(DATA, updates=7, seconds=1.5))
    assert saved.metrics == "metrics"
    assert first.sums() != second.sums()
    assert second.store.load_newest(DATA, tmp_path) == saved
    assert first.sums() == second.sums()


def test_an_empty_folder_has_nothing_to_load(tmp_path: Path) -> None:
    assert Training(tmp_path, 1).store.load_newest(DATA, tmp_path) is None


def test_a_checkpoint_of_other_data_is_refused(tmp_path: Path) -> None:
    training = Training(tmp_path, 1)
    training.store.save(dataclasses.replace(DATA, updates=7))
    with pytest.raises(DataError):
        training.store.load_newest(dataclasses.replace(DATA, corpus="other"), tmp_path)


def test_nothing_is_written_without_the_lock(tmp_path: Path) -> None:
    training = Training(tmp_path, 1)
    training.has_lock = False
    parameters = parameters_of(training.model)
    for save in (
        lambda: training.store.save(DATA),
        lambda: training.store.save(DATA, CheckpointKind.STEADY),
        lambda: training.store.save_validated(DATA, parameters, is_best=True),
    ):
        with pytest.raises(ModelError, match="lock is lost"):
            save()
    assert list(tmp_path.iterdir()) == []


def test_only_the_best_parameters_take_the_place_of_the_best(tmp_path: Path) -> None:
    training = Training(tmp_path, 1)
    files = [tmp_path / f"params.{name}.safetensors" for name in ("best", "last")]
    for updates, is_best in ((2, True), (4, False), (6, False)):
        progress = dataclasses.replace(DATA, updates=updates)
        parameters = {
            name: value * updates for name, value in parameters_of(training.model).items()
        }
        training.store.save_validated(progress, parameters, is_best)
        best, last = (file.read_bytes() for file in files)
        assert (best == last) == is_best
    assert len(list((tmp_path / "checkpoints").iterdir())) == CONFIG.keep_checkpoints


def test_a_training_goes_back_to_before_its_cooldown_and_keeps_what_was_best(
    tmp_path: Path,
) -> None:
    training = Training(tmp_path, 1)
    training.store.save(dataclasses.replace(DATA, updates=6, best=3.0), CheckpointKind.STEADY)
    steady = training.sums()
    with torch.no_grad():
        for parameter in training.model.parameters():
            parameter.add_(1)
    newest = training.store.save_validated(
        dataclasses.replace(DATA, updates=9, best=2.0, stale=1), parameters_of(training.model), True
    )
    assert training.store.rewind(newest, end=9) == newest  # it would end here
    progress = training.store.rewind(newest, end=0)
    assert (progress.updates, progress.best, progress.stale) == (6, 2.0, 0)
    assert training.sums() == steady
    assert Training(tmp_path, 2).store.load_newest(DATA, tmp_path) == progress
    assert has_checkpoints(tmp_path)
