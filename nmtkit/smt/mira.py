"""Batch MIRA on an n-best list: many small updates instead of a search (Cherry & Foster 2012).

Each epoch visits the sentences in a random order. Among the hypotheses of a sentence, hope h+ has
the highest w · h + B(h) and fear h- the highest w · h - B(h), where B(h) is the BLEU gain of a
hypothesis. If the margin between hope and fear is smaller than their difference in B,

    w += min(C, (B(h+) - B(h-) - w · (h+ - h-)) / |h+ - h-|^2) (h+ - h-)

After each epoch the average of the weights after all sentences so far is evaluated on the whole
list. The average with the best corpus BLEU is the result.

Departures and readings

- B(h) is the BLEU of a background corpus with h added, times the reference length of both (Chiang
  et al. 2008), so that it has the scale of a sentence and not of a corpus. The background decays,
  and each sentence's hope is added to it. It starts with 1 in every statistic.
- `Rest0`, which is not tuned, has weight 1 in w · h.
- The starting point is evaluated, too, so the result is never worse on the list.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nmtkit.evaluation.bleu_statistics import (
    REFERENCE_LENGTH,
    STATISTICS_PER_SENTENCE,
    Numbers,
    bleu,
)
from nmtkit.progress_bar import ProgressBar
from nmtkit.smt.feature_matrix import Vector, round_weights
from nmtkit.smt.mert import ProgressLogger, WeightPoint
from nmtkit.smt.tuning_list import TuningList


@dataclass(frozen=True)
class MiraConfig:
    """Settings of MIRA.

    epochs: passes over the list.
    c: maximum step size.
    decay: factor of the background after each sentence.
    seed: of the order of the sentences.
    """

    epochs: int = 60
    c: float = 0.01
    decay: float = 0.999
    seed: int = 1


def mira(
    tuning: TuningList,
    start: Vector,
    config: MiraConfig,
    log_progress: ProgressLogger = lambda _: None,
) -> WeightPoint:
    """Return the best average of an epoch, never worse than the start.

    :param start: Shape: [columns].
    :param log_progress: called with one line per improvement.
    """
    best = WeightPoint(start, 1.0, tuning.bleu(start))
    bar = ProgressBar("tune", "epochs", config.epochs)
    for epoch, average in enumerate(bar.run(epoch_averages(tuning, start, config)), start=1):
        weights = round_weights(average)
        point = WeightPoint(weights, 1.0, tuning.bleu(weights))
        if point.bleu > best.bleu:
            best = point
            log_progress(f"epoch {epoch} of {config.epochs}: BLEU {100 * best.bleu:.2f}")
    return best


def epoch_averages(tuning: TuningList, start: Vector, config: MiraConfig) -> Iterator[Vector]:
    """Yield after each epoch the average of all weights so far. Shape: [columns]."""
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
            weights = weights + mira_update(
                features[hope] - features[fear],
                float(gains[hope] - gains[fear]),
                float(scores[hope] - scores[fear]),
                config.c,
            )
            background = config.decay * background + statistics[hope]
            total, steps = total + weights, steps + 1
        yield total / steps


def bleu_gains(statistics: Numbers, background: Numbers) -> Vector:
    """Compute B(h): BLEU of the background with each hypothesis, times the reference length.

    :param statistics: Shape: [hypotheses, 9].
    :param background: Shape: [9].
    :return: Shape: [hypotheses].
    """
    sums = statistics + background
    return np.asarray(bleu(sums) * sums[:, REFERENCE_LENGTH], dtype=np.float64)


def mira_update(difference: Vector, gain: float, margin: float, c: float) -> Vector:
    """Compute the change of the weights for a pair of hope and fear. Shape: [columns].

    :param difference: h+ - h-. Shape: [columns].
    :param gain: B(h+) - B(h-).
    :param margin: w · (h+ - h-).
    :param c: maximum step size.
    """
    violation = gain - margin
    square = float(difference @ difference)
    if violation <= 0 or square == 0:
        return np.zeros_like(difference)
    return np.asarray(min(c, violation / square) * difference, dtype=np.float64)
