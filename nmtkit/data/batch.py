"""Batches of sentence pairs as tensors, and padding."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Sentence = Sequence[int]

SHORT_LENGTH = 25
"""Batches of sentences below this many positions hold more of them, so that matrix products stay
large; but at most `MAX_SHORT_FACTOR` times as many."""

MAX_SHORT_FACTOR = 4

LONG_LENGTH = 50
"""Batches of sentences above this many positions hold fewer of them, so that memory is bounded."""


class Batch(NamedTuple):
    """Sentence pairs as padded tensors; every sentence ends with `</s>`.

    src, tgt: word ids, 0 at padding. Shapes: [batch, src_len], [batch, tgt_len], int64.
    src_mask, tgt_mask: True at words and `</s>`, False at padding. Same shapes, bool.
    lines: line numbers in the prepared corpus, from 1.
    pairs, tokens: number of sentence pairs and target tokens of the whole batch; this may be only
        one part of it.
    dropout: whether the model's dropout is applied when it learns these pairs.
    rehearsed: whether it learns what a teacher predicts at each word, not the word itself.
    """

    src: Tensor
    src_mask: Tensor
    tgt: Tensor
    tgt_mask: Tensor
    lines: list[int]
    pairs: int
    tokens: int
    dropout: bool = True
    rehearsed: bool = False

    def to(self, device: torch.device) -> "Batch":
        """Copy the word ids to a device; the masks stay in the host's memory.

        Models read sentence lengths from the masks to set the number of loop steps; masks on a GPU
        would make them wait for the device.
        """
        return self._replace(
            src=self.src.to(device, non_blocking=True),
            tgt=self.tgt.to(device, non_blocking=True),
        )

    def halves(self) -> "list[Batch]":
        """Split the batch in two, each half trimmed to its longest sentence; keep a single pair."""
        if len(self.lines) < 2:
            return [self]
        middle = len(self.lines) // 2
        return [self._select_rows(slice(None, middle)), self._select_rows(slice(middle, None))]

    def parts(self, count: int) -> "list[Batch]":
        """Split the batch in at most `count` parts, each of every `count`-th pair.

        Pairs are sorted by length, so that the parts take about the same time.
        """
        count = min(count, len(self.lines))
        return [self._select_rows(slice(first, None, count)) for first in range(count)]

    def _select_rows(self, rows: slice) -> "Batch":
        """Return some of the pairs, trimmed to the longest of their sentences."""
        src_mask, tgt_mask = self.src_mask[rows], self.tgt_mask[rows]
        src, tgt = slice(int(src_mask.sum(1).max())), slice(int(tgt_mask.sum(1).max()))
        return self._replace(
            src=self.src[rows, src],
            src_mask=src_mask[:, src],
            tgt=self.tgt[rows, tgt],
            tgt_mask=tgt_mask[:, tgt],
            lines=self.lines[rows],
        )


def pad(sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
    """Pad sentences to the length of the longest.

    :return: ids, 0 at padding. Shape: [batch, max_len], int64. Mask, True at real positions. Same
        shape, bool.
    """
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
    mask = torch.arange(max(lengths.tolist(), default=0)) < lengths.unsqueeze(1)
    ids = torch.zeros(mask.shape, dtype=torch.int64)
    words = [word for sentence in sentences for word in sentence]
    ids[mask] = torch.tensor(words, dtype=torch.int64)
    return ids, mask


def make_batch(src: Sequence[Sentence], tgt: Sequence[Sentence], lines: list[int]) -> Batch:
    """Build a batch from sentence pairs, both sides ending with `</s>`."""
    return Batch(*pad(src), *pad(tgt), lines, len(lines), sum(map(len, tgt)))


def sentences_per_batch(length: int, batch_size: int) -> int:
    """Return how many sentences without gradients are computed together.

    :param length: of the longest sentence, in positions.
    :param batch_size: the number for sentences of `SHORT_LENGTH` to `LONG_LENGTH` positions.
    """
    length = max(length, 1)
    if batch_size == 1:  # each line by itself, so that no other changes its rounding
        return 1
    if length < SHORT_LENGTH:
        return min(batch_size * SHORT_LENGTH // length, batch_size * MAX_SHORT_FACTOR)
    return max(1, min(batch_size, batch_size * LONG_LENGTH // length))
