"""Batch MIRA on an n-best list: many small steps instead of a search (Cherry & Foster 2012).

Sentence by sentence, in an order drawn anew for each epoch: of the
list's hypotheses hope h+ has the highest w · h + B(h), and fear h- the highest w · h - B(h), where
B is what a hypothesis gains in BLEU. Where fear is not as far below hope as it is worse,

    w += min(C, (B(h+) - B(h-) - w · (h+ - h-)) / |h+ - h-|^2) (h+ - h-)

Of each epoch the mean of the weights after all sentences so far is tried on the whole list; the
mean with the best corpus BLEU is the result.

Departures and readings

- B(h) is the BLEU of a background with h added, times the words of the reference with those of the
  background (Chiang et al. 2008), so that it is of the size of a sentence and not of a corpus. The
  background decays, and after each sentence its hope is added. It begins with one of everything.
- `Rest0`, which no weight changes, counts in w · h with weight 1.
- The starting point is tried, too: the result is never worse on the list.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from nmtkit.evaluation.bleu_statistics import (
    REFERENCE_LENGTH,
    STATISTICS_PER_SENTENCE,
    Numbers,
    bleu,
)
from nmtkit.smt.feature_matrix import Vector, shortened
from nmtkit.smt.mert import Point
from nmtkit.smt.tuning_list import TuningList

Told = Callable[[str], None]


@dataclass(frozen=True)
class MiraConfig:
    """How far and how long it steps.

    epochs: passes over the list.
    c: the longest step.
    decay: what the background keeps of itself from sentence to sentence.
    seed: of the order of the sentences.
    """

    epochs: int = 60
    c: float = 0.01
    decay: float = 0.999
    seed: int = 1


def mira(
    tuning: TuningList, start: Vector, config: MiraConfig, told: Told = lambda _: None
) -> Point:
    """The best mean of an epoch.

    :param start: where to begin. Shape: [columns].
    :param told: is given a sentence whenever there is something better.
    :return: never worse than the start.
    """
    best = Point(start, 1.0, tuning.bleu(start))
    for epoch, mean in enumerate(means(tuning, start, config), start=1):
        point = Point(shortened(mean), 1.0, tuning.bleu(shortened(mean)))
        if point.bleu > best.bleu:
            best = point
            told(f"epoch {epoch} of {config.epochs}: BLEU {100 * best.bleu:.2f}")
    return best


def means(tuning: TuningList, start: Vector, config: MiraConfig) -> Iterator[Vector]:
    """After each epoch the mean of the weights after all sentences so far. Shape: [columns]."""
    random = np.random.default_rng(config.seed)
    weights, total, steps = start, np.zeros_like(start), 0
    background = np.ones(STATISTICS_PER_SENTENCE)
    for _ in range(config.epochs):
        for sentence in random.permutation(len(tuning.offsets) - 1):
            lines = slice(tuning.offsets[sentence], tuning.offsets[sentence + 1])
            features, statistics = tuning.features[lines], tuning.statistics[lines]
            scores = features @ weights + tuning.rest[lines]
            gains = bleu_gains(statistics, background)
            hope, fear = int(np.argmax(scores + gains)), int(np.argmax(scores - gains))
            weights = weights + step(
                features[hope] - features[fear],
                float(gains[hope] - gains[fear]),
                float(scores[hope] - scores[fear]),
                config.c,
            )
            background = config.decay * background + statistics[hope]
            total, steps = total + weights, steps + 1
        yield total / steps


def bleu_gains(statistics: Numbers, background: Numbers) -> Vector:
    """What each hypothesis makes of the background's BLEU, in words of the reference.

    :param statistics: Shape: [hypotheses, 9].
    :param background: Shape: [9].
    :return: Shape: [hypotheses].
    """
    sums = statistics + background
    return np.asarray(bleu(sums) * sums[:, REFERENCE_LENGTH], dtype=np.float64)


def step(difference: Vector, gain: float, margin: float, c: float) -> Vector:
    """How the weights change for a pair of hope and fear.

    :param difference: h+ - h-. Shape: [columns].
    :param gain: B(h+) - B(h-).
    :param margin: how far w sets hope above fear already.
    """
    violation = gain - margin
    square = float(difference @ difference)
    if violation <= 0 or square == 0:
        return np.zeros_like(difference)
    return np.asarray(min(c, violation / square) * difference, dtype=np.float64)
