"""Sentences that wait to be searched, and how they take the places of others."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.search_state import EncodedSource


class EncodedBatch(NamedTuple):
    """What the models read of some sentences.

    encoded: what each model's `encode` gave, of the same sentences.
    lengths: T_x of each sentence for the first model, `</s>` counted. Shape: [B].
    lists: the words that each may choose from, in rising order, `</s>` and `<unk>` always among
        them, -1 behind the last; None where they may choose from all. Shape: [B, C].
    """

    encoded: Sequence[EncodedSource]
    lengths: Tensor
    lists: Tensor | None = None

    def select(self, rows: Tensor) -> "EncodedBatch":
        """Some of the sentences."""
        encoded = [read.select_sentences(rows) for read in self.encoded]
        lists = None if self.lists is None else self.lists[rows]
        return EncodedBatch(encoded, self.lengths[rows], lists)


class BatchQueue:
    """Batches of sentences, handed out a few sentences at a time; each is read when it is due."""

    def __init__(self, batches: Iterable[EncodedBatch]) -> None:
        self._batches = iter(batches)
        self._batch: EncodedBatch | None = next(self._batches, None)
        self._taken = 0

    @property
    def size(self) -> int:
        """How many sentences the batch that is next has, 0 where there is none."""
        return 0 if self._batch is None else len(self._batch.lengths)

    def suit(self, width: int, places: int) -> bool:
        """Whether those that are next may join a search: it has as many places as their batch,
        so that no smaller products are made, and they are not much shorter than its sentences,
        to whose length they are padded.

        :param width: T_x of the longest sentence of that search.
        """
        if self._batch is None or self.size > places:
            return False
        return width <= 2 * int(self._batch.lengths.max())

    def take(self, count: int) -> EncodedBatch:
        """At most so many sentences, all of one batch, and at least one; `size` must not be 0."""
        assert self._batch is not None
        end = min(self._taken + count, self.size)
        rows = torch.arange(self._taken, end, device=self._batch.lengths.device)
        taken, self._taken = self._batch.select(rows), end
        if end == self.size:
            self._batch, self._taken = next(self._batches, None), 0
        return taken
