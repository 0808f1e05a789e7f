"""Exchange of two names in one step, by Linux's renameat2, which Python's `os` does not offer."""

import ctypes
import errno
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def exchange(first: Path, second: Path) -> bool:
    """Exchange the names of two files or folders; return False if the system cannot do that.

    :raises OSError: a name does not exist, or may not be changed.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):  # not Linux with glibc 2.28 or later
        return False
    names = os.fsencode(first), os.fsencode(second)
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))
