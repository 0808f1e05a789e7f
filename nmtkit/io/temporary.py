"""Outputs that are being written: their temporary names, locks, leftovers and errors.

An output is written under the hidden name `.NAME.` and 16 hexadecimal digits, beside its own name,
and renamed when it is complete. It is locked while it is written, and the lock ends with the
process, even a killed one: a hidden name without a lock is a leftover. On a file system without
locks, leftovers are never removed.
"""

import contextlib
import errno
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from nmtkit.errors import OutputError
from nmtkit.io.locks import try_lock

OLD_SUFFIX = ".old"
"""Suffix of the hidden name of an old folder while the new one gets its name."""

DEVICE_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors of writing to a full or failing device, which may name no file."""

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


class _OutputFile(io.FileIO):
    """A file whose errors of writing name it, so that they are not taken for another output's.

    :param descriptor: what is open already under this path; None: open it.
    """

    def __init__(self, path: Path, mode: str, descriptor: int | None = None) -> None:
        super().__init__(str(path) if descriptor is None else descriptor, mode)
        self._path = path

    def write(self, data: Any) -> int:
        """Write bytes as `io.FileIO` does."""
        with naming(self._path):
            return super().write(data)


def create_file(path: str | Path, target: Path) -> tuple[Path, BinaryIO]:
    """Create a hidden file beside an output, and lock it.

    A process that writes the same output may take the file for a leftover and remove it before it
    is locked; then there is another one.
    """
    while True:
        hidden = hidden_name(target)
        with report_write_errors(path, hidden):
            stream = open_binary(hidden, "xb")
        if claim(stream.fileno(), hidden):
            return hidden, stream
        stream.close()
        hidden.unlink(missing_ok=True)


def create_folder(path: str | Path, target: Path) -> tuple[Path, int]:
    """Create a hidden folder beside an output, and lock it, as `create_file` does a file.

    :return: the folder, and the descriptor that holds its lock.
    """
    while True:
        hidden = hidden_name(target)
        with report_write_errors(path, hidden):
            hidden.mkdir()
            try:
                descriptor = os.open(hidden, os.O_RDONLY)
            except FileNotFoundError:  # removed as a leftover
                continue
        if claim(descriptor, hidden):
            return hidden, descriptor
        os.close(descriptor)
        shutil.rmtree(hidden, ignore_errors=True)


def open_binary(path: Path, mode: str, descriptor: int | None = None) -> BinaryIO:
    """Open a file for writing, whose errors name it.

    :param descriptor: what is open already under this path; None: open it.
    """
    return cast(BinaryIO, io.BufferedWriter(_OutputFile(path, mode, descriptor)))


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let errors of a full device name a file if they name none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in DEVICE_FULL:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def report_write_errors(path: str | Path, written: Path) -> Iterator[None]:
    """Raise OutputError if the output cannot be written.

    Other errors of the block, such as those of its inputs and other outputs, pass unchanged.

    :param path: the output's name, for the message.
    :param written: the file, or the folder around it, that is written.
    """
    try:
        yield
    except OSError as error:
        name = str(error.filename)
        if name == str(written) or name.startswith(f"{written}{os.sep}"):
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
        raise
