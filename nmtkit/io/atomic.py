"""The one atomic writer: a file or a folder appears under its name complete, or not at all.

All outputs of the package go through one of these context managers, or through one that uses
them (`lines.open_output` for text, `parameters.write_parameters` for tensors); those of folders
are in `atomic_folder.py`:

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
the disk before they are renamed, and the folder around them afterwards.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nmtkit.errors import OutputError
from nmtkit.io.sync import sync_folder
from nmtkit.io.temporary import (
    create_file,
    create_folder,
    naming,
    open_binary,
    remove_leftovers,
    report_write_errors,
)

_OPEN_FILES = re.compile(r"(?:/dev/fd/|/proc/self/fd/)(\d+)|/dev/(stdin|stdout|stderr)")
"""Names of what a process has open."""


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
        with report_write_errors(path, target), open_binary(target, "wb", descriptor) as stream:
            yield stream
            stream.flush()
        return
    remove_leftovers(target)
    hidden, stream = create_file(path, target)
    try:
        with report_write_errors(path, hidden), stream:
            yield stream
            stream.flush()
            with naming(hidden):
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
        with report_write_errors(path, target), naming(target):
            yield target
        return
    remove_leftovers(target)
    folder, descriptor = create_folder(path, target)
    hidden = folder / target.name
    try:
        with report_write_errors(path, folder), naming(folder):
            yield hidden
            with open(hidden, "rb") as stream:
                os.fsync(stream.fileno())
            _name_file(hidden, target, path, force)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def resolve_output(path: str | Path) -> Path:
    """Return the path that an output's name leads to, with symbolic links resolved.

    :raises OutputError: the links form a loop, or cannot be followed.
    """
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "symbolic links form a loop"
        raise OutputError(f"{path}: cannot be written: {reason}; give another name") from error


def _check_file(path: str | Path, force: bool) -> Path:
    """Return the file that `path` leads to, with symbolic links resolved.

    :raises OutputError: it is a folder, its folder is missing, or it exists without `force`.
    """
    if _is_device(Path(path)):  # the link of an open pipe leads to no path
        return Path(path)
    target = resolve_output(path)
    if target.is_dir():
        raise OutputError(f"{path}: is a folder; give the name of a file")
    if target.is_file() and not force:
        raise exists_already(path)
    if not target.parent.is_dir():
        raise OutputError(f"{path}: its folder does not exist; make it first")
    return target


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


def exists_already(path: str | Path) -> OutputError:
    """Return the error of an output that exists and must not be replaced."""
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
            raise exists_already(path) from error
        except OSError:  # a file system without hard links
            _check_file(path, force)
            os.replace(hidden, target)
        else:
            hidden.unlink()
    sync_folder(target.parent)
