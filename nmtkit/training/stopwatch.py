"""The time that a training takes."""

import time


class Stopwatch:
    """Measures laps of wall-clock time."""

    def __init__(self, started: float | None = None) -> None:
        """Start the first lap.

        :param started: time of `time.monotonic()` at which it started; None: now.
        """
        self._last = time.monotonic() if started is None else started

    def lap(self) -> float:
        """Return the seconds since the last call, or since the start; none if the clock goes back.

        Time that a machine sleeps does not count where the clock leaves it out, as on Linux.
        """
        now = time.monotonic()
        seconds, self._last = max(0.0, now - self._last), now
        return seconds
