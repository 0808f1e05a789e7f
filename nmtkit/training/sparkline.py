"""A learning curve in one line of a terminal."""

import math
from collections.abc import Sequence

from nmtkit.training.learning_curve import ValidationPoint

BLOCKS = "▁▂▃▄▅▆▇█"
WIDEST = 30  # blocks of one curve
WORDS = 52  # cells of all else in a line of two curves


def course(points: Sequence[ValidationPoint], columns: int) -> str:
    """How dev cost and dev BLEU have gone from validation to validation.

        dev cost 4.812 █▅▃▂▁▁ 2.105, BLEU 3.1 ▁▂▄▆▇█ 21.4

    Before a curve stands its first figure, behind it its last. Each is drawn between its own lowest
    and highest.

    :param columns: cells of a line of the terminal.
    :return: empty before the second validation: there is no course yet.
    """
    if len(points) < 2:
        return ""
    width = min(WIDEST, max(1, (columns - WORDS) // 2))
    costs = [point.cost_per_token for point in points]
    text = f"dev cost {costs[0]:.3f} {sparkline(costs, width)} {costs[-1]:.3f}"
    bleu = [point.bleu for point in points if point.bleu is not None]
    if len(bleu) < 2:
        return text
    return f"{text}, BLEU {bleu[0]:.1f} {sparkline(bleu, width)} {bleu[-1]:.1f}"


def sparkline(values: Sequence[float], width: int) -> str:
    """A block for each value, or for the mean of a few where there are more than `width`.

    The lowest is the lowest block, the highest the highest; a figure that is not finite is a blank.

    :param values: one or more.
    """
    values = _shortened(values, width)
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    steps = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        BLOCKS[round((value - low) * steps)] if math.isfinite(value) else " " for value in values
    )


def _shortened(values: Sequence[float], width: int) -> list[float]:
    """At most `width` values, each the mean of neighbours, in order."""
    count = min(width, len(values))
    ends = [len(values) * place // count for place in range(count + 1)]
    parts = [values[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    return [sum(part) / len(part) for part in parts]
