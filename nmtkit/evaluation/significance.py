"""How far a figure may be trusted: bootstrap intervals, and p-values of paired differences.

Koehn 2004, with the choices of sacreBLEU's `significance.py`, so that the numbers are its own: the
same samples for the same seed, the 2.5 % of the samples on either side left out, and a p-value

    p = (1 + #{s: |d_s| - mean|d| > |d|}) / (1 + samples)

where d is the difference of two systems on the test set and d_s on sample s.

Departures and readings: two systems that are equal on every sample have p = 1; sacreBLEU gives
1 / (1 + samples), as if they surely differed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SAMPLES, SEED = 1000, 12345
"""SacreBLEU's: samples where systems are compared, and what decides them."""


@dataclass(frozen=True)
class Interval:
    """Where 95 % of the bootstrap samples lie.

    mean: of all samples; sacreBLEU writes `mean ± margin`.
    low, high: ends, in the unit of the figure.
    """

    mean: float
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Half of the interval's width: sacreBLEU's ±."""
        return (self.high - self.low) / 2


def sample_sums(
    numbers: NDArray[np.float64], samples: int, seed: int = SEED
) -> NDArray[np.float64]:
    """Draw as many sentences as there are, with replacement, again and again, and add them.

    :param numbers: what is counted of each sentence. Shape: [sentences, numbers].
    :param samples: how often.
    :return: the sums. Shape: [samples, numbers].
    """
    generator = np.random.default_rng(seed)
    sentences = len(numbers)
    sums = np.empty((samples, numbers.shape[1]))
    for row in sums:  # one by one: the drawn sentences of all samples may need gigabytes
        drawn = generator.integers(0, sentences, size=sentences)
        row[:] = np.bincount(drawn, minlength=sentences) @ numbers
    return sums


def interval(figures: NDArray[np.float64]) -> Interval:
    """The interval of a figure from its value on each sample. Shape: [samples]."""
    ordered = np.sort(figures)
    outside = len(ordered) // 40  # 2.5 % on either side
    low, high = ordered[outside], ordered[len(ordered) - outside - 1]
    return Interval(float(ordered.mean()), float(low), float(high))


def p_value(first: NDArray[np.float64], second: NDArray[np.float64], difference: float) -> float:
    """How probable so large a difference is where two systems are equally good.

    :param first: figures of one system on each sample. Shape: [samples].
    :param second: figures of the other on the same samples.
    :param difference: of the two on the whole test set.
    """
    differences = np.abs(second - first)
    if not differences.any() and difference == 0:
        return 1.0
    larger = np.count_nonzero(differences - differences.mean() > abs(difference))
    return float((larger + 1) / (len(differences) + 1))
