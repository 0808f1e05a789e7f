"""Progress of a download on stderr: frequent on a terminal, rare in a log."""

import shutil
import sys
import time
from typing import Self


class Progress:
    """Counts bytes from `initial` to `total` (None: unknown), and reports them regularly."""

    def __init__(self, name: str, initial: int, total: int | None) -> None:
        self.name, self.done, self.total = name, initial, total
        self._terminal = sys.stderr.isatty()
        self._every = 0.5 if self._terminal else 30.0  # seconds
        self._started = self._printed = time.monotonic()
        self._initial = initial
        if initial:
            print(f"{name}: resuming after {size_of(initial)}", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal and self._printed > self._started:
            print(file=sys.stderr)

    def add(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now - self._printed >= self._every:
            self._printed = now
            line = self._line(now)
            if self._terminal:  # a line that is wider than the terminal would not be overwritten
                width = shutil.get_terminal_size().columns - 1
                line = f"\r{line[:width]:{width}}"
            print(line, end="" if self._terminal else "\n", file=sys.stderr, flush=True)

    def _line(self, now: float) -> str:
        rate = (self.done - self._initial) / max(now - self._started, 1e-9)
        of_total = f" of {size_of(self.total)}" if self.total else ""
        left = f", {_clock((self.total - self.done) / rate)} left" if self.total and rate else ""
        return f"{self.name}: {size_of(self.done)}{of_total}, {size_of(rate)}/s{left}"


def _clock(seconds: float) -> str:
    """Return a duration in minutes and seconds, or in hours and minutes."""
    whole = round(max(seconds, 0))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours} h {minutes:02} min" if hours else f"{minutes}:{whole % 60:02}"


def size_of(count: float) -> str:
    """Return a number of bytes in a readable unit."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
