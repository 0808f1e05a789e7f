"""The one way in which commands show progress: a line at the bottom of the terminal.

    with ProgressBar("translate", "lines", total=1000) as bar:
        for line in translations:
            bar.update()

The line goes to stderr, and only to a terminal, unless the log is quiet. It appears after two
seconds, is drawn anew twice a second, also while nothing is counted, and is wiped at the end. Of
several bars the one opened last is drawn. A thread draws them; it holds no lock while a process
forks, so that it does not forbid forking (`parallel.environment.is_single_threaded`).
"""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Self, TypeVar

from nmtkit.columns import columns
from nmtkit.parallel.environment import HARMLESS_THREAD

logger = logging.getLogger("nmtkit")

Item = TypeVar("Item")

DELAY = 2.0
"""Seconds before a bar appears."""

INTERVAL = 0.5
"""Seconds between two drawings."""

MIN_BAR, MAX_BAR = 8, 24
"""Minimum and maximum width of the drawn bar in cells; it is left out if there is less space."""

FALLBACK_WIDTH = 80
"""Width of a terminal that does not know its width."""


class Field(NamedTuple):
    """A part of the line. Fields of the lowest rank are left out first if the line is too long."""

    text: str
    rank: int


Fields = Callable[[], Sequence[Field]]


class ProgressBar:
    """Counts what is done, and is drawn while it is open.

    done: number of things done so far. total: number of all things; None: unknown.
    """

    def __init__(
        self,
        label: str,
        unit: str,
        total: int | None = None,
        fields: Fields | None = None,
        shown: bool = True,
    ) -> None:
        """Make a bar that is not open yet.

        :param label: what is being done, such as "translate".
        :param unit: what is counted, in the plural, such as "lines"; empty: nothing is.
        :param fields: returns the whole content of the line; by default label, count, rate, time.
        :param shown: False: count only.
        """
        self.label, self.unit, self.total, self.shown = label, unit, total, shown
        self.done = 0
        self._ahead: Callable[[], int] = lambda: 0
        self._seen = 0  # things at the last drawing that were counted ahead
        self._fields = fields or self._counts
        self._started = self._counted = time.monotonic()

    def __enter__(self) -> Self:
        """Open the bar."""
        self._started = self._counted = time.monotonic()
        SCREEN.open(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bar."""
        self.close()

    def close(self) -> None:
        """Wipe the bar; closing it again does nothing."""
        SCREEN.close(self)

    def update(self, count: int = 1) -> None:
        """Count further things."""
        self.done += count
        self._counted = time.monotonic()

    def follow(self, ahead: Callable[[], int]) -> None:
        """Show another count where it is higher, of things whose results come later."""
        self._ahead = ahead

    def begin(self, label: str, total: int | None = None, unit: str = "") -> None:
        """Begin the next stage, which counts from 0; by default the same unit."""
        self.label, self.total, self.done = label, total, 0
        self.unit = unit or self.unit
        self._started = self._counted = time.monotonic()

    def track(self, items: Iterable[Item]) -> Iterable[Item]:
        """Return items, each counted when the next is asked for; unchanged if nothing is shown."""
        return self._counted_items(items) if self.shown else items

    def _counted_items(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            yield item
            self.update()

    def run(self, items: Iterable[Item], ahead: Callable[[], int] | None = None) -> Iterator[Item]:
        """Open the bar, yield items and count them, and close it.

        :param ahead: see `follow`; None: items are counted when they come.
        """
        if ahead is not None:
            self.follow(ahead)
        with self:
            yield from self.track(items)

    def render(self, width: int, blocks: bool = True) -> str:
        """Return the line, at most `width` cells long.

        :param blocks: the terminal can show block characters.
        """
        self._catch_up()
        fields = list(self._fields())
        line = fit(fields, width)
        rest = width - columns(line) - 2
        if self.total and rest >= MIN_BAR and line == fit(fields, sys.maxsize):
            share = min(self._drawn_count / self.total, 1.0)
            drawn = _drawn(share, min(rest, MAX_BAR), blocks)
            line = f"{line}  {drawn}"
        return line

    def _catch_up(self) -> None:
        """Look how many things are done whose results come later."""
        ahead = self._ahead()
        if ahead > max(self.done, self._seen):
            self._counted = time.monotonic()
        self._seen = ahead

    @property
    def _drawn_count(self) -> int:
        """Number of things done, with those whose results come later."""
        return max(self.done, self._seen)

    def _counts(self) -> list[Field]:
        """Return label, count, rate and time left, which goes down between two updates."""
        now = time.monotonic()
        done = self._drawn_count
        rate = done / max(self._counted - self._started, 1e-6)
        of_total = f" of {self.total:,}" if self.total else ""
        unit = _singular(self.unit) if (self.total or done) == 1 else self.unit
        count = [Field(f"{done:,}{of_total} {unit}", 4)] if unit else []
        fields = [Field(f"{self.label}:", 2), *count]
        if not rate or done == self.total:
            return [*fields, Field(f"{clock(now - self._started)} so far", 1)]
        fields.append(Field(_rate(rate), 1))
        if self.total:
            left = (self.total - done) / rate - (now - self._counted)
            fields.append(Field(f"{clock(left)} left", 3))
        return fields


class Screen:
    """The open bars of this process, and the thread that draws the last of them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bars: list[ProgressBar] = []
        self._drawn = 0  # cells of the line that is on the screen
        self._visible_from = 0.0
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        os.register_at_fork(
            before=self._lock.acquire,
            after_in_parent=self._lock.release,
            after_in_child=self._reset,
        )

    def _reset(self) -> None:
        """Forget all bars in a fork: its parent draws them."""
        self._lock = threading.RLock()
        self._bars, self._drawn, self._thread = [], 0, None

    def open(self, bar: ProgressBar) -> None:
        """Put a bar on top of those that are open, if bars are shown at all."""
        if not (bar.shown and shows_progress()):
            return
        with self._lock:
            if not self._bars:
                self._visible_from = time.monotonic() + DELAY
            self._bars.append(bar)
            if self._thread is None:
                self._ended = threading.Event()
                self._thread = threading.Thread(target=self._run, name=HARMLESS_THREAD, daemon=True)
                self._thread.start()

    def close(self, bar: ProgressBar) -> None:
        """Wipe a bar, and end the thread after the last one."""
        with self._lock:
            if bar not in self._bars:
                return
            self._bars.remove(bar)
            self._wipe()
            thread = None if self._bars else self._thread
            if thread is None:
                return
            self._thread = None
            self._ended.set()
        thread.join()

    def close_all(self) -> None:
        """Wipe all bars, as at the end of a command that failed."""
        for bar in reversed(list(self._bars)):
            self.close(bar)

    @contextlib.contextmanager
    def above(self) -> Iterator[None]:
        """Wipe the bar while the block writes lines to stderr, and draw it again."""
        with self._lock:
            drawn = bool(self._drawn)
            self._wipe()
            try:
                yield
            finally:
                if drawn:
                    self._draw()

    def _run(self) -> None:
        """Draw the last bar from time to time, until the last one is closed."""
        ended = self._ended
        while not ended.wait(INTERVAL):
            with self._lock:
                if time.monotonic() >= self._visible_from and not ended.is_set():
                    self._draw()

    def _draw(self) -> None:
        """Draw the last bar; an error, as of a terminal that is gone, stops nothing."""
        if not self._bars:
            return
        with contextlib.suppress(Exception):
            line = self._bars[-1].render(_width() - 1, can_encode("━─"))
            width = columns(line)
            sys.stderr.write(f"\r{line}{' ' * (self._drawn - width)}")
            sys.stderr.flush()
            self._drawn = width

    def _wipe(self) -> None:
        """Remove the line from the screen."""
        if self._drawn:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"\r{'':{self._drawn}}\r")
                sys.stderr.flush()
            self._drawn = 0


