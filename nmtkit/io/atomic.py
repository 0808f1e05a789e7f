"""The one atomic writer: a file or a folder appears under its name complete, or not at all.

All outputs of the package go through one of these context managers, or through one that uses
them (`lines.open_output` for text, `parameters.write_parameters` for tensors):

    with atomic_file("out") as file:            a binary file
        file.write(b"...")
    with atomic_path("params") as path:         a file that a library writes, given its path
        save_file(tensors, path)
    with atomic_folder("checkpoint") as path:   a folder; an existing one is replaced
        (path / "state.json").write_text("...")
    with output_folder("report", "index.html", "report") as path:
        ...                                     a folder of results; checks what it replaces

The output is written under a hidden name beside its own (`nmtkit.io.temporary`), which is locked
meanwhile, and renamed when the block succeeds. When the block raises, the hidden output is removed
and an earlier output of that name stays unchanged. Leftovers of a killed process are removed when
the same output is next written. Without permission to replace, a file that was made under the
output's name while the block ran stays, too.

When a block has ended, its output survives a loss of power: files and folders are synchronised to
the disk before they are renamed, and the folder around them afterwards. A folder takes the place of
an earlier one in a single step, where the file system can exchange two names.
"""

import contextlib
import errno
import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from nmtkit.errors import OutputError
from nmtkit.io.sync import sync_folder, sync_tree
from nmtkit.io.temporary import OLD_SUFFIX, claim, hidden_name, remove_leftovers

_OPEN_FILES = re.compile(r"(?:/dev/fd/|/proc/self/fd/)(\d+)|/dev/(stdin|stdout|stderr)")
"""Names of what a process has open."""

_NOT_EMPTY = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}
"""Errors of renaming a folder to the name of a file, or of a folder that is not empty."""

_DEVICE_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


