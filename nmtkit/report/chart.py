"""Line charts as inline SVG for the HTML report.

Charts use the colours of the page's style sheet, light or dark. Systems also differ by dashes and
markers, so that charts are readable without colour. A chart has a title for screen readers; put its
numbers into a table beside it. The output does not depend on date or machine.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

WIDTH, HEIGHT = 370, 250  # SVG user units; the chart scales with the page
LEFT, RIGHT, TOP, BOTTOM = 46, 18, 12, 44  # margins for the axis labels, in SVG user units
DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4")
MARKER_RADIUS = 4.0  # SVG user units
AREA_RADIUS = 12.0  # of the area around a marker that is linked, in SVG user units
SYSTEM_COLOURS = 7
"""Number of system colours in the page's style sheet, `.system-0` to `.system-6`."""


@dataclass(frozen=True)
class Series:
    """The curve of one system.

    system: index of its colour, dashes and marker.
    points: x and y.
    intervals: ends of the error bar of each point, or None.
    faint: draw a thin line without markers.
    links: address and name of the sentences behind each point, for charts of sentences.
    """

    system: int
    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float] | None, ...] = ()
    faint: bool = False
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Axes:
    """Labels and scales of the axes.

    logarithmic: use a logarithmic scale for x.
    from_zero: start x at 0.
    integers: x ticks are whole numbers.
    x_range, y_range: values that the axes must show, to share them between charts.
    """

    title: str
    x: str
    y: str
    logarithmic: bool = False
    from_zero: bool = False
    integers: bool = False
    x_range: tuple[float, ...] = ()
    y_range: tuple[float, ...] = ()


def draw_chart(axes: Axes, series: Sequence[Series]) -> str:
    """Return curves as SVG, without non-finite points.

    Return an empty string if no curve has points at two positions on the x-axis: nothing could be
    seen that a table does not say.
    """
    series = [_drop_non_finite(curve) for curve in series]
    xs = [x for curve in series for x, _ in curve.points]
    ys = [y for curve in series for _, y in curve.points]
    ys += [end for curve in series for interval in curve.intervals if interval for end in interval]
    if all(len({x for x, _ in curve.points}) < 2 for curve in series):
        return ""
    xs += filter(math.isfinite, axes.x_range)
    ys += filter(math.isfinite, axes.y_range)
    scale = _Scale(axes, xs, ys)
    parts = [*scale.grid(), *(part for curve in series for part in _draw_curve(curve, scale))]
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="group"'
        f' aria-label="{escape(axes.title)}">'
        f"{''.join(parts)}</svg>"
    )


def draw_legend_key(system: int) -> str:
    """Return an SVG sample of a system's line, for legends; hidden from screen readers."""
    line = f'<line x1="1" y1="7" x2="31" y2="7"{_dashes(system)}/>'
    return (
        f'<svg class="key system-{system % SYSTEM_COLOURS}" viewBox="0 0 32 14" width="32"'
        f' height="14" aria-hidden="true">{line}{_marker(system, 16, 7)}</svg>'
    )


def round_ticks(low: float, high: float, count: int = 6, min_step: float = 0.0) -> list[float]:
    """Return round numbers from `low` or below to `high` or above.

    Their distance is 1, 2 or 5 times a power of ten.

    :param count: Approximate number of steps.
    :param min_step: Smallest distance.
    """
    if high - low < 1e-9 * max(1.0, abs(low), abs(high)):
        margin = max(1.0, 1e-6 * abs(high))  # that of a huge number is not lost in its rounding
        low, high = (max(0.0, low - margin) if low >= 0 else low - margin), high + margin
    rough = max((high - low) / count, min_step)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


class _Scale:
    """Mapping from data to SVG coordinates."""

    def __init__(self, axes: Axes, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.axes = axes
        self.y_ticks = round_ticks(min(ys), max(ys), 5)
        if axes.logarithmic:
            self.x_ticks = _logarithmic_ticks(min(xs), max(xs))
        else:
            low = 0.0 if axes.from_zero else min(xs)
            self.x_ticks = round_ticks(low, max(xs), min_step=1.0 if axes.integers else 0.0)

    def x(self, value: float) -> float:
        low, high, value = (self._linear(v) for v in (self.x_ticks[0], self.x_ticks[-1], value))
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    def _linear(self, value: float) -> float:
        return math.log(value) if self.axes.logarithmic else value

    def grid(self) -> Iterator[str]:
        """Yield the SVG of grid lines, ticks and axis labels."""
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


def _logarithmic_ticks(low: float, high: float) -> list[float]:
    """Return 100 times powers of two, from `low` or below to `high` or above."""
    first = math.floor(math.log2(low / 100) + 1e-9)
    last = max(first + 1, math.ceil(math.log2(high / 100) - 1e-9))
    return [100 * 2.0**n for n in range(first, last + 1)]


def _draw_curve(curve: Series, scale: _Scale) -> Iterator[str]:
    system = curve.system
    positions = [(scale.x(x), scale.y(y)) for x, y in curve.points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in positions)
    classes = f"system-{system % SYSTEM_COLOURS}" + (" faint" if curve.faint else "")
    yield f'<g class="{classes}"><polyline points="{line}"{_dashes(system)}/>'
    for (x, _), interval in zip(positions, curve.intervals, strict=False):
        if interval:
            low, high = scale.y(interval[0]), scale.y(interval[1])
            yield f'<line class="bar" x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}"/>'
    if not curve.faint:
        links = curve.links or (None,) * len(positions)
        for (x, y), (_, value), link in zip(positions, curve.points, links, strict=True):
            yield _draw_point(f"{curve.name}: {value:.2f}", _marker(system, x, y), (x, y), link)
    yield "</g>"


def _draw_point(
    name: str, marker: str, position: tuple[float, float], link: tuple[str, str] | None
) -> str:
    """Return a marker with its name, and a link around it with an area that a finger can hit."""
    if link is None:
        return f"<g><title>{escape(name)}</title>{marker}</g>"
    address, sentences = link
    title = escape(f"{name}, {sentences}")
    x, y = position
    area = f'<circle class="area" cx="{x:.1f}" cy="{y:.1f}" r="{AREA_RADIUS:g}"/>'
    return (
        f'<a href="{escape(address)}" aria-label="{title}"><title>{title}</title>{marker}{area}</a>'
    )


def _marker(system: int, x: float, y: float) -> str:
    """Return a disc, square, triangle or diamond, by the index of the system."""
    r = MARKER_RADIUS
    if system % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"/>'
    shapes = {
        1: ((-r, -r), (r, -r), (r, r), (-r, r)),
        2: ((0, -1.3 * r), (1.2 * r, r), (-1.2 * r, r)),
        3: ((0, -1.4 * r), (1.4 * r, 0), (0, 1.4 * r), (-1.4 * r, 0)),
    }
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[system % 4])
    return f'<polygon points="{points}"/>'


def _dashes(system: int) -> str:
    dashes = DASHES[system % len(DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _drop_non_finite(curve: Series) -> Series:
    """Return the curve without its non-finite points."""
    kept = [n for n, point in enumerate(curve.points) if all(map(math.isfinite, point))]
    return replace(
        curve,
        points=tuple(curve.points[n] for n in kept),
        intervals=tuple(curve.intervals[n] for n in kept) if curve.intervals else (),
        links=tuple(curve.links[n] for n in kept) if curve.links else (),
    )
