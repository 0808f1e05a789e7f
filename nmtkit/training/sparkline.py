"""Learning curves drawn in one line of a terminal."""

import math
from collections.abc import Sequence

from nmtkit.training.learning_curve import ValidationPoint

BLOCKS = "▁▂▃▄▅▆▇█"
MAX_CURVE_WIDTH = 30  # blocks of one sparkline
TEXT_WIDTH = 52  # columns of everything else in a line with two sparklines


def validation_sparklines(points: Sequence[ValidationPoint], columns: int) -> str:
    """Draw dev cost, and dev chrF or else BLEU, of all validations as sparklines in one line.

        dev cost 4.812 █▅▃▂▁▁ 2.105, BLEU 3.1 ▁▂▄▆▇█ 21.4

    The first figure stands before its sparkline, the last figure behind it. Each is scaled to its
    own lowest and highest figure.

    :param columns: width of the terminal.
    :return: the line; empty before the second validation.
    """
    if len(points) < 2:
        return ""
    width = min(MAX_CURVE_WIDTH, max(1, (columns - TEXT_WIDTH) // 2))
    costs = [point.cost_per_token for point in points]
    text = f"dev cost {costs[0]:.3f} {sparkline(costs, width)} {costs[-1]:.3f}"
    for name, figures in (("chrF", [p.chrf for p in points]), ("BLEU", [p.bleu for p in points])):
        known = [figure for figure in figures if figure is not None]
        if len(known) >= 2:
            return f"{text}, {name} {known[0]:.1f} {sparkline(known, width)} {known[-1]:.1f}"
    return text


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw a block for each value, or for the mean of neighbours if there are more than `width`.

    The lowest value has the lowest block, the highest the highest; a value that is not finite is
    drawn as a blank.

    :param values: at least one value.
    """
    values = _downsample(values, width)
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    steps = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        BLOCKS[round((value - low) * steps)] if math.isfinite(value) else " " for value in values
    )


def _downsample(values: Sequence[float], width: int) -> list[float]:
    """Return at most `width` values, each the mean of neighbours, in order."""
    count = min(width, len(values))
    ends = [len(values) * index // count for index in range(count + 1)]
    parts = [values[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    return [sum(part) / len(part) for part in parts]
