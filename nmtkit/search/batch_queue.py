"""Encoded sentences that wait to be searched."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nmtkit.models.search_state import EncodedSource


class EncodedBatch(NamedTuple):
    """Source sentences as encoded by each model of an ensemble.

    encoded: one model's `encode` each, of the same sentences.
    lengths: T_x of each sentence for the first model, `</s>` counted. Shape: [B].
    candidates: tokens that each sentence may use, in rising order, `</s>` and `<unk>` always among
        them, padded with -1; None for the whole vocabulary. Shape: [B, C].
    """

    encoded: Sequence[EncodedSource]
    lengths: Tensor
    candidates: Tensor | None = None

    def select(self, rows: Tensor) -> "EncodedBatch":
        """Keep the sentences `rows`. Shape: [n], int64."""
        encoded = [source.select_sentences(rows) for source in self.encoded]
        candidates = None if self.candidates is None else self.candidates[rows]
        return EncodedBatch(encoded, self.lengths[rows], candidates)


class BatchQueue:
    """Hands out batches a few sentences at a time; asks for each batch only when it is due."""

    def __init__(self, batches: Iterable[EncodedBatch]) -> None:
        self._batches = iter(batches)
        self._batch: EncodedBatch | None = next(self._batches, None)
        self._taken = 0

    @property
    def batch_size(self) -> int:
        """Sentences in the next batch, taken ones included; 0 at the end."""
        return 0 if self._batch is None else len(self._batch.lengths)

    def fits(self, max_length: int, rows: int) -> bool:
        """Tell if the next sentences may join a search.

        It must have as many rows as their batch, so that matrix products do not get smaller, and
        not be much longer than they are, because they are padded to its length.

        :param max_length: T_x of the longest sentence in the search.
        """
        if self._batch is None or self.batch_size > rows:
            return False
        return max_length <= 2 * int(self._batch.lengths.max())

    def take(self, count: int) -> EncodedBatch:
        """Take 1 to `count` sentences, all of one batch; `batch_size` must not be 0."""
        assert self._batch is not None
        end = min(self._taken + count, self.batch_size)
        rows = torch.arange(self._taken, end, device=self._batch.lengths.device)
        taken, self._taken = self._batch.select(rows), end
        if end == self.batch_size:
            self._batch, self._taken = next(self._batches, None), 0
        return taken


def replace_sentences(carried: Sequence[Any], rows: Tensor, newcomers: Sequence[Any]) -> list[Any]:
    """Put newcomers into some rows of each model's encoded source or state; see `Refillable`."""
    pairs = zip(carried, newcomers, strict=True)
    return [value.replace_sentences(rows, new) for value, new in pairs]
