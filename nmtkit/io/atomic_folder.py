"""Folders that appear under their names complete, or not at all; see `atomic.py`.

A folder takes the place of an earlier one in a single step, where the file system can exchange two
names.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from nmtkit.errors import OutputError
from nmtkit.io.atomic import exists_already, resolve_output
from nmtkit.io.sync import sync_folder, sync_tree
from nmtkit.io.temporary import (
    DEVICE_FULL,
    OLD_SUFFIX,
    create_folder,
    hidden_name,
    remove_leftovers,
)

_NOT_EMPTY = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}
"""Errors of renaming a folder to the name of a file, or of a folder that is not empty."""


@contextlib.contextmanager
def atomic_folder(path: str | Path, replace: bool = True) -> Iterator[Path]:
    """Yield a hidden folder to fill, which gets its name when the block succeeds.

    :param replace: replace an existing folder of that name without a check; `output_folder` checks
        it. An empty folder is always replaced.
    :raises OutputError: the folder cannot be written, exists and is not to be replaced, or is a
        mounted disk.
    """
    target = resolve_output(path)
    _refuse_mounted(path, target)
    remove_leftovers(target)
    hidden, descriptor = create_folder(path, target)
    try:
        yield hidden
        sync_tree(hidden)
        _name_folder(hidden, target, path, replace)
    except BaseException as error:
        shutil.rmtree(hidden, ignore_errors=True)
        if isinstance(error, OutputError):  # for a file in the folder, with its hidden path
            raise OutputError(str(error).replace(str(hidden), str(path))) from error
        if isinstance(error, OSError) and _is_of_output(error, hidden, target):
            if error.errno == errno.EBUSY:
                raise _mounted_disk(path) from error
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
        raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def output_folder(
    path: str | Path,
    mark: str,
    kind: str,
    force: bool = False,
    replaceable: frozenset[str] = frozenset(),
) -> Iterator[Path]:
    """Yield a hidden folder, like `atomic_folder`, but replace only a folder of the same kind.

    :param path: name of the folder; it may exist if it is empty.
    :param mark: a file that every folder of this kind contains.
    :param kind: name of this kind in messages, such as "prepared folder".
    :param force: replace an existing folder of this kind.
    :param replaceable: files; a folder that holds these and nothing else is always replaced.
    :raises OutputError: the folder exists and `force` is not given, is of another kind, is around
        the current folder, or cannot be written.
    """
    target = _resolve_folder(path)
    remove_leftovers(target)

    def may_replace() -> bool:
        if replaceable and target.is_dir() and set(os.listdir(target)) == replaceable:
            return True
        _check_folder(target, path, mark, kind, force)
        return force

    replace = may_replace()
    with atomic_folder(path, replace) as folder:
        yield folder
        if replace:
            may_replace()  # what is there now, perhaps since the block ran, and is removed


def remove_folder(folder: Path) -> Path | None:
    """Remove a folder; a killed process leaves the whole folder, or a hidden leftover.

    :return: the leftover, if the folder has lost its name, but part of it cannot be removed.
    :raises OSError: it cannot be removed.
    :raises OutputError: it is a mounted disk, whose files stay.
    """
    target = folder.resolve()
    hidden = hidden_name(target)
    try:
        os.replace(target, hidden)
    except OSError as error:
        if error.errno == errno.EBUSY:  # what is in it could be removed, but not the folder
            raise _mounted_disk(folder) from error
        shutil.rmtree(target)  # the parent folder cannot be written
        return None
    sync_folder(target.parent)
    shutil.rmtree(hidden, ignore_errors=True)
    return hidden if hidden.exists() else None


def check_can_make(folder: str | Path) -> None:
    """Make and remove a folder beside one that will be written, or beside its missing parent.

    :raises OutputError: it cannot be made, or the folder is around the current one, or a mounted
        disk.
    """
    target = _resolve_folder(folder)
    _refuse_mounted(folder, target)
    missing = [path for path in (target, *target.parents) if not path.exists()]
    hidden = hidden_name(missing[-1] if missing else target)
    try:
        hidden.mkdir()
        hidden.rmdir()
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from error


def is_free(folder: Path) -> bool:
    """Return whether nothing, or an empty folder, has the name of a folder."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def _resolve_folder(path: str | Path) -> Path:
    """Return the path of a folder that will replace an existing one, as `resolve_output` does.

    :raises OutputError: the current folder would be gone with the existing one.
    """
    target = resolve_output(path)
    try:
        would_be_gone = Path.cwd().is_relative_to(target)
    except FileNotFoundError:  # it is gone already
        return target
    if would_be_gone:
        raise OutputError(
            f"{path}: would replace the current folder; change into another one, or give another"
            " name"
        )
    return target


def _refuse_mounted(path: str | Path, target: Path) -> None:
    """Raise OutputError if a folder is a mounted disk, before there is work to lose.

    Python finds no folder that is mounted from the same disk; renaming finds it at the end.
    """
    if os.path.ismount(target):
        raise _mounted_disk(path)


def _mounted_disk(path: str | Path) -> OutputError:
    return OutputError(
        f"{path}: is a mounted disk or volume, which cannot be replaced as a whole; give a folder"
        " in it"
    )


def _check_folder(target: Path, path: str | Path, mark: str, kind: str, force: bool) -> None:
    if not target.parent.is_dir():
        raise OutputError(f"{path}: its parent folder does not exist; make it first")
    if is_free(target):
        return
    if not (target / mark).is_file():
        raise OutputError(
            f"{path}: exists and is not a {kind}, which has a file {mark}; give another name"
        )
    if not force:
        raise exists_already(path)


def _is_of_output(error: OSError, hidden: Path, target: Path) -> bool:
    """Return whether an error is about a folder that is being written, and not about an input."""
    if isinstance(error, BrokenPipeError):
        return False
    if error.filename is None or error.errno in DEVICE_FULL:
        return True
    return str(error.filename) == str(target) or str(error.filename).startswith(str(hidden))


def _name_folder(folder: Path, target: Path, path: str | Path, replace: bool) -> None:
    """Give a finished folder its name; an old one is replaced, or restored on failure.

    :param path: the output's name, for the message.
    :raises OutputError: a folder that is not empty has that name, and `replace` is not given.
    """
    try:
        os.replace(folder, target)  # replaces nothing but an empty folder
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
        if not replace:
            raise exists_already(path) from error
        _replace_folder(folder, target)
    else:
        sync_folder(target.parent)


def _replace_folder(folder: Path, target: Path) -> None:
    """Let a folder take the place of another, which is removed."""
    from nmtkit.io.exchange import exchange

    if exchange(folder, target):
        old = folder
    else:
        old = target.with_name(f"{folder.name}{OLD_SUFFIX}")
        os.replace(target, old)
        try:
            os.replace(folder, target)
        except BaseException:
            os.replace(old, target)
            raise
    sync_folder(target.parent)
    shutil.rmtree(old, ignore_errors=True)
