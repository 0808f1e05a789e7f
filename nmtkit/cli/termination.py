"""SIGTERM, SIGHUP and Ctrl-C end a command, which first removes what it has written by halves."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from nmtkit.parallel import environment

SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT")
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
    """Raise Terminated in the block on the first SIGTERM or SIGHUP, KeyboardInterrupt on a SIGINT.

    What follows at once is the same signal, sent once more, and is ignored. Later, a SIGTERM or a
    SIGINT ends the process at once; a SIGHUP never does, as a terminal that closes may send some.

    Nothing changes outside the main thread, for a signal that is ignored or handled already, and
    for several processes: one that waits for another is in native code, which only the default
    action ends.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread() and environment.size() == 1:
        known = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
        before = {n: signal.getsignal(n) for n in known if signal.getsignal(n) in usual}
    first = _FirstSignal()
    for number in before:
        signal.signal(number, first)
    try:
        yield
    except Terminated:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _FirstSignal:
    """Handler of stop signals that raises once, so that a command can clean up."""

    def __init__(self) -> None:
        """Wait for the first signal."""
        self._echo: environment.SignalEcho | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise on the first signal, and end the process on a later one."""
        if self._echo is not None:
            if not self._echo.lasts() and number != signal.SIGHUP:
                signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)
            return
        self._echo = environment.SignalEcho()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, CLEANUP_SECONDS)  # SIGALRM ends the process
        raise Terminated(number)