def shows_progress() -> bool:
    """Return whether bars are drawn: on a terminal, unless the log is quiet."""
    try:
        return sys.stderr.isatty() and logger.isEnabledFor(logging.INFO)
    except (AttributeError, ValueError):  # stderr is closed, or a program has replaced it
        return False


def fit(fields: Sequence[Field], width: int) -> str:
    """Join fields to a line; leave out those of the lowest rank until it fits.

    A field that ends with a colon is followed by a blank, others by a comma.
    """
    kept = list(fields)
    while columns(line := _joined(kept)) > width and len(kept) > 1:
        kept.remove(min(kept, key=lambda field: field.rank))
    while line and columns(line) > width:
        line = line[:-1]
    return line


def _joined(fields: Sequence[Field]) -> str:
    line = ""
    for field in fields:
        separator = "" if not line else " " if line.endswith(":") else ", "
        line += separator + field.text
    return line


def clock(seconds: float) -> str:
    """Return a duration as a clock shows it: 0:07, 12:30, 3:05:00."""
    whole = round(min(max(seconds, 0.0), 1e9))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours:,}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _singular(unit: str) -> str:
    return "hypothesis" if unit == "hypotheses" else unit.removesuffix("s")


def _rate(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _drawn(share: float, width: int, blocks: bool) -> str:
    """Return a bar that is filled up to a share."""
    full = int(share * width)
    mark, rest = ("━", "─") if blocks else ("#", ".")
    return mark * full + rest * (width - full)


def _width() -> int:
    """Return the width of stderr's terminal in cells."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or FALLBACK_WIDTH
    except (OSError, ValueError):
        return FALLBACK_WIDTH


def can_encode(characters: str) -> bool:
    """Return whether stderr can show some characters."""
    try:
        characters.encode(sys.stderr.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


SCREEN = Screen()
