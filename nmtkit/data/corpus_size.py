"""How much of a corpus a training uses: its pairs and tokens, without pairs that are too long."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmtkit.data.corpus import Corpus
from nmtkit.data.sampling import Segment

BLOCK_PAIRS = 1 << 20
"""Pairs whose lengths are in memory together."""


class CorpusSize(NamedTuple):
    """Size of the training data, or of an epoch.

    pairs: sentence pairs. src_tokens, tgt_tokens: their tokens, `</s>` counted.
    """

    pairs: float
    src_tokens: float
    tgt_tokens: float


def corpus_size(corpus: Corpus, max_length: int, segments: Sequence[Segment] = ()) -> CorpusSize:
    """Count the pairs that a training uses, as `Batches` does.

    :param max_length: tokens of the longest sentences that are used, without `</s>`.
    :param segments: pairs and weight of each corpus, for the size of an epoch; empty if each pair
        counts once.
    :raises DataError: the files of the corpus are damaged.
    """
    segments = segments or [(len(corpus), 1)]
    bounds = itertools.accumulate((pairs for pairs, _ in segments), initial=0)
    totals = np.zeros(3)
    for (_, weight), (start, stop) in zip(segments, itertools.pairwise(bounds), strict=True):
        totals += weight * _sums(corpus, max_length, start, min(stop, len(corpus)))
    return CorpusSize(*totals.tolist())


def _sums(corpus: Corpus, max_length: int, start: int, stop: int) -> npt.NDArray[np.float64]:
    """Return pairs, source tokens and target tokens from one pair to another."""
    sums = np.zeros(3)
    for first in range(start, stop, BLOCK_PAIRS):
        pairs = np.arange(first, min(first + BLOCK_PAIRS, stop))
        src, tgt = corpus.src.lengths(pairs), corpus.tgt.lengths(pairs)
        used = np.maximum(src, tgt) <= max_length + 1
        sums += used.sum(), src[used].sum(), tgt[used].sum()
    return sums
