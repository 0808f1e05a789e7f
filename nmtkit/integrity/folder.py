"""Entries of a folder that are not its own files: leftovers, pipes, links, unknown files."""

from collections.abc import Callable, Iterator
from pathlib import Path

from nmtkit.integrity.findings import Finding, Inspection, error, look_again, warning
from nmtkit.io.folder_files import leads_inside
from nmtkit.io.temporary import is_hidden_name, is_leftover


def check_entries(
    folder: Path,
    found: Inspection,
    is_known: Callable[[str], bool],
    is_temporary: Callable[[str], bool] = is_hidden_name,
    busy: bool = False,
    root: Path | None = None,
) -> None:
    """Name what does not belong into a folder; a folder within it is not entered.

    :param is_known: returns whether a name is one of the folder's own files or folders.
    :param is_temporary: returns whether a name is that of something being written or removed.
    :param busy: a training writes there, which removes leftovers when it starts.
    :param root: folder that links must not lead out of.
    """
    for path in sorted(folder.iterdir()):
        if is_temporary(path.name):
            if not busy:
                found.add(look_again(lambda: _check_leftover(path), [path]))  # noqa: B023
        elif not is_known(path.name):
            found.unchecked.append(str(path))
        else:
            found.add(look_again(lambda: check_entry(path, root), [path]))  # noqa: B023


def _check_leftover(path: Path) -> Iterator[Finding]:
    """Yield a warning if no process writes an output with a hidden name."""
    if is_leftover(path):
        remedy = f"remove it ({'rm -r' if path.is_dir() else 'rm'})"
        yield warning(path, "left by a process that was killed", remedy)


def check_entry(path: Path, root: Path | None = None) -> Iterator[Finding]:
    """Yield an error for a pipe, a device, a link to nothing, or a link out of a folder.

    :param root: the folder; None: links may lead anywhere.
    """
    remedy = "remove it, or restore the file from a copy"
    if path.is_symlink() and not path.exists():
        yield error(path, "a link to nothing", remedy)
    elif path.is_symlink() and root is not None and not leads_inside(path, root):
        yield error(path, f"a link that leads out of {root}", "put a copy in its place")
    elif path.exists() and not (path.is_file() or path.is_dir()):
        yield error(path, "not a regular file", remedy)
