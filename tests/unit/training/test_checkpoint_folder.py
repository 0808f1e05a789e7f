"""Checkpoints are listed in order, and removed as wholes."""

import os
from pathlib import Path

import pytest

from nmtkit.training.checkpoint import save_checkpoint
from nmtkit.training.checkpoint_folder import (
    list_checkpoints,
    remove_later_checkpoints,
    remove_old_checkpoints,
)
from nmtkit.training.progress import Progress
from tests.unit.training.small_checkpoints import PROGRESS, make, three


def test_checkpoints_are_listed_in_order_and_incomplete_ones_are_ignored(tmp_path):
    model, optimizer = make()
    assert list_checkpoints(tmp_path) == []
    for updates in (900, 1000, 20, 123456789):
        save_checkpoint(tmp_path, model, optimizer, Progress(updates=updates))
    (tmp_path / "checkpoints" / ".00002000.tmp").mkdir()
    (tmp_path / "checkpoints" / "12 notes").mkdir()
    assert [int(path.name) for path in list_checkpoints(tmp_path)] == [20, 900, 1000, 123456789]


def test_checkpoints_that_cannot_be_listed_are_not_taken_for_none(tmp_path, monkeypatch):
    """A training would begin anew, or average fewer checkpoints."""
    save_checkpoint(tmp_path, *make(), Progress(updates=1))

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        list_checkpoints(tmp_path)


def test_old_checkpoints_are_removed(tmp_path):
    model, its = make()
    for updates in range(5):
        save_checkpoint(tmp_path, model, its, Progress(updates=updates))
    remove_old_checkpoints(tmp_path, 9)
    assert len(list_checkpoints(tmp_path)) == 5
    remove_old_checkpoints(tmp_path, 2)
    assert [int(path.name) for path in list_checkpoints(tmp_path)] == [3, 4]


def test_a_file_in_the_place_of_an_old_checkpoint_is_removed(tmp_path):
    model, optimizer = make()
    save_checkpoint(tmp_path, model, optimizer, PROGRESS)
    (tmp_path / "checkpoints/00000001").write_text("a file")
    remove_old_checkpoints(tmp_path, keep=1)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000007"]


@pytest.mark.parametrize(("updates", "left"), [(4, []), (5, [5]), (6, [5, 6]), (7, [5, 6, 7])])
def test_going_back_removes_the_checkpoints_of_later_updates_alone(tmp_path, updates, left):
    three(tmp_path)
    remove_later_checkpoints(tmp_path, updates)
    assert sorted(int(path.stem) for path in (tmp_path / "checkpoints").iterdir()) == left
