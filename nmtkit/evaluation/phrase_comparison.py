"""Phrase pairs scored twice: by a translation model's table and by a neural model.

Cho et al. 2014, section 4.3, puts log p(target phrase | source phrase) of both side by side: over
many pairs (figure 3), and by the targets that each prefers for a source phrase (table 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """One phrase pair.

    src, tgt: the phrases, words with blanks between them.
    table, model: log p(tgt | src) of the translation model and of the neural one; natural
        logarithms, 0 or less. `model` is NaN until it is known.
    """

    src: str
    tgt: str
    table: float
    model: float


@dataclass(frozen=True)
class Sample:
    """A target phrase that was drawn from the model.

    text: its words. score: its log-probability, natural log. times: how often it was drawn.
    in_table: whether the phrase table has it for that source phrase.
    """

    text: str
    score: float
    times: int
    in_table: bool


@dataclass(frozen=True)
class ComparedPhrase:
    """What both say of one source phrase.

    src: its words. count: how often it was extracted from the training corpus.
    pairs: its targets, in the table's order.
    samples: different targets that were drawn from the model, the likeliest first.
    unfinished: samples that met the longest length before `</s>`, which are not among these.
    """

    src: str
    count: float
    pairs: Sequence[ScoredPair]
    samples: Sequence[Sample] = ()
    unfinished: int = 0

    def best_of_table(self, top: int) -> list[ScoredPair]:
        """The targets that the translation model finds likeliest; equals in the table's order."""
        return sorted(self.pairs, key=lambda pair: -pair.table)[:top]

    def best_of_model(self, top: int) -> list[ScoredPair]:
        """The targets of the table that the model finds likeliest; equals in the table's order."""
        return sorted(self.pairs, key=lambda pair: -pair.model)[:top]


@dataclass(frozen=True)
class Comparison:
    """A phrase table and a model, side by side.

    total: pairs in the table. drawn: some of them, drawn at random.
    eligible: source phrases that might have been chosen.
    frequent, rare: those that were, the most frequent first.
    """

    total: int
    drawn: Sequence[ScoredPair]
    eligible: int
    frequent: Sequence[ComparedPhrase]
    rare: Sequence[ComparedPhrase]

    def correlations(self) -> tuple[float | None, float | None]:
        """Pearson's and Spearman's coefficient of the two scores of the drawn pairs; see below."""
        table = np.array([pair.table for pair in self.drawn])
        model = np.array([pair.model for pair in self.drawn])
        return correlation(table, model), correlation(ranks(table), ranks(model))

    @property
    def certain(self) -> int:
        """Drawn pairs whose target the translation model takes for certain (p = 1)."""
        return sum(pair.table == 0 for pair in self.drawn)

    def sentence(self) -> str:
        """The summary in words."""
        pearson, spearman = self.correlations()
        if pearson is None or spearman is None:
            told = "not defined: there are too few, or all are alike"
        else:
            told = f"Pearson {pearson:.3f}, Spearman {spearman:.3f}"
        return (
            f"{len(self.drawn):,} of {self.total:,} phrase pairs drawn; correlation of the"
            f" translation model's scores and the model's: {told}"
        )


def correlation(xs: NDArray[np.float64], ys: NDArray[np.float64]) -> float | None:
    """Pearson's coefficient, from -1 to 1; of ranks it is Spearman's.

    :return: None where there is nothing to correlate: fewer than two values, or all equal.
    """
    if len(xs) < 2 or np.ptp(xs) == 0 or np.ptp(ys) == 0:
        return None
    return float(np.corrcoef(xs, ys)[0, 1])


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The place of each value in rising order, from 1; equal values share their mean place."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    means = np.cumsum(sizes) - (sizes - 1) / 2
    shared: NDArray[np.float64] = means[group]
    return shared
