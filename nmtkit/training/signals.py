"""Signals that ask a training to end, and the lock that keeps a model folder to one training."""

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

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOCK = ".lock"


class StopSignals:
    """While it lasts, the first SIGINT or SIGTERM is noted, and the second does what it would have.

    :param grace: seconds in which another counts as the same: a cluster and torchrun may both pass
        on what was sent once.

    signal: number of the one that came, None before. One that is ignored, as a shell lets a job in
    the background ignore SIGINT, stays so. Outside of the main thread, where Python handles no
    signals, none ever comes.
    """

    def __init__(self, grace: float = 0.0) -> None:
        self.signal: int | None = None
        self._grace = grace
        self._ends = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            noted = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._note) for number in noted}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            if time.monotonic() > self._ends:
                self._restore()
                signal.raise_signal(number)
            return
        self.signal = number
        self._ends = time.monotonic() + self._grace
        if not self._grace:
            self._restore()
        log.warning(
            "%s: saving after this update, then ending; once more ends at once",
            signal.Signals(number).name,
        )

    def _restore(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a model folder to one training while the block runs.

    The lock is the operating system's: it goes with the process, however that ends, so that the
    file which a killed training leaves locks nothing.

    :raises ModelError: another process trains there.
    """
    with _lock(folder) as file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            (folder / LOCK).unlink(missing_ok=True)  # the whole folder may have gone


def _lock(folder: Path) -> TextIO:
    """The folder's lock file, locked by this process."""
    path = folder / LOCK
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
        file.close()  # removed by the process that had it, between opening and locking
