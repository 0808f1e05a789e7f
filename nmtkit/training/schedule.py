"""The learning rate over the updates of a training, as a factor that is linear between points."""

import bisect
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from nmtkit.config import TrainingConfig
from nmtkit.errors import ConfigError

_POINT = re.compile(r"(\d{1,15}):(\d{1,9}(?:\.\d{1,20})?(?:e-\d{1,3})?)", re.ASCII)


DIGITS = 9
"""Digits of a factor after its decimal point."""


class Point(NamedTuple):
    """Factor of the learning rate after a number of updates."""

    updates: int
    factor: float

    def __str__(self) -> str:
        return f"{self.updates}:{self.factor!r}"


class Schedule:
    """Factors of the learning rate, linear between points; the last point is the end of a training.

    A warm-up, a steady part and a cooldown are the points (0, 0), (warmup, 1), (end - cooldown, 1),
    (end, 0). Like them it is a function of the number of updates alone, so that a training that is
    resumed, or repeated elsewhere, has the same learning rates.
    """

    def __init__(self, points: Sequence[Point]) -> None:
        """Take points in the order of their updates.

        :raises ValueError: two points are out of order.
        """
        self.points = tuple(points)
        for one, other in itertools.pairwise(self.points):
            if one.updates >= other.updates:
                raise ValueError(f"{other} does not come after {one}")

    @classmethod
    def parse(cls, texts: Sequence[str], where: str) -> "Schedule":
        """Read points written as "updates:factor".

        :param where: name of the setting, for messages.
        :raises ConfigError: a text is no point, or out of order.
        """
        points = []
        for text in texts:
            found = _POINT.fullmatch(text)
            if found is None:
                raise ConfigError(
                    f"{where}: {text!r} is no point of a schedule; write updates:factor, as in"
                    ' "2000:0.5"'
                )
            points.append(Point(int(found[1]), float(found[2])))
        try:
            return cls(points)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error

    @classmethod
    def of(cls, config: TrainingConfig) -> "Schedule":
        """Return the schedule that the settings give."""
        return cls.parse(config.schedule, "training.schedule")

    @property
    def end(self) -> int:
        """Number of updates after which the training ends; 0: it does not end by itself."""
        return self.points[-1].updates if self.points else 0

    def factor(self, updates: int) -> float:
        """Return the factor for the next update.

        :param updates: number of updates so far.
        """
        # rounded, so that a point that is put on the line changes no factor
        return round(self._on_line(updates), DIGITS)

    def _on_line(self, updates: int) -> float:
        """Return the factor as exactly as it can be."""
        if not self.points:
            return 1.0
        index = bisect.bisect_right(self.points, updates, key=lambda point: point.updates)
        if index == len(self.points):
            return self.points[-1].factor
        right = self.points[index]
        left = self.points[index - 1] if index else Point(0, right.factor)
        share = (updates - left.updates) / (right.updates - left.updates)
        return left.factor + share * (right.factor - left.factor)

    def has_fallen(self, updates: int, share: float) -> bool:
        """Return whether the factor of the next update is for good below a share of the highest.

        :param updates: number of updates so far.
        """
        highest = max((point.factor for point in self.points), default=0.0)
        last = [point.updates for point in self.points if point.factor == highest]
        return bool(last) and updates > last[-1] and self.factor(updates) < share * highest

    def ending(self, updates: int, end: int) -> "Schedule":
        """Return this schedule up to now, from where the factor falls linearly to 0 at its new end.

        :param updates: number of updates so far.
        """
        before = [point for point in self.points if point.updates < updates]
        now = Point(updates, self._on_line(updates))  # a rounded one would bend the line before it
        return Schedule([*before, now, Point(max(end, updates + 1), 0.0)])

    def texts(self) -> tuple[str, ...]:
        """Return the points as `parse` reads them."""
        return tuple(map(str, self.points))
