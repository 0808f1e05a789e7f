"""Files of a folder that may come from an untrusted source, or that anything may have happened to.

Opening a FIFO waits for its writer for ever, a device has no end, and a link may lead to a file
outside the folder, whose text would be shown. Hence only regular files are opened.
"""

import errno
import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

from nmtkit.errors import ModelError

MIB = 1 << 20

CALIBRATION_FILE = "calibration.json"
"""Name of the record of confidences in a model folder (`calibration_record.py`)."""

MAX_LINES = 2_000_000
"""Maximum number of lines of a text file: short lines take much more memory than on disk."""


def open_regular(path: str | Path) -> BufferedReader:
    """Open a file for reading, without waiting for the writer of a FIFO.

    :raises OSError: it cannot be opened, or is not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")


def read_regular(path: str | Path, max_bytes: int) -> bytes:
    """Return the content of a regular file.

    :raises OSError: it cannot be read, is not a regular file, or has more than `max_bytes` bytes.
    """
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"has more than {max_bytes:,} bytes", str(path))
    return content


def regular_file_sha256(path: Path) -> str:
    """Return the SHA-256 of a regular file, as 64 hexadecimal digits.

    :raises OSError: the file cannot be read, or is not a regular file.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_calibration(folder: str | Path) -> bool:
    """Return whether a model folder has a calibration, which may be damaged."""
    return os.path.lexists(Path(folder) / CALIBRATION_FILE)


def check_file(folder: Path, path: Path, max_bytes: int | None = None) -> None:
    """Check that a file, if it exists, is a regular file in the folder and not too large.

    :param max_bytes: maximum size; None: no limit.
    :raises ModelError: the file is not regular, is outside the folder, or is too large.
    """
    try:
        real = path.resolve(strict=True)
    except FileNotFoundError:
        return
    except (OSError, RuntimeError) as error:
        raise ModelError(f"{path}: the link cannot be followed: {error}") from error
    if not real.is_relative_to(folder.resolve()):
        raise ModelError(
            f"{path}: is a link that leads out of the model folder, to {real}; if you trust it, put"
            " a copy in its place"
        )
    if not real.is_file():
        raise ModelError(f"{path}: is not a regular file; get the model folder again")
    if max_bytes is not None:
        _check_size(path, max_bytes)


def _check_size(path: Path, max_bytes: int) -> None:
    """Raise ModelError if a file has too many bytes or lines."""
    size = path.stat().st_size
    actual, limit = f"{size:,} bytes", f"{max_bytes:,}"
    if size <= max_bytes:
        try:
            with open_regular(path) as file:
                lines = sum(block.count(b"\n") for block in iter(lambda: file.read(MIB), b""))
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
        if lines <= MAX_LINES:
            return
        actual, limit = f"{lines:,} lines", f"{MAX_LINES:,}"
    raise ModelError(
        f"{path}: has {actual}, but such a file never has more than {limit}; get the model folder"
        " again"
    )


def check_folder(folder: Path) -> None:
    """Check all files of a folder before a training writes into it.

    :raises ModelError: a link leads out of the folder, because training would write through it
        (the link's target need not exist), a file is neither a regular file nor a folder, or a
        folder cannot be read.
    """
    # os.walk passes over what another process removes meanwhile; Path.rglob does not
    tree = os.walk(folder, onerror=_refuse_unreadable)
    found = (Path(parent, name) for parent, *names in tree for name in sum(names, []))
    for path in sorted(found):
        if path.is_symlink() and not leads_inside(path, folder):
            raise ModelError(
                f"{path}: is a link that leads out of the model folder, to {os.readlink(path)},"
                " which training would write to; remove it"
            )
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ModelError(f"{path}: is not a regular file; remove it")


def _refuse_unreadable(error: OSError) -> None:
    """Raise ModelError for a folder that may not be read."""
    if isinstance(error, PermissionError):
        raise ModelError(
            f"{error.filename}: cannot be read: {error.strerror}; correct its permissions"
        ) from error


def leads_inside(link: Path, folder: Path) -> bool:
    """Return whether a link's target, existing or not, is inside the folder."""
    try:
        return link.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False
