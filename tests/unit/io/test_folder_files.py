"""Only regular files are opened: nothing waits for a FIFO, and no device is read."""

import hashlib
import os

import pytest

from nmtkit.errors import ModelError
from nmtkit.io.folder_files import check_folder, open_regular, read_regular, regular_file_sha256


def make_fifo(path):
    os.mkfifo(path)


def make_device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [make_fifo, make_device, os.mkdir])
def test_other_files_are_not_opened(tmp_path, make):
    make(tmp_path / "file")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "file")
    with pytest.raises(OSError, match="not a regular file"):
        regular_file_sha256(tmp_path / "file")


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    assert regular_file_sha256(path) == hashlib.sha256(b"12345").hexdigest()
    with pytest.raises(OSError, match="has more than 4 bytes"):
        read_regular(path, 4)
    os.truncate(path, 1 << 40)
    with pytest.raises(OSError, match="has more than 1,000 bytes"):
        read_regular(path, 1000)


def test_a_folder_to_train_in_has_regular_files_only(tmp_path):
    folder = tmp_path / "model"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.toml").touch()
    (folder / "params.last").symlink_to("config.toml")
    check_folder(folder)
    os.mkfifo(folder / "checkpoints" / "state.json")
    with pytest.raises(ModelError, match=r"state\.json: is not a regular file; remove it"):
        check_folder(folder)
    (folder / "checkpoints" / "state.json").unlink()
    (folder / "metrics.jsonl").symlink_to(tmp_path / "absent")
    with pytest.raises(ModelError, match=r"metrics\.jsonl: is a link that leads out"):
        check_folder(folder)


def test_a_folder_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    """Root may read all folders."""
    (tmp_path / "checkpoints").mkdir()
    scandir = os.scandir

    def deny(path):
        if str(path).endswith("checkpoints"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", deny)
    with pytest.raises(ModelError, match="checkpoints: cannot be read: Permission denied; correct"):
        check_folder(tmp_path)
    check_folder(tmp_path / "absent")
