"""The lock that lets only one process train in a model folder."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from nmtkit.errors import ModelError, OutputError
from nmtkit.io import locks

LOCK_FILE = ".lock"


class FolderLock:
    """Lock on a model folder, held by this process.

    The lock belongs to the lock file, not to its path: when the folder is moved, another process
    may make and lock a new one at the same path. Hence a training calls `check` before each write.
    """

    def __init__(self, folder: Path, descriptor: int) -> None:
        """Take over a locked lock file."""
        self.folder = folder
        self._descriptor = descriptor

    def holds(self) -> bool:
        """Return whether the path still leads to the folder that is locked."""
        try:
            found = (self.folder / LOCK_FILE).stat()
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self._descriptor))

    def check(self) -> None:
        """Raise ModelError if the folder or its lock file was moved, replaced or removed."""
        if not self.holds():
            raise ModelError(
                f"{self.folder}: the folder, or {LOCK_FILE} in it, was moved, replaced or removed"
                " while this process trained there, so it stops and writes nothing more; to resume,"
                " move the folder back, or give its new name as --output"
            )

    def release(self) -> None:
        """Remove the lock file, unless the folder is no longer there, and the lock."""
        if self.holds():
            (self.folder / LOCK_FILE).unlink(missing_ok=True)
        os.close(self._descriptor)


@contextlib.contextmanager
def lock_model_folder(folder: Path) -> Iterator[FolderLock]:
    """Lock a model folder while the block runs.

    The operating system removes the lock when the process ends, even if it is killed: a lock file
    that was left behind locks nothing.

    :raises ModelError: another process trains in the folder.
    :raises OutputError: the lock file cannot be written.
    """
    lock = FolderLock(folder, _open_lock_file(folder))
    try:
        yield lock
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Return whether a process trains in a model folder; a training that runs is not disturbed."""
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(folder / LOCK_FILE, flags)
    except OSError:
        return False
    try:
        return locks.is_locked(descriptor)
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)


def _open_lock_file(folder: Path) -> int:
    """Open a folder's lock file, lock it, and write the number of this process into it."""
    path = folder / LOCK_FILE
    # without waiting for the reader of a FIFO, and not through a link
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            raise OutputError(f"{path}: cannot be locked: {error.strerror}") from error
        try:
            if not locks.try_lock(descriptor):
                holder = os.read(descriptor, 20).decode("ascii", errors="replace").strip()
                raise ModelError(
                    f"{folder}: process {holder} is training there; wait for it, or choose another"
                    " --output"
                )
            if FolderLock(folder, descriptor).holds():
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise OutputError(f"{path}: cannot be locked: {error.strerror}") from error
            raise
        os.close(descriptor)  # its holder removed it after it was opened here, before it was locked
