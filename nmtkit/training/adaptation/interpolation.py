"""The best point between old and new parameters, as in WiSE-FT (Wortsman et al. 2022).

    theta(a) = (1 - a) theta_old + a theta_new

Between a = 0 and 1 what is won on the corrections and what is lost elsewhere do not change alike:
the loss grows with a power of a, about the third (`bench/NOTEBOOK.md`). Among the points whose loss
is allowed, the one with the largest gain less loss is chosen.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from nmtkit.io.parameters import Parameters

STEP = 0.75
"""Largest factor of the next smaller point, but for the second and third one."""

POWER, LEAST_POWER, GREATEST_POWER = 3.0, 1.0, 6.0
"""Power of the point with which the loss grows: the first guess, and bounds of that measured."""

LARGEST_FACTOR, MARGIN = 0.9, 0.95
"""Largest factor of the second and third point if those before lose too much; share of the safe
loss to aim at."""

MIN_POINT = 0.1
"""Smallest point that is tried; there hardly anything is learned."""

MIN_GAP = 0.1
"""Distance of two points between which none is tried."""

SAFETY = 0.85
"""Share of the allowed loss that a point may use: other text may lose more than the guards, which
are a sample (measured in `bench/NOTEBOOK.md`). A few corrections that are to come out word for word
may use it all, as they do so near the new parameters only."""


def interpolate(old: Parameters, new: Parameters, point: float) -> Parameters:
    """Return the parameters at a point; 0 gives the old ones, 1 the new ones."""
    if point == 1:
        return dict(new)
    return {name: torch.lerp(value, new[name], point) for name, value in old.items()}


@dataclass(frozen=True)
class MeasuredPoint:
    """What was measured at a point.

    gain: of the corrections. loss: largest one of a guard; 0 without guards. Both are in percent of
    `Judge.metric`.
    """

    point: float
    gain: float
    loss: float

    @property
    def value(self) -> float:
        """The gain, less what a guard has lost."""
        return self.gain - max(self.loss, 0.0)


def search_point(
    measure: Callable[[float], MeasuredPoint], safe: float, more_time: Callable[[], bool]
) -> MeasuredPoint:
    """Return the best of some points between 0 and 1 whose loss is safe.

    If none is safe, the one with the smallest loss is returned, which may be too large.

    :param safe: loss that a guard may have.
    :param more_time: tells whether there is time to measure another point.
    """
    measured = [measure(1.0)]
    while more_time():
        point = next_point(measured, safe)
        if point is None:
            break
        measured.append(measure(round(point, 3)))
    return best_point(measured, safe) or min(measured, key=lambda m: m.loss)


def next_point(measured: list[MeasuredPoint], safe: float) -> float | None:
    """Return the point to try next, or None if no other promises more.

    Downwards while the loss is too large, or while a step down wins more; then between the best
    point and the next larger one that was tried, if one above has lost too much.
    """
    last, best = measured[-1], best_point(measured, safe)
    if best is None:
        largest = LARGEST_FACTOR if len(measured) <= 2 else STEP
        factor = (MARGIN * safe / last.loss) ** (1 / _power(measured))
        point = max(last.point * min(largest, factor), MIN_POINT)
        return point if point < last.point else None
    above = {m.point: m.loss for m in measured if m.point > best.point}
    too_large = any(loss > safe for loss in above.values())
    if too_large and min(above) - best.point > MIN_GAP:
        return (min(above) + best.point) / 2
    if best is last and not too_large and STEP * best.point >= MIN_POINT:
        return STEP * best.point
    return None


def _power(measured: list[MeasuredPoint]) -> float:
    """Return the power of the point with which the loss grows, by the last two points."""
    if len(measured) < 2:
        return POWER
    before, last = measured[-2:]
    ratio = math.log(before.loss / last.loss) / math.log(before.point / last.point)
    return min(max(ratio, LEAST_POWER), GREATEST_POWER)


def best_point(measured: list[MeasuredPoint], safe: float) -> MeasuredPoint | None:
    """Return the point with the highest value whose loss is safe; the first of equal ones."""
    allowed = [m for m in measured if m.loss <= safe]
    return max(allowed, key=lambda m: m.value, default=None)