@contextlib.contextmanager
def atomic_file(path: str | Path, force: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that gets its name when the block succeeds.

    A symbolic link is written through. A device or a pipe (`/dev/null`, a FIFO) and what is open
    already (`/dev/stdout`, `/dev/fd/63`) are written directly.

    :param force: replace an existing file.
    :raises OutputError: the file exists and `force` is not given, or it cannot be written.
    """
    descriptor = _descriptor(path)
    target = Path(path) if descriptor is not None else _check_file(path, force)
    if descriptor is not None or _is_device(target):
        with _report_write_errors(path, target), _open(target, "wb", descriptor) as stream:
            yield stream
            stream.flush()
        return
    remove_leftovers(target)
    hidden, stream = _create(path, target)
    try:
        with _report_write_errors(path, hidden), stream:
            yield stream
            stream.flush()
            with _naming(hidden):
                os.fsync(stream.fileno())
            _name_file(hidden, target, path, force)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def atomic_path(path: str | Path, force: bool = False) -> Iterator[Path]:
    """Yield a path for a library to write to; the file gets its name when the block succeeds.

    The path ends in the file's own name and is in a hidden folder of its own: some libraries write
    beside their path (safetensors writes `.tmpXXXXXX` and renames it), and their leftovers are
    removed with the folder.

    :param force: replace an existing file.
    :raises OutputError: the file exists and `force` is not given, or it cannot be written.
    """
    target = _check_file(path, force)
    if _is_device(target):
        with _report_write_errors(path, target), _naming(target):
            yield target
        return
    remove_leftovers(target)
    folder, descriptor = _create_folder(path, target)
    hidden = folder / target.name
    try:
        with _report_write_errors(path, folder), _naming(folder):
            yield hidden
            with open(hidden, "rb") as stream:
                os.fsync(stream.fileno())
            _name_file(hidden, target, path, force)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


@contextlib.contextmanager
def atomic_folder(path: str | Path, replace: bool = True) -> Iterator[Path]:
    """Yield a hidden folder to fill, which gets its name when the block succeeds.

    :param replace: replace an existing folder of that name without a check; `output_folder` checks
        it. An empty folder is always replaced.
    :raises OutputError: the folder cannot be written, exists and is not to be replaced, or is a
        mounted disk.
    """
    target = _resolve(path)
    _refuse_mounted(path, target)
    remove_leftovers(target)
    hidden, descriptor = _create_folder(path, target)
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


def _resolve(path: str | Path) -> Path:
    """Return the path that an output's name leads to, with symbolic links resolved.

    :raises OutputError: the links form a loop, or cannot be followed.
    """
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "symbolic links form a loop"
        raise OutputError(f"{path}: cannot be written: {reason}; give another name") from error


def _resolve_folder(path: str | Path) -> Path:
    """Return the path of a folder that will replace an existing one, as `_resolve` does.

    :raises OutputError: the current folder would be gone with the existing one.
    """
    target = _resolve(path)
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


def _check_file(path: str | Path, force: bool) -> Path:
    """Return the file that `path` leads to, with symbolic links resolved.

    :raises OutputError: it is a folder, its folder is missing, or it exists without `force`.
    """
    if _is_device(Path(path)):  # the link of an open pipe leads to no path
        return Path(path)
    target = _resolve(path)
    if target.is_dir():
        raise OutputError(f"{path}: is a folder; give the name of a file")
    if target.is_file() and not force:
        raise _exists_already(path)
    if not target.parent.is_dir():
        raise OutputError(f"{path}: its folder does not exist; make it first")
    return target


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
        raise _exists_already(path)


def _is_device(target: Path) -> bool:
    """Return whether the target is a device or a pipe, which cannot be replaced."""
    return target.exists() and not target.is_file() and not target.is_dir()


def _descriptor(path: str | Path) -> int | None:
    """Return a new descriptor of what is open under a name such as `/dev/stdout`, or None.

    A file that is opened again by such a name would be written from its beginning.
    """
    found = _OPEN_FILES.fullmatch(os.fspath(path))
    if found is None:
        return None
    number = int(found[1]) if found[1] else ("stdin", "stdout", "stderr").index(found[2])
    try:
        return os.dup(number)
    except (OSError, OverflowError):  # it is not open: opening its name says so
        return None


class _OutputFile(io.FileIO):
    """A file whose errors of writing name it, so that they are not taken for another output's.

    :param descriptor: what is open already under this path; None: open it.
    """

    def __init__(self, path: Path, mode: str, descriptor: int | None = None) -> None:
        super().__init__(str(path) if descriptor is None else descriptor, mode)
        self._path = path

    def write(self, data: Any) -> int:
        """Write bytes as `io.FileIO` does."""
        with _naming(self._path):
            return super().write(data)


def _create(path: str | Path, target: Path) -> tuple[Path, BinaryIO]:
    """Create a hidden file beside an output, and lock it.

    A process that writes the same output may take the file for a leftover and remove it before it
    is locked; then there is another one.
    """
    while True:
        hidden = hidden_name(target)
        with _report_write_errors(path, hidden):
            stream = _open(hidden, "xb")
        if claim(stream.fileno(), hidden):
            return hidden, stream
        stream.close()
        hidden.unlink(missing_ok=True)


def _create_folder(path: str | Path, target: Path) -> tuple[Path, int]:
    """Create a hidden folder beside an output, and lock it, as `_create` does a file.

    :return: the folder, and the descriptor that holds its lock.
    """
    while True:
        hidden = hidden_name(target)
        with _report_write_errors(path, hidden):
            hidden.mkdir()
            try:
                descriptor = os.open(hidden, os.O_RDONLY)
            except FileNotFoundError:  # removed as a leftover
                continue
        if claim(descriptor, hidden):
            return hidden, descriptor
        os.close(descriptor)
        shutil.rmtree(hidden, ignore_errors=True)


def _open(path: Path, mode: str, descriptor: int | None = None) -> BinaryIO:
    return cast(BinaryIO, io.BufferedWriter(_OutputFile(path, mode, descriptor)))


@contextlib.contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Let errors of a full device name a file if they name none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _DEVICE_FULL:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def _report_write_errors(path: str | Path, written: Path) -> Iterator[None]:
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


def _is_of_output(error: OSError, hidden: Path, target: Path) -> bool:
    """Return whether an error is about a folder that is being written, and not about an input."""
    if isinstance(error, BrokenPipeError):
        return False
    if error.filename is None or error.errno in _DEVICE_FULL:
        return True
    return str(error.filename) == str(target) or str(error.filename).startswith(str(hidden))


def _exists_already(path: str | Path) -> OutputError:
    return OutputError(f"{path}: exists already; use --force to replace it")


def _name_file(hidden: Path, target: Path, path: str | Path, force: bool) -> None:
    """Give a finished file its name.

    :param path: the output's name, for the message.
    :raises OutputError: a file of that name was made meanwhile, and `force` is not given.
    """
    if force:
        os.replace(hidden, target)
    else:
        try:
            os.link(hidden, target)  # unlike renaming, it replaces nothing
        except FileExistsError as error:
            raise _exists_already(path) from error
        except OSError:  # a file system without hard links
            _check_file(path, force)
            os.replace(hidden, target)
        else:
            hidden.unlink()
    sync_folder(target.parent)


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
            raise _exists_already(path) from error
        _replace_folder(folder, target)
    else:
        sync_folder(target.parent)


def _replace_folder(folder: Path, target: Path) -> None:
    """Let a folder take the place of another, which is removed."""
    from nmtkit.io.exchange import exchange  # only folders need it: start-up

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
