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


def claim(descriptor: int, path: Path) -> bool:
    """Lock a file or folder that was just created, until it is closed; it may be renamed meanwhile.

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


def remove_leftovers(target: Path) -> None:
    """Remove what killed processes have left of this output.

    If a process was killed between renaming the old folder and the new one, the old folder gets its
    name back.
    """
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}({re.escape(OLD_SUFFIX)})?")
    with contextlib.suppress(OSError):
        names = sorted(name for name in os.listdir(target.parent) if pattern.fullmatch(name))
        for path in map(target.with_name, names):
            with _locked_leftover(path) as is_free:
                if is_free:
                    _remove_leftover(path, target)


def _remove_leftover(path: Path, target: Path) -> None:
    if path.name.endswith(OLD_SUFFIX) and not target.exists():
        path.rename(target)
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Return True if no process holds the lock of a hidden name."""
    with _locked_leftover(path) as is_free:
        return is_free


@contextlib.contextmanager
def _locked_leftover(path: Path) -> Iterator[bool]:
    """Yield True if no process holds the lock of a hidden name, and hold it while the block runs.

    A process that has just created it cannot claim it then, and creates another one.
    """
    try:
        descriptor = -1 if path.is_symlink() else os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        descriptor = -1
    try:
        yield descriptor >= 0 and _try_lock(descriptor)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    """Lock an open file, and return True unless another process holds it, or it has no locks."""
    try:
        return try_lock(descriptor)
    except OSError:
        return False


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
