"""The best pairs of a ranking that is too long to sort: where to cut it, in memory of a fixed size.

The ranking is a file of records in the order of the corpus. Scores are counted by their leading 16
bits, then within the place of the cut by the next 16, and so on: four readings find the very pair
at which the limit is reached. Of pairs with the same score the earlier are the better.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Records = NDArray[np.void]
"""Of type `selection.RECORD`; in a file that is mapped into memory, or in memory."""

CHUNK = 1 << 20
"""Records looked at together."""

_DIGITS = 1 << 16
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class Cut:
    """Which pairs are taken: those with a lower score, and of those with this very score the ones
    that come before pair number `until`, counted from 0."""

    score: float
    until: int

    def takes(self, records: Records, first: int) -> NDArray[np.bool_]:
        """Whether each of some pairs is taken.

        :param first: the number of the first of them.
        """
        scores = records["score"]
        numbers = np.arange(first, first + len(scores))
        taken: NDArray[np.bool_] = (scores < self.score) | (
            (scores == self.score) & (numbers < self.until)
        )
        return taken


ALL = Cut(np.inf, 0)
"""Takes every pair that can be taken."""


def best(records: Records, limit: int, of: Literal["pairs", "words"]) -> Cut:
    """As many of the best pairs as the limit has room for: the next one would be too much.

    :param limit: how many pairs, or how many words they have together.
    """
    found, below = 0, 0
    for digit in range(4):
        counts = np.zeros(_DIGITS)
        for _, keys, weights in _weighed(records, of):
            here = keys >> np.uint64(64 - 16 * digit) == found if digit else slice(None)
            digits = keys[here] >> np.uint64(48 - 16 * digit) & np.uint64(_DIGITS - 1)
            counts += np.bincount(digits.astype(np.int64), weights[here], _DIGITS)
        sums = below + np.cumsum(counts)
        place = int(np.searchsorted(sums, limit, side="right"))
        if place == _DIGITS:
            return ALL
        below = int(sums[place - 1]) if place else below
        found = found << 16 | place
    return _cut_among_equals(records, limit - below, of, np.uint64(found))


def _cut_among_equals(
    records: Records, room: int, of: Literal["pairs", "words"], key: np.uint64
) -> Cut:
    """The cut at a score whose pairs do not all have room.

    :param room: what is left of the limit.
    """
    used = 0
    for first, keys, weights in _weighed(records, of):
        equal = np.flatnonzero(keys == key)
        sums = used + np.cumsum(weights[equal])
        over = np.flatnonzero(sums > room)
        if len(over):
            return Cut(float(_scores(key)), first + int(equal[over[0]]))
        used = int(sums[-1]) if len(sums) else used
    raise AssertionError("the pairs at the cut were to be too many")


def taken(records: Records, cut: Cut) -> NDArray[np.bool_]:
    """Whether each pair is within the cut."""
    return np.concatenate([cut.takes(chunk, first) for first, chunk in chunks(records)])


def chunks(records: Records) -> Iterator[tuple[int, Records]]:
    """The ranking in parts, each with the number of its first pair."""
    for first in range(0, len(records), CHUNK):
        yield first, records[first : first + CHUNK]


def _weighed(
    records: Records, of: Literal["pairs", "words"]
) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.float64]]]:
    """The number of each chunk's first pair, the pairs' scores as keys, and what each counts: 0
    where it cannot be taken."""
    for first, chunk in chunks(records):
        finite = np.isfinite(chunk["score"])
        weights = chunk["words"] * finite if of == "words" else finite
        yield first, _keys(chunk["score"]), weights.astype(np.float64)


def _keys(scores: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Whole numbers in the order of the scores: their bits, all turned round where negative."""
    bits = np.ascontiguousarray(scores).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _scores(key: np.uint64) -> np.float64:
    """The score with this key."""
    bits = key ^ _SIGN if key & _SIGN else ~key
    return bits.view(np.float64)
