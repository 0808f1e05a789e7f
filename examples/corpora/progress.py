"""Progress of a download on stderr: frequent on a terminal, rare in a log."""

import sys
import time
from typing import Self


class Progress:
    """Counts bytes from `had` to `total` (None: unknown), and reports them from time to time."""

    def __init__(self, name: str, had: int, total: int | None) -> None:
        self.name, self.done, self.total = name, had, total
        self._terminal = sys.stderr.isatty()
        self._every = 0.5 if self._terminal else 30.0  # seconds
        self._begun = self._told = time.monotonic()
        self._had = had
        if had:
            print(f"{name}: going on after {size_of(had)}", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal and self._told > self._begun:
            print(file=sys.stderr)

    def add(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now - self._told >= self._every:
            self._told = now
            begin, end = ("\r", "") if self._terminal else ("", "\n")
            print(begin + self._line(now), end=end, file=sys.stderr, flush=True)

    def _line(self, now: float) -> str:
        rate = (self.done - self._had) / max(now - self._begun, 1e-9)
        of_total = f" of {size_of(self.total)}" if self.total else ""
        return f"{self.name}: {size_of(self.done)}{of_total}, {size_of(rate)}/s"


def size_of(count: float) -> str:
    """Return a number of bytes in a readable unit."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
