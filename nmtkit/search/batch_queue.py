"""Sentences that wait to be searched, and how they take the places of others."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import Tensors, select_sentences


class EncodedBatch(NamedTuple):
    """What the models read of some sentences.

    encoded: what each model's `encode` gave, of the same sentences.
    lengths: T_x of each sentence for the first model, `</s>` counted. Shape: [B].
    lists: the words that each may choose from, in rising order, `</s>` and `<unk>` always among
        them, -1 behind the last; None where they may choose from all. Shape: [B, C].
    """

    encoded: Sequence[Any]
    lengths: Tensor
    lists: Tensor | None = None

    def select(self, rows: Tensor) -> "EncodedBatch":
        """Some of the sentences."""
        encoded = [select_sentences(read, rows) for read in self.encoded]
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


def place_sentences(values: Tensors, rows: Tensor, newcomers: Tensors) -> Tensors:
    """Put newcomers into some rows; the tensors of `values` are changed where they can be.

    Of the second axes the narrower gets zeros: that is padding in an `Encoded`, and slots without
    a hypothesis in a `State`.

    :param values: tensors of shape [B, ...].
    :param rows: Shape: [n].
    :param newcomers: tensors of shape [n, ...].
    """
    pairs = zip(values, newcomers, strict=True)
    return type(values)(*(place_rows(value, rows, new) for value, new in pairs))


def place_rows(value: Tensor, rows: Tensor, new: Tensor, edge: int = 0) -> Tensor:
    """`place_sentences` of one tensor; the second axis is made wider with `edge`."""
    if value.dim() > 1:
        width = max(value.size(1), new.size(1))
        value, new = _widened(value, width, edge), _widened(new, width, edge)
    return value.index_copy_(0, rows, new)


def _widened(value: Tensor, width: int, edge: int) -> Tensor:
    if value.size(1) == width:
        return value
    more = [0, 0] * (value.dim() - 2) + [0, width - value.size(1)]
    return functional.pad(value, more, value=edge)
