"""SIGTERM ends a command as Ctrl-C does, so that it removes what it has written by halves."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from nmtkit.parallel import environment

CLEANUP_SECONDS = 30.0
"""Time after a SIGTERM within which a command cleans up; then the system ends it."""


class Terminated(BaseException):
    """The process received a SIGTERM."""


@contextlib.contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Raise Terminated in the block on the first SIGTERM; a second one ends the process at once.

    Nothing changes outside the main thread, if the signal is ignored or handled already, and for
    several processes: one that waits for another is in native code, which only the default action
    ends.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    is_default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not (in_main_thread and is_default) or environment.size() > 1:
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    except Terminated:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, CLEANUP_SECONDS)  # SIGALRM ends the process
    raise Terminated
