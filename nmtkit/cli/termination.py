"""SIGTERM and SIGHUP end a command as Ctrl-C does: it removes what it has written by halves."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from nmtkit.parallel import environment

SIGNALS = ("SIGTERM", "SIGHUP")
"""SIGHUP comes when a terminal or a connection is closed, unless `nohup` has it ignored.

Windows has no SIGHUP. These are names so that the module loads there, and `check_platform` can say
that nmtkit does not run.
"""

CLEANUP_SECONDS = 30.0
"""Time after such a signal within which a command cleans up; then the system ends it."""


class Terminated(BaseException):
    """The process received a SIGTERM or a SIGHUP.

    signal: its number.
    """

    def __init__(self, signal: int) -> None:
        """Store the number of the signal."""
        super().__init__(f"ended by signal {signal}")
        self.signal = signal


@contextlib.contextmanager
def raise_on_termination() -> Iterator[None]:
    """Raise Terminated in the block on the first SIGTERM or SIGHUP.

    A SIGTERM after it ends the process at once. A SIGHUP after it is ignored: when a terminal is
    closed, the system and the shell both send one.

    Nothing changes outside the main thread, for a signal that is ignored or handled already, and
    for several processes: one that waits for another is in native code, which only the default
    action ends.
    """
    handled: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread() and environment.size() == 1:
        known = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
        handled = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, _raise)
    try:
        yield
    except Terminated:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> None:
    for other, then in ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_IGN)):
        if signal.getsignal(other) is _raise:
            signal.signal(other, then)
    signal.setitimer(signal.ITIMER_REAL, CLEANUP_SECONDS)  # SIGALRM ends the process
    raise Terminated(number)
