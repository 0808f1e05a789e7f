"""Minimum error rate training: weights for the highest corpus BLEU on an n-best list (Och 2003).

From a starting point, along each direction: the weights of all directions' exact best steps are
compared, the best is taken, and again, until none gains (Powell's way as Och describes it, section
5). Then from other starting points; the best end counts.

Departures and readings

- Directions are the coordinates, one for each column, and as many random ones, drawn anew for each
  step: features that are correlated can then change together.
- Other starting points are drawn: each weight evenly from -1 to 1, divided by the sum of the
  absolute values. The given one is always the first.
- BLEU does not change when all weights are multiplied by a positive number. Those of the start, and
  of `Rest0` with them, are divided by the sum of their absolute values. After each step the weights
  are, as Moses does it, but not that of `Rest0`: it keeps its size beside the others.
- A step is taken only where BLEU, computed anew from the new weights, is higher. So rounding cannot
  make the end worse than the start.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nmtkit.smt.envelope import best_on_line
from nmtkit.smt.feature_matrix import Vector, shortened
from nmtkit.smt.tuning_list import TuningList

Told = Callable[[str], None]


@dataclass(frozen=True)
class Point:
    """Weights and what they reach.

    weights: Shape: [columns].
    rest: the weight of `Rest0`.
    bleu: corpus BLEU on the list, between 0 and 1.
    """

    weights: Vector
    rest: float
    bleu: float


@dataclass(frozen=True)
class MertConfig:
    """How long is searched.

    restarts: starting points besides the given one.
    directions: random directions for each step; None: as many as there are columns.
    seed: of what is drawn.
    """

    restarts: int = 4
    directions: int | None = None
    seed: int = 1


def mert(
    tuning: TuningList, start: Vector, config: MertConfig, told: Told = lambda _: None
) -> Point:
    """The best weights found.

    :param start: where to begin. Shape: [columns].
    :param told: is given a sentence on each starting point.
    :return: never worse than the start.
    """
    random = np.random.default_rng(config.seed)
    width = tuning.columns.width
    count = width if config.directions is None else config.directions
    best = Point(start, 1.0, tuning.bleu(start))
    point = first = normalized(tuning, start)
    for number in range(config.restarts + 1):
        if number:
            drawn = _of_length_one(random.uniform(-1.0, 1.0, width))
            point = Point(drawn, first.rest, tuning.bleu(drawn, first.rest))
        end, steps = _climb(tuning, point, count, random)
        told(
            f"start {number} of {config.restarts}: BLEU {100 * point.bleu:.2f} to"
            f" {100 * end.bleu:.2f} in {steps} steps"
        )
        end = normalized(tuning, end.weights, end.rest)
        if end.bleu > best.bleu or (number == 0 and end.bleu == best.bleu):
            best = end
    return best


def normalized(tuning: TuningList, weights: Vector, rest: float = 1.0) -> Point:
    """The same weights with absolute values that sum to 1; where all are 0, as they are."""
    length = np.abs(weights).sum() or 1.0
    weights, rest = shortened(weights / length), float(f"{rest / length:.9g}")
    return Point(weights, rest, tuning.bleu(weights, rest))


def _climb(
    tuning: TuningList, point: Point, count: int, random: np.random.Generator
) -> tuple[Point, int]:
    """Step by step to where no direction gains; that place, and how many steps it took."""
    steps = 0
    while True:
        drawn = [_of_length_one(random.normal(size=len(point.weights))) for _ in range(count)]
        after = _step(tuning, point, np.vstack([np.eye(len(point.weights)), *drawn]))
        if after.bleu <= point.bleu:
            return point, steps
        point, steps = after, steps + 1


def _step(tuning: TuningList, point: Point, directions: Vector) -> Point:
    """The best step along one of the directions.

    :param directions: Shape: [directions, columns].
    """
    heights = tuning.scores(point.weights, point.rest)
    best, chosen = -1.0, point.weights
    for direction in directions:
        step, bleu = best_on_line(
            tuning.features @ direction,
            heights,
            tuning.offsets,
            tuning.statistics,
            tuning.missing,
        )
        if bleu > best:
            best, chosen = bleu, point.weights + step * direction
    chosen = _of_length_one(chosen)
    return Point(chosen, point.rest, tuning.bleu(chosen, point.rest))


def _of_length_one(vector: Vector) -> Vector:
    """Divided by the sum of the absolute values; as it is where all are 0."""
    return np.asarray(vector / (np.abs(vector).sum() or 1.0), dtype=np.float64)
