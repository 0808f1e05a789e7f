"""The lock on a model folder."""

import os
import subprocess
import sys

import pytest

from nmtkit.errors import ModelError, OutputError
from nmtkit.training.folder_lock import LOCK_FILE, lock_model_folder


def test_a_folder_is_locked_while_the_block_runs(tmp_path):
    with lock_model_folder(tmp_path):
        with pytest.raises(ModelError, match=f"process {os.getpid()} is training there"):
            with lock_model_folder(tmp_path):
                pass
        assert (tmp_path / LOCK_FILE).exists()
    assert list(tmp_path.iterdir()) == []
    with lock_model_folder(tmp_path):
        pass


def test_the_lock_file_of_a_killed_process_locks_nothing(tmp_path):
    code = (
        "import os, pathlib, sys; from nmtkit.training.folder_lock import lock_model_folder\n"
        "with lock_model_folder(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == -9
    assert (tmp_path / LOCK_FILE).exists()
    with lock_model_folder(tmp_path):
        assert (tmp_path / LOCK_FILE).read_text() == f"{os.getpid()}\n"


def test_removing_the_locked_folder_is_not_an_error(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    with lock_model_folder(folder):
        (folder / LOCK_FILE).unlink()
        folder.rmdir()


def move(folder, tmp_path):
    folder.rename(tmp_path / "moved")


def replace(folder, tmp_path):
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    (folder / LOCK_FILE).touch()


def remove(folder, tmp_path):
    (folder / LOCK_FILE).unlink()
    folder.rmdir()


@pytest.mark.parametrize("change", [move, replace, remove])
def test_a_folder_that_was_moved_replaced_or_removed_is_noticed(tmp_path, change):
    folder = tmp_path / "model"
    folder.mkdir()
    with lock_model_folder(folder) as lock:
        lock.check()
        change(folder, tmp_path)
        assert not lock.holds()
        with pytest.raises(ModelError, match=r"model: the folder, or \.lock in it, was moved"):
            lock.check()
    assert (folder / LOCK_FILE).exists() == (change is replace)  # that of another process stays


def test_a_copied_lock_file_locks_nothing(tmp_path):
    (tmp_path / "copy").mkdir()
    with lock_model_folder(tmp_path):
        (tmp_path / "copy" / LOCK_FILE).write_bytes((tmp_path / LOCK_FILE).read_bytes())
        with lock_model_folder(tmp_path / "copy"):
            pass


@pytest.mark.parametrize("target", ["outside", "/dev/null"])
def test_a_link_is_not_followed(tmp_path, target):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / LOCK_FILE).symlink_to(tmp_path / target)
    with (
        pytest.raises(OutputError, match="cannot be locked: Too many levels"),
        lock_model_folder(folder),
    ):
        pass
    assert not (tmp_path / "outside").exists()
