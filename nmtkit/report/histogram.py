"""Histogram of the differences of two systems in single sentences, as SVG with linked bars."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from nmtkit.errors import counted
from nmtkit.report.addresses import selection_address
from nmtkit.report.chart import round_ticks

WIDTH, HEIGHT = 370, 190  # SVG user units
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 42  # margins for the axis labels
MAX_BARS = 25
WIDTHS = (1, 2, 5, 10, 20)  # of a bar, in points


@dataclass(frozen=True)
class Histogram:
    """Counts of values in bins of equal width.

    low: lower end of the first bin. A value belongs to the bin if it is at least its lower end and
    below its upper end.
    """

    low: int
    width: int
    counts: list[int]

    def ends(self, index: int) -> tuple[int, int]:
        """Return the lower and upper end of a bin."""
        begin = self.low + index * self.width
        return begin, begin + self.width


def histogram_of(values: Sequence[float], ends: Sequence[float] = ()) -> Histogram:
    """Return the histogram of the values other than 0, with at most about `MAX_BARS` bins.

    0 is at the end of two bins, so that the signs do not mix. Values of 0 are left out: they would
    look like small values above 0.

    :param ends: values that the bins must reach, the same for histograms that share an axis.
    """
    values = [value for value in values if value]
    low, high = min([0.0, *values, *ends]), max([0.0, *values, *ends])
    width = next((w for w in WIDTHS if (high - low) / w <= MAX_BARS), WIDTHS[-1])
    bins = Counter(int(value // width) for value in values)
    first, last = min(-1, int(low // width)), int(high // width)
    return Histogram(first * width, width, [bins[index] for index in range(first, last + 1)])


def draw_histogram(title: str, pair: tuple[int, int], histogram: Histogram, largest: int) -> str:
    """Return a histogram as SVG; each bar is a link to its sentences.

    :param pair: indices of the systems; values are those of the second minus those of the first.
    :param largest: count at the upper end of the y-axis or below, the same for all histograms.
    """
    label = f"Sentences by difference in chrF, {title}"
    content = "".join(_draw_parts(pair, histogram, largest))
    return (
        f'<svg class="chart histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="group"'
        f' aria-label="{escape(label)}" data-pair="{pair[0]}:{pair[1]}">{content}</svg>'
    )


def _draw_parts(pair: tuple[int, int], histogram: Histogram, largest: int) -> Iterator[str]:
    ticks = round_ticks(0, largest, 4, min_step=1)
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    unit = (bottom - TOP) / ticks[-1]
    step = (right - LEFT) / len(histogram.counts)
    for tick in ticks:
        y = bottom - tick * unit
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}">{tick:g}</text>'
    zero = LEFT + step * (-histogram.low / histogram.width)
    yield f'<line class="zero" x1="{zero:.1f}" y1="{TOP}" x2="{zero:.1f}" y2="{bottom}"/>'
    high = histogram.ends(len(histogram.counts) - 1)[1]
    for tick in round_ticks(histogram.low, high, 6, min_step=1):
        if histogram.low <= tick <= high:
            x = LEFT + step * (tick - histogram.low) / histogram.width
            yield f'<text class="tick mid" x="{x:.1f}" y="{bottom + 17}">{_signed(tick)}</text>'
    middle = (LEFT + right) / 2
    yield f'<text class="axis" x="{middle:g}" y="{HEIGHT - 6}">Difference in chrF</text>'
    for index, count in enumerate(histogram.counts):
        x, height = LEFT + index * step, count * unit
        yield _bar(pair, histogram.ends(index), count, (x, bottom - height, step - 1, height))


def _bar(
    pair: tuple[int, int], ends: tuple[int, int], count: int, box: tuple[float, float, float, float]
) -> str:
    """Return a bar: a link, wide enough to be hit, with a name; a mere area if it is empty."""
    (low, high), (x, y, width, height) = ends, box
    winner = pair[1] if low >= 0 else pair[0]
    bar = f'<rect class="bin" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
    area = (
        f'<rect class="area" x="{x:.1f}" y="{TOP}" width="{width + 1:.1f}"'
        f' height="{HEIGHT - BOTTOM - TOP}"/>'
    )
    data = f'data-low="{low}" data-high="{high}"'
    if not count:
        return f"<g {data}>{area}</g>"
    name = f"{counted(count, 'sentence')}: {_signed(low)} to {_signed(high)}"
    address = selection_address(difference=f"{pair[0]}:{pair[1]}:{low}:{high}")
    return (
        f'<a class="system-{winner % 7}" href="{escape(address)}" aria-label="{name}" {data}>'
        f"<title>{name}</title>{bar}{area}</a>"
    )


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "\N{MINUS SIGN}") if value else "0"
