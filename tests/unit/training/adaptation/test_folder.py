"""The folder that an adaptation writes: where it may be, and what it says of itself."""

import errno
import shlex
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from nmtkit.errors import ModelError, NmtkitError, OutputError
from nmtkit.training.adaptation.folder import adapt_command, check_output, write_adapted
from nmtkit.training.folder_lock import LOCK_FILE, lock_model_folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that looks like a model folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.toml").touch()
    return folder


def test_a_new_or_empty_folder_can_be_written(model, tmp_path):
    check_output(tmp_path / "new", model, force=False)
    (tmp_path / "empty").mkdir()
    check_output(tmp_path / "empty", model, force=False)


@pytest.mark.parametrize("force", [False, True])
def test_folders_that_are_no_model_are_never_replaced(model, tmp_path, force):
    other, prepared = tmp_path / "other", tmp_path / "prepared"
    for folder, names in ((other, ["notes.txt"]), (prepared, ["config.toml", "manifest.json"])):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
        with pytest.raises(OutputError, match="not a model folder"):
            check_output(folder, model, force)


def test_another_model_is_replaced_only_by_force_and_not_while_it_is_trained(model, tmp_path):
    with pytest.raises(OutputError, match="--force"):
        check_output(model, tmp_path / "old", force=False)
    check_output(model, tmp_path / "old", force=True)
    with lock_model_folder(model), pytest.raises(ModelError, match="a training runs there"):
        check_output(model, tmp_path / "old", force=True)


def test_a_training_that_began_during_the_adaptation_is_not_disturbed(model, tmp_path, monkeypatch):
    monkeypatch.setattr("nmtkit.training.adaptation.folder.prepared_files", Mock())
    monkeypatch.setattr("nmtkit.training.adaptation.folder.write_model_files", write_config)
    before = sorted(model.iterdir())

    def write() -> None:
        parameters = {"b": torch.zeros(1)}
        write_adapted(model, tmp_path / "old", Mock(), parameters, {}, 1, force=True)

    with lock_model_folder(model):
        with pytest.raises(ModelError, match="a training runs there"):
            write()
        assert sorted(model.iterdir()) == sorted([*before, model / LOCK_FILE])
    assert list(tmp_path.iterdir()) == [model]
    write()
    assert (model / "params.best.safetensors").exists()


def write_config(folder: Path, *_: object) -> None:
    """Write the mark of a model folder in the place of all its files."""
    (folder / "config.toml").touch()


def test_the_old_model_and_folders_around_it_are_refused(model, tmp_path):
    for output in (model, tmp_path):
        with pytest.raises(NmtkitError, match="the model that is adapted"):
            check_output(output, model, force=True)


def test_a_missing_parent_is_an_error(model, tmp_path):
    with pytest.raises(OutputError, match="parent folder does not exist"):
        check_output(tmp_path / "none" / "new", model, force=False)


def test_a_parent_that_cannot_be_written_is_an_error(model, tmp_path, monkeypatch):
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(OutputError, match="new: cannot be written: Permission denied"):
        check_output(tmp_path / "new", model, force=False)
    monkeypatch.undo()
    check_output(tmp_path / "new", model, force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_command_line_can_be_typed_again():
    guards = [("dev a.en", "dev.fr"), ("g.tsv",)]
    line = adapt_command(Path("m"), ["a b.tsv"], Path("new"), guards, {"--time": "5m"})
    words = ["nmtkit", "adapt", "m", "--data", "a b.tsv", "--guard", "dev a.en", "dev.fr"]
    words += ["--guard", "g.tsv", "--time", "5m", "--output", "new"]
    assert shlex.split(line) == words
