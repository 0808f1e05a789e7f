"""Outputs that are being written, and what is left of them when a process was killed.

An output is written under a hidden name beside its own, `.NAME.` and sixteen hexadecimal digits,
and renamed when it is whole. While it is written it is locked, and a lock ends with its process,
however that ends: a hidden name that nobody has locked is of a process that is gone. Where a file
system knows no locks, nothing is removed.
"""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

OLD = ".old"
"""Behind the hidden name: a folder that stood under the name before, while the new one gets it."""


def hidden_name(target: Path) -> Path:
    """A name beside an output's that nothing else has."""
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}")


def hold(descriptor: int) -> None:
    """Lock an open file or folder as being written, until it is closed; it may be renamed."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder while the block runs."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        hold(descriptor)
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(target: Path) -> None:
    """Remove what processes that are gone have left of this output.

    Where one was ended while it gave the new folder its name, the old one gets it back.
    """
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}({re.escape(OLD)})?")
    with contextlib.suppress(OSError):
        names = sorted(name for name in os.listdir(target.parent) if pattern.fullmatch(name))
        for path in filter(_is_left, map(target.with_name, names)):
            if path.name.endswith(OLD) and not target.exists():
                path.rename(target)
            elif path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    """Whether nobody writes it."""
    if path.is_symlink():
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
