"""Exact line search along a direction of weights, by the upper envelope of each sentence's scores.

Och 2003, section 5: for weights w + γ d the score of a hypothesis h is a line in γ with slope d · h
and height w · h at γ = 0. The best hypothesis at each γ lies on the upper envelope of the lines of
its sentence. All sentences are processed together: each starts from the line with the smallest
slope, which is highest at γ = -∞, and moves to the steeper line that crosses it first, until no
line is steeper.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.evaluation.bleu_statistics import Numbers, bleu
from nmtkit.smt.feature_matrix import Vector
from nmtkit.smt.numbers import MAX_NUMBER
from nmtkit.smt.tuning_list import segment_argmax

Indices = NDArray[np.int64]


class Envelopes(NamedTuple):
    """Upper envelopes of all sentences.

    initial: best hypothesis of each sentence at γ = -∞. Shape: [sentences].
    crossings: values of γ where the best hypothesis changes, unsorted. Shape: [crossings].
    before, after: best hypothesis on either side of the crossing. Shape: [crossings].
    """

    initial: Indices
    crossings: Vector
    before: Indices
    after: Indices


def upper_envelopes(slopes: Vector, heights: Vector, offsets: Indices) -> Envelopes:
    """Compute the upper envelope of every sentence.

    Among identical lines the first in the list is used.

    :param slopes, heights: of each hypothesis. Shape: [hypotheses].
    :param offsets: index of the first hypothesis of each sentence, and the end.
        Shape: [sentences + 1].
    """
    initial = _highest_line(-slopes, heights, offsets)
    final = _highest_line(slopes, heights, offsets)
    lines = _candidate_lines(slopes, heights, offsets, initial, final)
    sentence_of = np.searchsorted(offsets, lines, side="right") - 1
    current = initial.copy()
    segments: list[tuple[Vector, Indices, Indices]] = []
    while True:
        steeper = slopes[lines] > slopes[current][sentence_of]
        lines, sentence_of = lines[steeper], sentence_of[steeper]
        if not len(lines):
            break
        rise = slopes[lines] - slopes[current][sentence_of]
        crossings = _divide(heights[current][sentence_of] - heights[lines], rise)
        starts = np.append(np.flatnonzero(np.diff(sentence_of, prepend=-1)), len(lines))
        nearest, chosen = _nearest_crossing(crossings, slopes[lines], starts)
        sentences = sentence_of[starts[:-1]]
        segments.append((nearest, current[sentences], lines[chosen]))
        current[sentences] = lines[chosen]
    if not segments:
        return Envelopes(initial, np.zeros(0), initial[:0], initial[:0])
    crossings, before, after = (np.concatenate(parts) for parts in zip(*segments, strict=True))
    return Envelopes(initial, crossings, before, after)


def exact_line_search(
    slopes: Vector, heights: Vector, offsets: Indices, statistics: Numbers, missing: Numbers
) -> tuple[float, float]:
    """Find the γ with the highest corpus BLEU, and that BLEU.

    The search is exact because BLEU is constant between crossings. The result is the middle of the
    best interval, the widest among equals; beyond the outermost crossings it is 1 away from them.
    Intervals so narrow that they may be rounding errors are ignored.

    :param slopes, heights: of each hypothesis. Shape: [hypotheses].
    :param offsets: index of the first hypothesis of each sentence, and the end.
    :param statistics: BLEU's sufficient statistics. Shape: [hypotheses, 9].
    :param missing: statistics of the sentences without hypotheses, which are added. Shape: [9].
    """
    initial, crossings, before, after = upper_envelopes(slopes, heights, offsets)
    if not len(crossings):
        return 0.0, float(bleu(statistics[initial].sum(axis=0) + missing))
    order = np.argsort(crossings, kind="stable")
    crossings = crossings[order]
    changes = (statistics[after] - statistics[before])[order]  # [crossings, 9]
    sums = np.cumsum(
        np.vstack([statistics[initial].sum(axis=0) + missing, changes]), axis=0, dtype=np.int64
    )  # [crossings + 1, 9]
    ends = np.concatenate([[crossings[0] - 2.0], crossings, [crossings[-1] + 2.0]])
    widths = np.diff(ends)
    scores = np.where(widths > 1e-9 * (1.0 + np.abs(ends[1:])), bleu(sums), -1.0)
    best = np.flatnonzero(scores == scores.max())
    widest = best[np.argmax(widths[best])]
    return float((ends[widest] + ends[widest + 1]) / 2.0), float(scores[widest])


def _highest_line(values: Vector, heights: Vector, offsets: Indices) -> Indices:
    """Return each sentence's line with the greatest value; among equals the highest, then first."""
    greatest = values[segment_argmax(values, offsets)]
    equal = values == np.repeat(greatest, np.diff(offsets))
    return segment_argmax(np.where(equal, heights, -np.inf), offsets)


def _candidate_lines(
    slopes: Vector, heights: Vector, offsets: Indices, initial: Indices, final: Indices
) -> Indices:
    """Return the lines that can be on an envelope after the initial one; this drops most lines.

    These are the final lines and the lines above the point where initial and final line of their
    sentence cross. Any other line, whose slope is between these two, is below the initial line to
    the left of that point and below the final line to the right.
    """
    rise = slopes[final] - slopes[initial]
    crossed = rise > 0
    crossings = _divide(heights[initial] - heights[final], np.where(crossed, rise, 1.0))
    height = np.where(crossed, heights[initial] + crossings * slopes[initial], np.inf)
    sizes = np.diff(offsets)
    above = heights + np.repeat(crossings, sizes) * slopes > np.repeat(height, sizes)
    above[final[crossed]] = True
    return np.flatnonzero(above)


def _divide(heights: Vector, rises: Vector) -> Vector:
    """Return where lines cross, at most MAX_NUMBER away: almost parallel lines cross nowhere."""
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(heights / rises, -MAX_NUMBER, MAX_NUMBER), dtype=np.float64)


def _nearest_crossing(crossings: Vector, slopes: Vector, starts: Indices) -> tuple[Vector, Indices]:
    """Return each sentence's first crossing and the line that crosses there, the steepest one.

    :param crossings, slopes: of the lines that are steeper than the current one.
    :param starts: index of each sentence's first line among these, and the end.
    """
    nearest = crossings[segment_argmax(-crossings, starts)]
    at_nearest = crossings == np.repeat(nearest, np.diff(starts))
    return nearest, segment_argmax(np.where(at_nearest, slopes, -np.inf), starts)
