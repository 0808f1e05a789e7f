"""Stop signals, and the lock that lets only one process train in a model folder."""

import contextlib
import fcntl
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TextIO

from nmtkit.errors import ModelError

log = logging.getLogger("nmtkit")

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOCK_FILE = ".lock"


class StopSignals:
    """Context manager that records the first SIGINT or SIGTERM; a second one has its usual effect.

    A signal that the process ignores stays ignored: shells start background jobs with SIGINT
    ignored. Outside the main thread nothing is recorded: Python handles signals in the main thread.

    signal: number of the signal received, or None.
    """

    def __init__(self, grace: float = 0.0) -> None:
        """Set the grace period; signals are recorded within the `with` block.

        :param grace: seconds after the first signal during which another counts as the same one: a
            cluster and torchrun may both forward a signal that was sent once.
        """
        self.signal: int | None = None
        self._grace = grace
        self._grace_end = 0.0
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
        if self.signal is not None:
            if time.monotonic() > self._grace_end:
                self._restore()
                signal.raise_signal(number)
            return
        self.signal = number
        self._grace_end = time.monotonic() + self._grace
        if not self._grace:
            self._restore()
        log.warning(
            "%s: saving after this update, then stopping; send it again to stop at once",
            signal.Signals(number).name,
        )

    def _restore(self) -> None:
        while self._old_handlers:
            number, handler = self._old_handlers.popitem()
            signal.signal(number, handler)


@contextlib.contextmanager
def lock_model_folder(folder: Path) -> Iterator[None]:
    """Lock a model folder while the block runs.

    The operating system removes the lock when the process ends, even if it is killed: a lock file
    that was left behind locks nothing.

    :raises ModelError: another process trains in the folder.
    """
    with _open_lock_file(folder) as file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            (folder / LOCK_FILE).unlink(missing_ok=True)  # the folder may have been removed


def _open_lock_file(folder: Path) -> TextIO:
    """Open a folder's lock file and lock it."""
    path = folder / LOCK_FILE
    while True:
        file = open(path, "a+", encoding="ascii")  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise ModelError(
                f"{folder}: process {holder} is training there; wait for it, or choose another"
                " --output"
            ) from error
        file.close()  # its holder removed it after it was opened here and before it was locked
