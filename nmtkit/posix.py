"""What nmtkit needs of the operating system, and the sentence where it is missing.

Reading pipes as they fill, opening files without following links or waiting, reading a corpus at
any position from forks that share it, and ending in time after a signal are done by functions that
POSIX systems have: Linux, macOS, and Windows within WSL. One check at the entrance replaces a
special case, which nobody could test, at each of these places.
"""

import os
import select
import signal
import sys

from nmtkit.errors import NmtkitError

REQUIRED = {
    os: ("pread", "set_blocking", "O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "nice"),
    select: ("poll", "POLLIN"),
    signal: ("setitimer", "ITIMER_REAL", "SIGHUP", "SIGKILL", "pthread_sigmask"),
}
"""Module -> what the package uses of it that not every system has."""


def check_platform() -> None:
    """Raise NmtkitError on a system that lacks what nmtkit needs."""
    missing = [
        f"{module.__name__}.{name}"
        for module, names in REQUIRED.items()
        for name in names
        if not hasattr(module, name)
    ]
    if missing:
        raise NmtkitError(
            f"nmtkit runs on POSIX systems: Linux, macOS, and Windows within WSL; this Python"
            f" ({sys.platform}) has no {', '.join(missing)}; run it on one of those"
        )


def check_working_folder() -> None:
    """Raise NmtkitError if the current folder is gone: torch could not find its libraries."""
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise NmtkitError(
            "the current folder was removed; change into another one, and run the command again"
        ) from error
