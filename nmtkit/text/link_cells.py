"""Soft links between the words of many sentence pairs, and the tables that follow from them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float32]


class PriorLinks(NamedTuple):
    """A sentence pair, and the links that are expected before any translation is known.

    src, tgt: word ids. Shapes: [T_x], [T_y]. prior: weight of each link, above 0, not normalised.
    Shape: [T_y, T_x].
    """

    src: Ids
    tgt: Ids
    prior: Weights


@dataclass(frozen=True)
class LinkCells:
    """All pairs of positions of all sentence pairs, row by row.

    keys: sorted, one for each pair of words that was met: source id * tgt_words + target id.
    words: index of each cell's key. prior: weight of each cell. rows: first cell of each target
    word. tgt_words: size of the target vocabulary.
    """

    keys: Ids
    words: npt.NDArray[np.intp]
    prior: Weights
    rows: Ids
    tgt_words: int

    @classmethod
    def of(cls, pairs: Iterable[PriorLinks], tgt_words: int) -> "LinkCells":
        """Join sentence pairs."""
        keys, prior = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        lengths = [np.empty(0, np.int64)]
        for pair in pairs:
            keys.append((pair.src * tgt_words + pair.tgt[:, None]).ravel())
            prior.append(pair.prior.ravel())
            lengths.append(np.full(len(pair.tgt), len(pair.src)))
        unique, words = np.unique(np.concatenate(keys), return_inverse=True)
        rows = np.cumsum(np.concatenate([[0], *lengths]))[:-1]
        return cls(unique, words, np.concatenate(prior), rows, tgt_words)

    @property
    def sources(self) -> Ids:
        """Source id of each key."""
        return self.keys // self.tgt_words

    @property
    def targets(self) -> Ids:
        """Target id of each key."""
        return self.keys % self.tgt_words

    def weights(self, strengths: npt.NDArray[np.floating]) -> Weights:
        """Return the prior times the strength of the words, so that each target word has 1.

        :param strengths: of each key, above 0.
        """
        weights = self.prior * strengths.astype(np.float32)[self.words]
        sums = np.add.reduceat(weights, self.rows) if len(self.rows) else np.empty(0, np.float32)
        lengths = np.diff(self.rows, append=len(weights))
        normalized: Weights = weights / np.repeat(sums, lengths)
        return normalized

    def counts(self, weights: Weights) -> npt.NDArray[np.float64]:
        """Return the sum of the weights of each key."""
        return np.bincount(self.words, weights, len(self.keys)).astype(np.float64, copy=False)


def shares(counts: npt.NDArray[np.float64], words: Ids) -> npt.NDArray[np.float64]:
    """Return each count as a share of all counts of the same word. Shape of all: [keys]."""
    totals = np.maximum(np.bincount(words, counts), np.finfo(float).tiny)
    result: npt.NDArray[np.float64] = counts / totals[words]
    return result
