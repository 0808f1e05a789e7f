"""Pairs of positions of many sentence pairs in flat arrays, and the words that meet in them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

ATTENTION_EXPONENT = 0.5
"""a: attention is less certain than it seems."""

MIN_TRANSLATION = 1e-6
"""t(y | x) of words that have not been met together."""

Ids = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Item = TypeVar("Item")

CHUNK_CELLS = 2_000_000
"""Pairs of positions whose words are sorted at a time."""


DIAGONAL_TENSION = 4.0
"""How much links near the diagonal are preferred: lambda of Dyer et al. 2013."""


def diagonal_logs(target: int, source: int) -> Floats:
    """Return -lambda |i / T_y - j / T_x|, the log of what links weigh before words are known.

    i and j are the middles of positions. Shape: [T_y, T_x].
    """
    i, j = ((np.arange(length) + 0.5) / max(length, 1) for length in (target, source))
    logs: Floats = -DIAGONAL_TENSION * np.abs(i[:, None] - j)
    return logs


class TokenPair(NamedTuple):
    """A sentence pair, and what is known of its links beforehand.

    src, tgt: word ids. Shapes: [T_x], [T_y]. forward: weight of each source word for a target word.
    backward: weight of each target word for a source word. Both are above 0, and 1 if nothing is
    known. Shape of both: [T_y, T_x].
    """

    src: Ids
    tgt: Ids
    forward: Weights
    backward: Weights


@dataclass(frozen=True)
class PairCells:
    """All pairs of positions of all sentence pairs: the matrix [T_y, T_x] of each, row by row.

    keys: sorted, one for each pair of words that was met: source id * tgt_words + target id.
    words: index of each cell's key; the number of keys where there is none. forward, backward:
    weights of `TokenPair`. Shape of the three: [cells]. offsets: first cell of each pair, and the
    end. Shape: [pairs + 1]. src, tgt: ids of each pair.
    """

    keys: Ids
    words: npt.NDArray[np.int32]
    forward: Weights
    backward: Weights
    offsets: Ids
    src: Sequence[Ids]
    tgt: Sequence[Ids]

    @classmethod
    def of(cls, pairs: Iterable[TokenPair], tgt_words: int, keys: Ids | None = None) -> "PairCells":
        """Join sentence pairs.

        :param tgt_words: target ids are below this.
        :param keys: the keys, if they are known; others are none. None: those of the pairs.
        """
        pairs = list(pairs)
        parts = [_unique_keys(chunk, tgt_words) for chunk in chunks(pairs, _cells, CHUNK_CELLS)]
        if keys is None:
            keys = np.unique(np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)]))
        words = [_find(unique, keys)[inverse] for unique, inverse in parts]
        lengths = [len(pair.src) * len(pair.tgt) for pair in pairs]
        return cls(
            keys,
            np.concatenate([np.empty(0, np.int32), *words]),
            np.concatenate([np.empty(0, np.float32), *(pair.forward.ravel() for pair in pairs)]),
            np.concatenate([np.empty(0, np.float32), *(pair.backward.ravel() for pair in pairs)]),
            np.cumsum([0, *lengths], dtype=np.int64),
            [pair.src for pair in pairs],
            [pair.tgt for pair in pairs],
        )

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.offsets) - 1

    def shares_of_targets(self, values: Weights) -> Weights:
        """Return the value of each cell as a share of all of the same target position.

        :param values: of each cell, above 0.
        """
        lengths = self._row_lengths
        if not len(lengths):
            return values
        sums = np.add.reduceat(values, np.cumsum(lengths) - lengths)
        found: Weights = values / np.repeat(sums, lengths)
        return found

    @cached_property
    def _row_lengths(self) -> Ids:
        """Number of cells of each target position that has any."""
        lengths = np.repeat([len(src) for src in self.src], [len(tgt) for tgt in self.tgt])
        return lengths[lengths > 0].astype(np.int64)

    def matrix(self, values: Weights, pair: int) -> Weights:
        """Return the values of the cells of a pair. Shape: [T_y, T_x]."""
        part = values[self.offsets[pair] : self.offsets[pair + 1]]
        return part.reshape(len(self.tgt[pair]), len(self.src[pair]))


def shares(counts: Floats, words: Ids) -> Floats:
    """Return each count as a share of all counts of the same word. Shape of all: [keys]."""
    totals = np.maximum(np.bincount(words, counts), np.finfo(float).tiny)
    found: Floats = counts / totals[words]
    return found


def chunks(
    items: Iterable[Item], size_of: Callable[[Item], int], limit: int
) -> Iterator[list[Item]]:
    """Yield items of about so much size together at a time, in order.

    :param size_of: returns the size of an item, such as the number of cells of a pair.
    :param limit: a chunk ends with the item that reaches it.
    """
    chunk: list[Item] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += size_of(item)
        if size >= limit:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _cells(pair: TokenPair) -> int:
    return pair.forward.size


def _unique_keys(pairs: Sequence[TokenPair], tgt_words: int) -> tuple[Ids, npt.NDArray[np.intp]]:
    """Return the sorted keys of some pairs, and the index of each cell's among them."""
    keys = np.concatenate([(pair.src * tgt_words + pair.tgt[:, None]).ravel() for pair in pairs])
    unique, inverse = np.unique(keys, return_inverse=True)
    return unique, inverse


def _find(wanted: Ids, keys: Ids) -> npt.NDArray[np.int32]:
    """Return the index of each wanted key, or the number of keys."""
    found = np.searchsorted(keys, wanted)
    known = np.zeros(len(wanted), bool)
    inside = found < len(keys)
    known[inside] = keys[found[inside]] == wanted[inside]
    return np.where(known, found, len(keys)).astype(np.int32)
