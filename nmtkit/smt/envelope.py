"""Along a line of weights: which hypothesis is the best of its sentence from where to where.

On the line w + γ d the score of a hypothesis is itself a line in γ, with the slope d · h and the
height w · h at γ = 0; the best hypothesis of a sentence at each γ is its upper envelope. Och 2003,
section 5. All sentences are walked at once: each from the line with the smallest slope, which is
the highest at γ = -∞, to the steeper line that crosses it first, and on, until none is steeper.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.evaluation.bleu_statistics import Numbers, bleu
from nmtkit.smt.feature_matrix import Vector
from nmtkit.smt.tuning_list import first_best

Indices = NDArray[np.int64]


class Envelopes(NamedTuple):
    """The upper envelopes of all sentences.

    first: the hypothesis of each sentence at γ = -∞. Shape: [sentences].
    at: where one hypothesis gives way to another, in no order. Shape: [crossings].
    before, after: which, and to which. Shape: [crossings].
    """

    first: Indices
    at: Vector
    before: Indices
    after: Indices


def upper_envelopes(slopes: Vector, heights: Vector, offsets: Indices) -> Envelopes:
    """Walk the upper envelope of every sentence.

    Of lines that are the same the first in the list counts.

    :param slopes, heights: of each hypothesis. Shape: [hypotheses].
    :param offsets: where each sentence begins, and the end.
    """
    first = _highest_of(-slopes, heights, offsets)
    last = _highest_of(slopes, heights, offsets)
    lines = _above_both(slopes, heights, offsets, first, last)
    owners = np.searchsorted(offsets, lines, side="right") - 1
    current = first.copy()
    found: list[tuple[Vector, Indices, Indices]] = []
    while True:
        steeper = slopes[lines] > slopes[current][owners]
        lines, owners = lines[steeper], owners[steeper]
        if not len(lines):
            break
        rise = slopes[lines] - slopes[current][owners]
        at = (heights[current][owners] - heights[lines]) / rise
        places = np.append(np.flatnonzero(np.diff(owners, prepend=-1)), len(lines))
        nearest, chosen = _nearest(at, slopes[lines], places)
        sentences = owners[places[:-1]]
        found.append((nearest, current[sentences], lines[chosen]))
        current[sentences] = lines[chosen]
    if not found:
        return Envelopes(first, np.zeros(0), first[:0], first[:0])
    at, before, after = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Envelopes(first, at, before, after)


def best_on_line(
    slopes: Vector, heights: Vector, offsets: Indices, statistics: Numbers, missing: Numbers
) -> tuple[float, float]:
    """The γ with the highest corpus BLEU, and that BLEU: exact, since it is constant between
    crossings.

    It is the middle of the best stretch, the widest among equals; beyond the last crossing on
    either side it is 1 away from it. Stretches too narrow to be told from rounding do not count.

    :param statistics: of each hypothesis. Shape: [hypotheses, 9].
    :param missing: what is added to the sum of those that are chosen. Shape: [9].
    """
    first, at, before, after = upper_envelopes(slopes, heights, offsets)
    if not len(at):
        return 0.0, float(bleu(statistics[first].sum(axis=0) + missing))
    order = np.argsort(at, kind="stable")
    at = at[order]
    changes = (statistics[after] - statistics[before])[order]
    sums = np.cumsum(
        np.vstack([statistics[first].sum(axis=0) + missing, changes]), axis=0, dtype=np.int64
    )
    ends = np.concatenate([[at[0] - 2.0], at, [at[-1] + 2.0]])
    widths = np.diff(ends)
    scores = np.where(widths > 1e-9 * (1.0 + np.abs(ends[1:])), bleu(sums), -1.0)
    best = np.flatnonzero(scores == scores.max())
    stretch = best[np.argmax(widths[best])]
    return float((ends[stretch] + ends[stretch + 1]) / 2.0), float(scores[stretch])


def _highest_of(values: Vector, heights: Vector, offsets: Indices) -> Indices:
    """The lines of the greatest value, the highest of these, the first of these."""
    greatest = values[first_best(values, offsets)]
    equal = values == np.repeat(greatest, np.diff(offsets))
    return first_best(np.where(equal, heights, -np.inf), offsets)


def _above_both(
    slopes: Vector, heights: Vector, offsets: Indices, first: Indices, last: Indices
) -> Indices:
    """The lines that may be on the envelope besides the first: most are not.

    They are the last ones, and those that are above the place where the first and the last of
    their sentence cross. Another, whose slope is between these two, is below the first on the left
    of it and below the last on the right.
    """
    rise = slopes[last] - slopes[first]
    crossed = rise > 0
    at = (heights[first] - heights[last]) / np.where(crossed, rise, 1.0)
    height = np.where(crossed, heights[first] + at * slopes[first], np.inf)
    sizes = np.diff(offsets)
    above = heights + np.repeat(at, sizes) * slopes > np.repeat(height, sizes)
    above[last[crossed]] = True
    return np.flatnonzero(above)


def _nearest(at: Vector, slopes: Vector, places: Indices) -> tuple[Vector, Indices]:
    """Where each sentence is crossed first, and by which line: the steepest of those that do.

    :param at, slopes: of lines that are steeper than the present one.
    :param places: where each sentence begins among these, and the end.
    """
    nearest = at[first_best(-at, places)]
    here = at == np.repeat(nearest, np.diff(places))
    return nearest, first_best(np.where(here, slopes, -np.inf), places)
