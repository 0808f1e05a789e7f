"""Locks on open files and folders."""

import errno
import os
import sys
from contextlib import contextmanager

import filelock
import pytest

from nmtkit.errors import OutputError
from nmtkit.io.locks import is_locked, try_lock
from nmtkit.training.folder_lock import lock_model_folder


@contextmanager
def opened(path, flags=os.O_RDONLY):
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture(params=["file", "folder"])
def path(request, tmp_path):
    path = tmp_path / "locked"
    path.touch() if request.param == "file" else path.mkdir()
    return path


def test_one_open_file_or_folder_has_the_lock_until_it_is_closed(path):
    with opened(path) as first, opened(path) as second:
        assert try_lock(first) and not try_lock(second)
    with opened(path) as third:
        assert try_lock(third)


def test_a_renamed_file_or_folder_stays_locked(path, tmp_path):
    with opened(path) as first:
        assert try_lock(first)
        path.rename(tmp_path / "renamed")
        with opened(tmp_path / "renamed") as second:
            assert not try_lock(second)


def test_two_who_ask_for_a_lock_do_not_take_each_other_for_its_holder(path):
    with opened(path) as first, opened(path) as second:
        assert not is_locked(first) and not is_locked(second)
    with opened(path) as first, opened(path) as second:  # as filelock alone would ask
        assert filelock.lock_descriptor(first, blocking=False)
        assert not filelock.lock_descriptor(second, blocking=False)


@pytest.mark.parametrize("has_fcntl", [True, False])
def test_asking_for_a_lock_finds_its_holder(path, monkeypatch, has_fcntl):
    if not has_fcntl:
        monkeypatch.setitem(sys.modules, "fcntl", None)
    with opened(path) as asking:
        assert not is_locked(asking)
    with opened(path) as holding, opened(path) as asking:
        assert try_lock(holding) and is_locked(asking)


def test_a_file_system_without_locks_is_named_and_gets_no_marker_files(tmp_path, monkeypatch):
    def fail(descriptor, operation):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", fail)
    with pytest.raises(OutputError, match=r"\.lock: cannot be locked: Function not implemented"):
        with lock_model_folder(tmp_path):
            pass
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b""]
