"""Minimum error rate training: weights for the highest corpus BLEU on an n-best list (Och 2003).

Hill climbing from a starting point: an exact line search along every direction, then the best of
these steps, until none improves BLEU (Powell's method as in Och's section 5). This is repeated from
other starting points, and the best result is kept.

Departures and readings

- Directions are the coordinate axes and the same number of random directions, drawn again for each
  step, so that correlated features can change together.
- Other starting points are random: each weight uniform in [-1, 1], divided by the sum of the
  absolute values. The given starting point is always the first.
- BLEU does not change when all weights are multiplied by a positive number. The starting weights,
  with that of `Rest0`, are divided by the sum of their absolute values. After each step, as in
  Moses, the weights are divided again, except that of `Rest0`, which stays the same.
- A step is taken only if BLEU, recomputed from the new weights, is higher. Rounding therefore
  cannot make the result worse than the start.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nmtkit.progress_bar import ProgressBar
from nmtkit.smt.envelope import exact_line_search
from nmtkit.smt.feature_matrix import Vector, round_weights
from nmtkit.smt.numbers import MAX_NUMBER
from nmtkit.smt.tuning_list import TuningList

ProgressLogger = Callable[[str], None]


@dataclass(frozen=True)
class WeightPoint:
    """Weights and the BLEU that they reach.

    weights: Shape: [columns].
    rest: weight of `Rest0`.
    bleu: corpus BLEU on the list, between 0 and 1.
    """

    weights: Vector
    rest: float
    bleu: float


@dataclass(frozen=True)
class MertConfig:
    """Settings of MERT.

    restarts: starting points besides the given one.
    directions: random directions per step; None for the number of columns.
    seed: of the random numbers.
    """

    restarts: int = 4
    directions: int | None = None
    seed: int = 1


def mert(
    tuning: TuningList,
    start: Vector,
    config: MertConfig,
    log_progress: ProgressLogger = lambda _: None,
) -> WeightPoint:
    """Return the best weights found, never worse than the start.

    :param start: Shape: [columns].
    :param log_progress: called with one line per starting point.
    """
    random = np.random.default_rng(config.seed)
    width = tuning.columns.width
    directions = width if config.directions is None else config.directions
    best = WeightPoint(start, 1.0, tuning.bleu(start))
    point = first = normalize_point(tuning, start)
    bar = ProgressBar("tune", "starting points", config.restarts + 1)
    for number in bar.run(range(config.restarts + 1)):
        if number:
            weights = _normalize(random.uniform(-1.0, 1.0, width))
            point = WeightPoint(weights, first.rest, tuning.bleu(weights, first.rest))
        end, steps = _hill_climb(tuning, point, directions, random)
        log_progress(
            f"start {number} of {config.restarts}: BLEU {100 * point.bleu:.2f} to"
            f" {100 * end.bleu:.2f} in {steps} steps"
        )
        end = normalize_point(tuning, end.weights, end.rest)
        if end.bleu > best.bleu or (number == 0 and end.bleu == best.bleu):
            best = end
    return best


def normalize_point(tuning: TuningList, weights: Vector, rest: float = 1.0) -> WeightPoint:
    """Divide weights, and that of `Rest0`, by the sum of the absolute weights unless it is 0."""
    norm = _norm(weights)
    weights, rest = round_weights(weights / norm), float(f"{rest / norm:.9g}")
    return WeightPoint(weights, rest, tuning.bleu(weights, rest))


def _hill_climb(
    tuning: TuningList, point: WeightPoint, directions: int, random: np.random.Generator
) -> tuple[WeightPoint, int]:
    """Step until no direction improves BLEU; return the last point and the number of steps."""
    steps = 0
    while True:
        drawn = [_normalize(random.normal(size=len(point.weights))) for _ in range(directions)]
        after = _best_step(tuning, point, np.vstack([np.eye(len(point.weights)), *drawn]))
        if after.bleu <= point.bleu:
            return point, steps
        point, steps = after, steps + 1


def _best_step(tuning: TuningList, point: WeightPoint, directions: Vector) -> WeightPoint:
    """Return the point of highest BLEU on the lines through `point` along the directions.

    :param directions: Shape: [directions, columns].
    """
    heights = tuning.scores(point.weights, point.rest)
    best, chosen = -1.0, point.weights
    for direction in directions:
        step, bleu = exact_line_search(
            tuning.features @ direction,
            heights,
            tuning.offsets,
            tuning.statistics,
            tuning.missing,
        )
        if bleu > best:
            best, chosen = bleu, point.weights + step * direction
    chosen = _normalize(chosen)
    return WeightPoint(chosen, point.rest, tuning.bleu(chosen, point.rest))


def _normalize(vector: Vector) -> Vector:
    """Divide by the sum of the absolute values unless it is 0."""
    return np.asarray(vector / _norm(vector), dtype=np.float64)


def _norm(vector: Vector) -> float:
    """Return the sum of the absolute values, or 1 if it is 0 or too small to divide by."""
    norm = float(np.abs(vector).sum())
    return norm if norm > 1 / MAX_NUMBER else 1.0
