"""Folders of results: each appears under its name whole, or not at all.

What a process that was killed has left half made is removed by the next that makes the folder.
"""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from nmtkit.errors import OutputError
from nmtkit.io.temporary import OLD, held, hidden_name, remove_leftovers


@contextlib.contextmanager
def output_folder(path: str | Path, mark: str, kind: str, force: bool = False) -> Iterator[Path]:
    """A folder to write into, which gets its name when the block ends well; else nothing remains.

    What is there is not lost: only a folder of the same kind is replaced, and only with `force`.

    :param path: its name; an empty folder may be there.
    :param mark: a file that every folder of this kind holds.
    :param kind: what such a folder is called, such as "prepared folder".
    :raises OutputError: the folder exists and `force` is not given, is of another kind, or cannot
        be written.
    """
    target = Path(path).resolve()
    remove_leftovers(target)
    _check_target(target, path, mark, kind, force)
    folder = hidden_name(target)
    try:
        folder.mkdir()
        with held(folder):
            yield folder
            _move_into_place(folder, target)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
        raise


def _check_target(target: Path, path: str | Path, mark: str, kind: str, force: bool) -> None:
    if not target.parent.is_dir():
        raise OutputError(f"{path}: its parent folder does not exist; make it first")
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not (target / mark).is_file():
        raise OutputError(f"{path}: exists and is not a {kind}; give another name")
    if not force:
        raise OutputError(f"{path}: exists already; use --force to replace it")


def _move_into_place(folder: Path, target: Path) -> None:
    """Give the finished folder its name; an old one is there until the new one is."""
    if not target.exists():
        folder.rename(target)
        return
    old = target.with_name(f"{folder.name}{OLD}")
    target.rename(old)
    try:
        folder.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
