"""The score at which a ranking is cut off, found in constant memory.

The ranking is a file of records in the order of the corpus, too long to sort. Scores are counted by
their leading 16 bits, then within the bin of the cutoff by the next 16, and so on: four passes
find the pair at which the limit is reached. Of pairs with the same score, the earlier is better.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError

Records = NDArray[np.void]
"""Array of type `cross_entropy.RECORD`, in memory or mapped from a file."""

RECORDS_PER_BLOCK = 1 << 20
"""Number of records that are read together."""

SMALLEST_SUBSET_DIVISOR = 4
"""The smallest subset that is tried has the domain's words divided by this number."""

_BINS = 1 << 16
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class Cutoff:
    """A position in the ranking; the pairs before it are selected.

    score: pairs with a lower score are selected.
    until: of the pairs with exactly this score, those with a number below `until` (from 0) are
        selected.
    """

    score: float
    until: int

    def selects(self, records: Records, first: int) -> NDArray[np.bool_]:
        """Return a mask of the selected pairs among consecutive records.

        :param first: number of the first record, from 0.
        """
        scores = records["score"]
        numbers = np.arange(first, first + len(scores))
        selected: NDArray[np.bool_] = (scores < self.score) | (
            (scores == self.score) & (numbers < self.until)
        )
        return selected


SELECT_ALL = Cutoff(np.inf, 0)
"""Cutoff that selects every pair with a finite score."""


@dataclass(frozen=True)
class Subset:
    """A subset of the best pairs of the pool, on which a language model was trained.

    words, pairs: size of the subset.
    perplexity: perplexity of the dev set per token under a model of the subset.
    """

    words: int
    pairs: int
    perplexity: float


def find_cutoff(records: Records, limit: int, unit: Literal["pairs", "words"]) -> Cutoff:
    """Find the cutoff that selects as many of the best pairs as the limit allows.

    :param limit: maximum number of pairs, or of their words together.
    """
    prefix, below = 0, 0
    for digit in range(4):
        counts = np.zeros(_BINS)
        for _, keys, weights in _weighted_keys(records, unit):
            in_bin = keys >> np.uint64(64 - 16 * digit) == prefix if digit else slice(None)
            digits = keys[in_bin] >> np.uint64(48 - 16 * digit) & np.uint64(_BINS - 1)
            counts += np.bincount(digits.astype(np.int64), weights[in_bin], _BINS)
        sums = below + np.cumsum(counts)
        index = int(np.searchsorted(sums, limit, side="right"))
        if index == _BINS:
            return SELECT_ALL
        below = int(sums[index - 1]) if index else below
        prefix = prefix << 16 | index
    return _cutoff_among_equals(records, limit - below, unit, np.uint64(prefix))


def _cutoff_among_equals(
    records: Records, limit: int, unit: Literal["pairs", "words"], key: np.uint64
) -> Cutoff:
    """Return the cutoff among pairs with the same score, which exceed the limit together.

    :param limit: number of these pairs, or of their words, that may still be selected.
    """
    used = 0
    for first, keys, weights in _weighted_keys(records, unit):
        equal = np.flatnonzero(keys == key)
        sums = used + np.cumsum(weights[equal])
        over = np.flatnonzero(sums > limit)
        if len(over):
            return Cutoff(float(_score(key)), first + int(equal[over[0]]))
        used = int(sums[-1]) if len(sums) else used
    raise AssertionError("all pairs with the score of the cutoff are within the limit")


def selected(records: Records, cutoff: Cutoff) -> NDArray[np.bool_]:
    """Return a mask of the pairs that the cutoff selects."""
    return np.concatenate([cutoff.selects(block, first) for first, block in record_blocks(records)])


def count_selected(records: Records, cutoff: Cutoff) -> tuple[int, int]:
    """Return the numbers of selected pairs and of their words.

    :raises DataError: no pair is selected.
    """
    pairs = words = 0
    for first, block in record_blocks(records):
        mask = cutoff.selects(block, first)
        pairs += int(mask.sum())
        words += int(block["words"][mask].sum(dtype=np.int64))
    if not pairs:
        raise DataError(
            "no pair is selected: no pair of the pool has words on both sides, or the best pair has"
            " more words than requested"
        )
    return pairs, words


def subset_sizes(domain_words: int, max_words: int) -> list[int]:
    """Return the sizes to try: from a quarter of the domain's words, doubled, to the maximum."""
    sizes = [max(domain_words // SMALLEST_SUBSET_DIVISOR, 1)]
    while sizes[-1] < max_words:
        sizes.append(2 * sizes[-1])
    return [*sizes[:-1], max_words]


def record_blocks(records: Records) -> Iterator[tuple[int, Records]]:
    """Yield the ranking in blocks, each with the number of its first record."""
    for first in range(0, len(records), RECORDS_PER_BLOCK):
        yield first, records[first : first + RECORDS_PER_BLOCK]


def _weighted_keys(
    records: Records, unit: Literal["pairs", "words"]
) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.float64]]]:
    """Yield for each block the number of its first record, the sort keys and the weights.

    The weight is 1, or the number of words; it is 0 for pairs that are never selected.
    """
    for first, block in record_blocks(records):
        finite = np.isfinite(block["score"])
        weights = block["words"] * finite if unit == "words" else finite
        yield first, _keys(block["score"]), weights.astype(np.float64)


def _keys(scores: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return integers that sort like the scores: their bits, inverted if negative."""
    bits = np.ascontiguousarray(scores).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _score(key: np.uint64) -> np.float64:
    """Return the score of a key, the inverse of `_keys`."""
    bits = key ^ _SIGN if key & _SIGN else ~key
    return bits.view(np.float64)
