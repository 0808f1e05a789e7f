"""Comparison of a phrase table's scores with those of a neural model.

Cho et al. 2014, section 4.3, compares log p(target phrase | source phrase) of both models: over
many pairs (figure 3), and by the targets that each prefers for a source phrase (table 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A phrase pair with two scores.

    src, tgt: the phrases, words with blanks between them.
    table, model: log p(tgt | src) by the phrase table and by the neural model; natural logarithm,
        at most 0. `model` is NaN until it is computed.
    """

    src: str
    tgt: str
    table: float
    model: float


@dataclass(frozen=True)
class Sample:
    """A target phrase sampled from the neural model.

    text: its words. score: its log-probability, natural log. times: how often it was sampled.
    in_table: True if the phrase table has it for the source phrase.
    """

    text: str
    score: float
    times: int
    in_table: bool


@dataclass(frozen=True)
class ComparedPhrase:
    """A source phrase with its targets by both models.

    src: its words. count: how often it was extracted from the training corpus.
    pairs: its targets, in the table's order.
    samples: distinct targets sampled from the neural model, most probable first.
    unfinished: number of samples that reached the maximum length before `</s>` and are left out.
    """

    src: str
    count: float
    pairs: Sequence[ScoredPair]
    samples: Sequence[Sample] = ()
    unfinished: int = 0

    def best_of_table(self, top: int) -> list[ScoredPair]:
        """Return the targets with the highest table scores; equals keep the table's order."""
        return sorted(self.pairs, key=lambda pair: -pair.table)[:top]

    def best_of_model(self, top: int) -> list[ScoredPair]:
        """Return the targets with the highest model scores; equals keep the table's order."""
        return sorted(self.pairs, key=lambda pair: -pair.model)[:top]


@dataclass(frozen=True)
class PhraseComparison:
    """Comparison of a phrase table and a neural model.

    total: number of pairs in the table. drawn: a random sample of them.
    eligible: number of source phrases from which `frequent` and `rare` were drawn.
    frequent, rare: source phrases, the most frequent first.
    """

    total: int
    drawn: Sequence[ScoredPair]
    eligible: int
    frequent: Sequence[ComparedPhrase]
    rare: Sequence[ComparedPhrase]

    def correlations(self) -> tuple[float | None, float | None]:
        """Compute Pearson's and Spearman's coefficient of the two scores of the drawn pairs."""
        table = np.array([pair.table for pair in self.drawn])
        model = np.array([pair.model for pair in self.drawn])
        return correlation(table, model), correlation(ranks(table), ranks(model))

    @property
    def certain(self) -> int:
        """Number of drawn pairs with table probability 1."""
        return sum(pair.table == 0 for pair in self.drawn)

    def sentence(self) -> str:
        """Return a one-line summary."""
        pearson, spearman = self.correlations()
        if pearson is None or spearman is None:
            coefficients = "undefined (too few or equal scores)"
        else:
            coefficients = f"Pearson {pearson:.3f}, Spearman {spearman:.3f}"
        return (
            f"{len(self.drawn):,} of {self.total:,} phrase pairs drawn; correlation of the"
            f" translation model's scores and the model's: {coefficients}"
        )


def correlation(xs: NDArray[np.float64], ys: NDArray[np.float64]) -> float | None:
    """Compute Pearson's coefficient, from -1 to 1; for ranks it is Spearman's.

    :return: None if it is undefined: fewer than two values, or all equal.
    """
    if len(xs) < 2 or np.ptp(xs) == 0 or np.ptp(ys) == 0:
        return None
    return float(np.corrcoef(xs, ys)[0, 1])


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value in rising order, from 1; equal values share their mean rank."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    means = np.cumsum(sizes) - (sizes - 1) / 2
    shared: NDArray[np.float64] = means[group]
    return shared
