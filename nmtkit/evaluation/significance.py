"""Significance of figures: bootstrap intervals, and p-values of paired differences.

Koehn 2004, with the choices of sacreBLEU's `significance.py`, so that the results equal its
own: the same samples for the same seed, 2.5 % of the samples cut off at either end, and a p-value

    p = (1 + #{s: |d_s| - mean|d| > |d|}) / (1 + samples)

where d is the difference of two systems on the test set and d_s the difference on sample s.

Departures and readings: two systems that are equal on every sample have p = 1. SacreBLEU gives
1 / (1 + samples), as if they differed significantly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmtkit.progress_bar import ProgressBar

SAMPLES, SEED = 1000, 12345
"""SacreBLEU's defaults: number of samples for comparing systems, and their seed."""


@dataclass(frozen=True)
class Interval:
    """95 % confidence interval of a figure.

    mean: mean over all samples; sacreBLEU writes `mean ± margin`.
    low, high: ends of the interval, in the unit of the figure.
    """

    mean: float
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Half the width of the interval: sacreBLEU's ±."""
        return (self.high - self.low) / 2


def sample_sums(
    statistics: NDArray[np.float64], samples: int, seed: int = SEED
) -> NDArray[np.float64]:
    """Draw bootstrap samples of a test set, and sum the statistics of each.

    A sample has as many sentences as the test set, drawn with replacement.

    :param statistics: sufficient statistics. Shape: [sentences, statistics].
    :param samples: number of samples.
    :return: sums. Shape: [samples, statistics].
    """
    generator = np.random.default_rng(seed)
    sentences = len(statistics)
    sums = np.empty((samples, statistics.shape[1]))
    bar = ProgressBar("bootstrap", "samples", samples)
    for row in bar.run(sums):  # one at a time: all samples together can need gigabytes
        drawn = generator.integers(0, sentences, size=sentences)
        row[:] = np.bincount(drawn, minlength=sentences) @ statistics
    return sums


def interval(figures: NDArray[np.float64]) -> Interval:
    """Compute the interval of a figure from its value on each sample.

    :param figures: Shape: [samples].
    """
    ordered = np.sort(figures)
    outside = len(ordered) // 40  # 2.5 % on either side
    low, high = ordered[outside], ordered[len(ordered) - outside - 1]
    return Interval(float(ordered.mean()), float(low), float(high))


def p_value(first: NDArray[np.float64], second: NDArray[np.float64], difference: float) -> float:
    """Compute the probability of such a difference between two equally good systems.

    :param first: figures of one system on each sample. Shape: [samples].
    :param second: figures of the other system on the same samples. Shape: [samples].
    :param difference: of the two systems on the whole test set.
    """
    differences = np.abs(second - first)
    if not differences.any() and difference == 0:
        return 1.0
    larger = np.count_nonzero(differences - differences.mean() > abs(difference))
    return float((larger + 1) / (len(differences) + 1))
