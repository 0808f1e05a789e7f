"""Short sentences first: a curriculum by length.

Competence-based curriculum learning (Platanios et al. 2019, eq. (8)): after t of T updates, batches
whose sentences are on average among the shortest share

    c(t) = min(1, sqrt(t (1 - c_0^2) / T + c_0^2))

of the corpus are used, and longer ones are skipped.
"""

import math

import numpy as np
import numpy.typing as npt

from nmtkit.data.corpus import Corpus

FIRST_COMPETENCE = 0.1
"""c_0."""

SAMPLE = 10_000
"""Pairs by whose lengths the shares are known."""


class LengthCurriculum:
    """Says which batches may be used after a number of updates."""

    def __init__(self, lengths: npt.NDArray[np.int64], updates: int) -> None:
        """Take lengths of target sentences of the corpus.

        :param updates: T, after which every batch may be used.
        """
        self._lengths = np.sort(lengths)
        self._updates = updates

    @classmethod
    def of(cls, corpus: Corpus, updates: int) -> "LengthCurriculum":
        """Take the lengths of some pairs of a corpus, evenly spread."""
        count = min(len(corpus), SAMPLE)
        return cls(corpus.tgt.lengths(np.linspace(0, len(corpus) - 1, count).astype(int)), updates)

    def competence(self, updates: int) -> float:
        """Return c(t), the share of the corpus that may be used."""
        if updates >= self._updates:
            return 1.0
        start = FIRST_COMPETENCE**2
        return math.sqrt(updates * (1 - start) / self._updates + start)

    def allows(self, mean_length: float, updates: int) -> bool:
        """Return whether a batch with this mean length may be used."""
        competence = self.competence(updates)
        if competence == 1:
            return True
        return bool(mean_length <= self._lengths[math.ceil(competence * len(self._lengths)) - 1])
