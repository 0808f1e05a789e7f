"""Synchronisation of files and folders to the disk, so that they survive a loss of power."""

import errno
import os
from pathlib import Path

from nmtkit.errors import OutputError

_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF}
"""Errors of file systems that cannot synchronise a folder, and of unreadable folders."""


def sync_folder(folder: Path) -> None:
    """Synchronise the names in a folder: what was created, renamed or removed there.

    On a file system that cannot do that, nothing is done.

    :raises OSError: the disk failed.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:  # a folder may be writable and not readable
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder with its parents, unless it exists, and synchronise their names.

    :raises OSError: it cannot be made.
    :raises OutputError: there is a file of this name.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give the name of a folder")
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Synchronise the content of a file.

    :raises OSError: the disk failed.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Synchronise all files and folders in a folder, and the folder itself.

    :raises OSError: the disk failed.
    """
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync_file(Path(path, name))
        sync_folder(Path(path))
