"""Stop signals: SIGINT, SIGTERM and SIGHUP end a training after everything was saved."""

import logging
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from nmtkit.parallel import environment
from nmtkit.parallel.fork_start import STOP_SIGNALS

log = logging.getLogger("nmtkit")


class StopSignals:
    """Context manager that records the first stop signal; a later one has its usual effect.

    One that comes at once is the first one, sent once more (`SignalEcho`), and has none. A signal
    that the process ignores stays ignored: shells start background jobs with SIGINT ignored.
    Outside the main thread nothing is recorded: Python handles signals in the main thread.

    signal: number of the signal received, or None.
    """

    def __init__(self) -> None:
        """Wait: signals are recorded within the `with` block."""
        self.signal: int | None = None
        self._echo: environment.SignalEcho | None = None
        self._old_handlers: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            numbers = [n for n in STOP_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
            self._old_handlers = {n: signal.signal(n, self._handle) for n in numbers}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._echo is not None:
            if not self._echo.lasts():
                self._restore()
                signal.raise_signal(number)
            return
        self.signal = number
        self._echo = environment.SignalEcho()
        log.warning(
            "%s: saving after this update, then stopping; send it again to stop at once",
            signal.Signals(number).name,
        )

    def _restore(self) -> None:
        while self._old_handlers:
            number, handler = self._old_handlers.popitem()
            signal.signal(number, handler)
