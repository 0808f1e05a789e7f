"""Files and folders are synchronised to the disk, and errors of the disk are raised."""

import errno
import os

import pytest

from nmtkit.io.sync import make_folder, sync_folder, sync_tree


@pytest.mark.parametrize(("number", "raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_only_errors_of_the_disk_are_raised(tmp_path, monkeypatch, number, raised):
    """A file system may be unable to synchronise folders."""

    def fail(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    if not raised:
        return sync_folder(tmp_path)
    with pytest.raises(OSError, match="Input/output error"):
        sync_folder(tmp_path)


def test_all_files_and_folders_of_a_tree_are_synchronised(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    files = [tmp_path / "1", tmp_path / "a" / "2", tmp_path / "a" / "b" / "3"]
    for path in files:
        path.touch()
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    sync_tree(tmp_path)
    assert sorted(synced) == sorted(map(str, [tmp_path, *tmp_path.rglob("*")]))
    assert synced[-1] == str(tmp_path)


def test_the_names_of_new_folders_are_synchronised(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    for _ in range(2):  # the second time nothing is missing
        make_folder(tmp_path / "a" / "b")
    assert sorted(synced) == [str(tmp_path), str(tmp_path / "a")]
    assert (tmp_path / "a" / "b").is_dir()
