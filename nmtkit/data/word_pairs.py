"""How strongly source and target words belong together, estimated from a prepared corpus.

The expectation-maximisation algorithm of Brown et al. 1993 (model 1), with the preference for the
diagonal of Dyer et al. 2013, and with the agreement of both directions that Liang et al. 2006 show
to matter most: links of target word i are

    w_ij = d_ij g(x_j, y_i) / sum_j' d_ij' g(x_j', y_i),   g(x, y) = t(y | x) t(x | y)

where t(y | x) is the share of y among all weights of x, and t(x | y) that of x among those of y,
from the round before. `</s>` of the source takes the words that nothing translates.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmtkit.data.corpus import Corpus, Ids
from nmtkit.text.pair_cells import PairCells, TokenPair, Weights, diagonal_logs, shares
from nmtkit.text.term_words import TermWords

ROUNDS = 4
"""Rounds of estimation."""

MAX_CELLS = 6_000_000
"""Pairs of positions to learn from: two seconds of one core."""

MAX_PAIRS = 200_000
"""Sentence pairs to learn from."""

MAX_LENGTH = 100
"""Pairs with a longer side are left out."""

UNTRANSLATED = 0.02
"""Prior of `</s>` of the source for words; links on the diagonal have 1."""

END_TO_WORD = 1e-6
"""Prior of a source word for `</s>` of the target."""

MIN_STRENGTH = 1e-6
"""g of the weakest pairs that are kept."""

TERM_STRENGTH = 10.0
"""g of a target word and the source word that stands for it: more than that of other words."""

SMALLEST = 1e-20
"""Lower bound of g while it is estimated, far above the smallest number of float32."""


class WordPairs(NamedTuple):
    """A sparse table of word pairs.

    keys: source id * tgt_words + target id, ascending. strengths: g(x, y). Shape of both:
    [entries]. tgt_words: size of the target vocabulary.
    """

    keys: Ids
    strengths: npt.NDArray[np.float32]
    tgt_words: int

    @classmethod
    def estimate(cls, corpus: Corpus, tgt_words: int, max_cells: int = MAX_CELLS) -> "WordPairs":
        """Learn from a corpus, or from a random part of a large one, always the same.

        :param tgt_words: size of the target vocabulary.
        :param max_cells: pairs of positions to learn from.
        :raises DataError: the files are damaged.
        """
        cells = PairCells.of(_token_pairs(corpus, max_cells), tgt_words)
        sources, targets = np.divmod(cells.keys, tgt_words)
        strengths = np.ones(len(cells.keys))
        for _ in range(ROUNDS):
            known = cells.forward * strengths.astype(np.float32)[cells.words]
            weights = cells.shares_of_targets(known)
            sums = np.bincount(cells.words, weights, len(cells.keys))
            counts = sums.astype(np.float64, copy=False)
            strengths = shares(counts, sources) * shares(counts, targets)
            strengths = np.maximum(strengths, SMALLEST)
        kept = strengths > MIN_STRENGTH
        return cls(cells.keys[kept], strengths[kept].astype(np.float32), tgt_words)

    def with_term_words(self, words: TermWords) -> "WordPairs":
        """Add that each target word belongs together with the source word that stands for it.

        :param words: they have the last ids of the source vocabulary.
        """
        targets = np.arange(self.tgt_words)
        keys = (words.first + targets) * self.tgt_words + targets
        strengths = np.full(self.tgt_words, TERM_STRENGTH, np.float32)
        return WordPairs(
            np.concatenate([self.keys, keys]),
            np.concatenate([self.strengths, strengths]),
            self.tgt_words,
        )


def _token_pairs(corpus: Corpus, max_cells: int) -> Iterator[TokenPair]:
    """Yield pairs in random order until they have so many pairs of positions."""
    cells, count = 0, min(len(corpus), MAX_PAIRS)
    for number in np.random.default_rng(0).choice(len(corpus), count, replace=False).tolist():
        src, tgt = corpus.src[number], corpus.tgt[number]
        if max(len(src), len(tgt)) <= MAX_LENGTH:
            known = prior(len(src), len(tgt))
            yield TokenPair(src, tgt, known, known)
            cells += len(src) * len(tgt)
        if cells >= max_cells:
            return


def prior(src_length: int, tgt_length: int) -> Weights:
    """Return d_ij; both sentences end with `</s>`. Shape: [T_y, T_x]."""
    diagonal = np.exp(diagonal_logs(tgt_length, src_length)).astype(np.float32)
    diagonal[:-1, -1] = UNTRANSLATED
    diagonal[-1, :-1] = END_TO_WORD
    return diagonal
