"""A cache of what follows from a word alone."""

from collections.abc import Callable

import torch
from torch import Tensor

MAX_CACHE_BYTES = 1 << 25
"""Bytes that an `EmbeddingCache` may keep."""


class EmbeddingCache:
    """Rows that depend on a word alone, each computed when the word first comes.

    Only the most frequent words are kept, as many as `MAX_CACHE_BYTES` allows; the plain twin is
    the function itself.

    :param compute: from words to their rows; -1 stands for the word before the first.
        Shapes: [n], int64, to [n, w].
    :param words: size of the vocabulary, the most frequent first.
    """

    def __init__(self, compute: Callable[[Tensor], Tensor], words: int) -> None:
        self._compute = compute
        first = compute(torch.full((1,), -1))
        # Memory is taken when it is written to: words that never come take none.
        kept = min(words + 1, max(1, MAX_CACHE_BYTES // first.nbytes))
        self._rows = first.new_empty(kept, first.size(1))
        self._is_computed = torch.zeros(kept, dtype=torch.bool)
        self._keeps_all = kept > words

    def __call__(self, words: Tensor) -> Tensor:
        """Return the words' rows. [...] to [..., w]."""
        slots = words.flatten() + 1
        if self._keeps_all:
            rows = self._cached(slots)
        else:
            frequent = slots < len(self._rows)
            rows = self._cached(slots.where(frequent, 0))
            rare, inverse = torch.unique(slots[~frequent], return_inverse=True)
            if len(rare):
                rows[~frequent] = self._compute(rare - 1)[inverse]
        return rows.view(*words.shape, rows.size(1))

    def _cached(self, slots: Tensor) -> Tensor:
        """Return rows of the cache, computing those that are not in it yet."""
        computed = self._is_computed.index_select(0, slots)
        if not bool(computed.all()):
            missing = torch.unique(slots[~computed])
            self._rows.index_copy_(0, missing, self._compute(missing - 1))
            self._is_computed.index_fill_(0, missing, True)
        return self._rows.index_select(0, slots)
