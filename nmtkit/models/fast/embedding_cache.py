"""A cache of vectors that depend on a single word."""

from collections.abc import Callable

import torch
from torch import Tensor

MAX_CACHE_BYTES = 1 << 25
"""Maximum size of an `EmbeddingCache`."""


def cached_on_cpu(
    compute: Callable[[Tensor], Tensor], embeddings: Tensor
) -> Callable[[Tensor], Tensor]:
    """Return an `EmbeddingCache` of rows made from embeddings on a CPU, else `compute` itself."""
    if embeddings.device.type != "cpu":
        return compute
    return EmbeddingCache(compute, len(embeddings))


class EmbeddingCache:
    """Rows that depend on a single word, each computed when the word first occurs.

    Only the most frequent words are cached, as many as `MAX_CACHE_BYTES` allows. The plain twin is
    the function `compute` itself.

    :param compute: from words to their rows; -1 is `BOS`.
        Shapes: [n], int64, to [n, w].
    :param words: size of the vocabulary, which is sorted by frequency.
    """

    def __init__(self, compute: Callable[[Tensor], Tensor], words: int) -> None:
        self._compute = compute
        first = compute(torch.full((1,), -1))
        # The system allocates memory on the first write: words that never occur take none.
        cached = min(words + 1, max(1, MAX_CACHE_BYTES // first.nbytes))
        self._rows = first.new_empty(cached, first.size(1))
        self._is_computed = torch.zeros(cached, dtype=torch.bool)
        self._caches_all = cached > words

    def __call__(self, words: Tensor) -> Tensor:
        """Return the row of each word. [...] to [..., w]."""
        slots = words.flatten() + 1
        if self._caches_all:
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
