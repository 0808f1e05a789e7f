"""Temporary names of outputs that are being written, their locks, and leftovers.

An output is written under the hidden name `.NAME.` and 16 hexadecimal digits, beside its own name,
and renamed when it is complete. It is locked while it is written, and the lock ends with the
process, even a killed one: a hidden name without a lock is a leftover. On a file system without
locks, leftovers are never removed.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nmtkit.errors import OutputError
from nmtkit.io.locks import try_lock

OLD_SUFFIX = ".old"
"""Suffix of the hidden name of an old folder while the new one gets its name."""

_HIDDEN_NAME = re.compile(rf"\..+\.[0-9a-f]{{16}}({re.escape(OLD_SUFFIX)})?")


def hidden_name(target: Path) -> Path:
    """Return a new hidden name beside an output."""
    return target.with_name(f".{target.name}.{os.urandom(8).hex()}")


def is_hidden_name(name: str) -> bool:
    """Return whether a file or folder has the hidden name of an output that is being written."""
    return _HIDDEN_NAME.fullmatch(name) is not None


def lock(descriptor: int) -> None:
    """Lock an open file or folder until it is closed; it may be renamed meanwhile."""
    with contextlib.suppress(OSError):  # a file system without locks
        try_lock(descriptor)


def claim(descriptor: int, path: Path) -> bool:
    """Lock a file that was just created, until it is closed.

    :return: False if another process, which looked before the lock was there, removes the file as a
        leftover; then create another one.
    """
    try:
        if not try_lock(descriptor):
            return False
    except OSError:  # a file system without locks
        return True
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder while the block runs."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(target: Path) -> None:
    """Remove what killed processes have left of this output.

    If a process was killed between renaming the old folder and the new one, the old folder gets its
    name back.
    """
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}({re.escape(OLD_SUFFIX)})?")
    with contextlib.suppress(OSError):
        names = sorted(name for name in os.listdir(target.parent) if pattern.fullmatch(name))
        for path in filter(is_leftover, map(target.with_name, names)):
            if path.name.endswith(OLD_SUFFIX) and not target.exists():
                path.rename(target)
            elif path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Return True if no process holds the lock of a hidden name."""
    if path.is_symlink():
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return try_lock(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a temporary folder, which is removed with its files.

    :param prefix: beginning of its name.
    :raises OutputError: it cannot be written; errors that name another file pass unchanged.
    """
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if isinstance(error, BrokenPipeError):  # the reader of an output has left
                raise
            if error.filename is None or str(error.filename).startswith(folder):
                raise OutputError(
                    f"{folder}: cannot be written: {error.strerror}; set TMPDIR to another folder"
                ) from error
            raise
