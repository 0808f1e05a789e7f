"""Pairs that occurred earlier in a corpus, found by their digests.

Eight bytes a pair are kept: 80 MB for ten million pairs. Two different pairs of ten million have
the same digest with a probability below one in a hundred thousand.
"""

import hashlib
from typing import TYPE_CHECKING

from nmtkit.preprocessing.text_measures import fold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Digests = NDArray[np.uint64]

DIGEST_BYTES = 8

_MERGE_FACTOR = 4
"""A run of digests is merged with the one before it unless that is so many times as long."""


def digest(*texts: bytes) -> bytes:
    """Return the digest of texts without newlines."""
    return hashlib.blake2b(b"\n".join(texts), digest_size=DIGEST_BYTES).digest()


def near_digest(src: str, tgt: str, side: str) -> bytes:
    """Return the digest of what near copies have in common, on both sides or on one.

    That is letters without case; a line without letters is only like its copies.

    :param side: "both", "src" or "tgt".
    """
    lines = {"both": (src, tgt), "src": (src,), "tgt": (tgt,)}[side]
    folded = (fold(line) or " ".join(line.split()) for line in lines)
    return digest(*(line.encode("utf-8", "surrogatepass") for line in folded))


class DigestSet:
    """Digests that were seen, in sorted runs, each much longer than the next."""

    def __init__(self) -> None:
        self._runs: list[Digests] = []

    def add(self, digests: list[bytes]) -> list[bool]:
        """Return for each digest whether it is new, and store all."""
        import numpy as np  # takes a tenth of a second

        values = np.frombuffer(b"".join(digests), np.uint64)
        first = np.unique(values, return_index=True)[1]
        is_new = np.zeros(len(values), bool)
        is_new[first] = True
        for run in self._runs:
            position = np.minimum(np.searchsorted(run, values), len(run) - 1)
            is_new &= run[position] != values
        self._runs.append(values[is_new])
        self._runs[-1].sort()
        while len(self._runs) > 1 and len(self._runs[-2]) < _MERGE_FACTOR * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]), kind="stable")
        self._runs = [run for run in self._runs if len(run)]
        return [bool(value) for value in is_new]

    def __len__(self) -> int:
        return sum(map(len, self._runs))


class GroupedDigests:
    """Digests of the pairs of the current source; those with the same source are consecutive."""

    def __init__(self) -> None:
        self._source: bytes | None = None
        self._digests: set[bytes] = set()

    def add(self, sources: list[bytes], digests: list[bytes]) -> list[bool]:
        """Return for each pair whether it is new, and store it."""
        is_new = []
        for source, pair in zip(sources, digests, strict=True):
            if source != self._source:
                self._source = source
                self._digests.clear()
            size = len(self._digests)
            self._digests.add(pair)
            is_new.append(len(self._digests) > size)
        return is_new
