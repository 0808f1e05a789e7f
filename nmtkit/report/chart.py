"""Line charts as SVG within a page of HTML: in the page's own colours, light or dark, and readable
without them.

A chart is a picture with a title for screen readers; the numbers belong into a table beside it.
Systems differ by colour, dashes and mark. Nothing depends on the day or the machine.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 370, 250  # units of the picture, which grows and shrinks with the page
LEFT, RIGHT, TOP, BOTTOM = 46, 18, 12, 44  # room for the axes' words
DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4")
RADIUS = 4.0
KINDS = 7
"""Colours of systems in the page's style sheet, `.k0` to `.k6`."""


@dataclass(frozen=True)
class Series:
    """One system's curve.

    system: the number of its colour, dashes and mark.
    points: x and y; ends: of the error bars, or None, beside them.
    faint: drawn thin and without marks.
    """

    system: int
    name: str
    points: tuple[tuple[float, float], ...]
    ends: tuple[tuple[float, float] | None, ...] = ()
    faint: bool = False


@dataclass(frozen=True)
class Axes:
    """What stands along the axes; `logarithmic`: x is; `from_zero`: x begins there;
    `whole`: x is counted."""

    title: str
    x: str
    y: str
    logarithmic: bool = False
    from_zero: bool = False
    whole: bool = False


def chart(axes: Axes, series: Sequence[Series]) -> str:
    """The SVG of some curves; of points alone that are numbers."""
    series = [_finite(one) for one in series]
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points]
    ys += [end for one in series for both in one.ends if both for end in both]
    if not xs:
        return ""
    scale = _Scale(axes, xs, ys)
    parts = [*scale.grid(), *(part for one in series for part in _curve(one, scale))]
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(axes.title)}"><title>{escape(axes.title)}</title>'
        f"{''.join(parts)}</svg>"
    )


def key(system: int) -> str:
    """A piece of a system's curve, for legends; told by the words beside it."""
    line = f'<line x1="1" y1="7" x2="31" y2="7"{_dashed(system)}/>'
    return (
        f'<svg class="key k{system % KINDS}" viewBox="0 0 32 14" width="32" height="14"'
        f' aria-hidden="true">{line}{_mark(system, 16, 7)}</svg>'
    )


def ticks(low: float, high: float, most: int = 6, least: float = 0.0) -> list[float]:
    """Round numbers from below `low` to above `high`, 1, 2 or 5 times a power of ten apart.

    :param most: about so many. least: so far apart at least.
    """
    if high - low < 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = (max(0.0, low - 1) if low >= 0 else low - 1), high + 1
    rough = max((high - low) / most, least)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


class _Scale:
    """From numbers to places in the picture."""

    def __init__(self, axes: Axes, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.axes = axes
        self.y_ticks = ticks(min(ys), max(ys), 5)
        if axes.logarithmic:
            self.x_ticks = _powers(min(xs), max(xs))
        else:
            low = 0.0 if axes.from_zero else min(xs)
            self.x_ticks = ticks(low, max(xs), least=1.0 if axes.whole else 0.0)

    def x(self, value: float) -> float:
        low, high, value = (self._along(v) for v in (self.x_ticks[0], self.x_ticks[-1], value))
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    def _along(self, value: float) -> float:
        return math.log(value) if self.axes.logarithmic else value

    def grid(self) -> Iterator[str]:
        """Lines, numbers and names of the axes."""
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        for value in self.y_ticks:
            y = self.y(value)
            yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            yield f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}">{value:g}</text>'
        for value in self.x_ticks:
            x = self.x(value)
            yield f'<text class="tick mid" x="{x:.1f}" y="{bottom + 17}">{value:g}</text>'
        middle = (LEFT + right) / 2
        yield f'<text class="axis" x="{middle:g}" y="{HEIGHT - 6}">{escape(self.axes.x)}</text>'
        middle = (TOP + bottom) / 2
        yield (
            f'<text class="axis" transform="translate(11 {middle:g}) rotate(-90)">'
            f"{escape(self.axes.y)}</text>"
        )


def _powers(low: float, high: float) -> list[float]:
    """Powers of two times 100, from below `low` to above `high`."""
    first = math.floor(math.log2(low / 100) + 1e-9)
    last = max(first + 1, math.ceil(math.log2(high / 100) - 1e-9))
    return [100 * 2.0**n for n in range(first, last + 1)]


def _curve(one: Series, scale: _Scale) -> Iterator[str]:
    places = [(scale.x(x), scale.y(y)) for x, y in one.points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    kind = f"k{one.system % KINDS}" + (" faint" if one.faint else "")
    yield f'<g class="{kind}"><polyline points="{line}"{_dashed(one.system)}/>'
    for (x, _), both in zip(places, one.ends, strict=False):
        if both:
            low, high = scale.y(both[0]), scale.y(both[1])
            yield f'<line class="bar" x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}"/>'
    if not one.faint:
        for (x, y), (_, value) in zip(places, one.points, strict=True):
            yield f"<g><title>{escape(one.name)}: {value:.2f}</title>{_mark(one.system, x, y)}</g>"
    yield "</g>"


def _mark(system: int, x: float, y: float) -> str:
    """A disc, a square, a triangle or a diamond, by the number of the system."""
    r = RADIUS
    if system % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"/>'
    shapes = {
        1: ((-r, -r), (r, -r), (r, r), (-r, r)),
        2: ((0, -1.3 * r), (1.2 * r, r), (-1.2 * r, r)),
        3: ((0, -1.4 * r), (1.4 * r, 0), (0, 1.4 * r), (-1.4 * r, 0)),
    }
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[system % 4])
    return f'<polygon points="{points}"/>'


def _dashed(system: int) -> str:
    dashes = DASHES[system % len(DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _finite(one: Series) -> Series:
    """Without the points that are no numbers."""
    ends = one.ends or (None,) * len(one.points)
    kept = [
        (point, both)
        for point, both in zip(one.points, ends, strict=True)
        if all(map(math.isfinite, point))
    ]
    points, bars = tuple(point for point, _ in kept), tuple(both for _, both in kept)
    return Series(one.system, one.name, points, bars, one.faint)
