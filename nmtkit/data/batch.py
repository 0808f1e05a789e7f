"""A batch of sentence pairs as tensors, and the one function that pads."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Sentence = Sequence[int]


class Batch(NamedTuple):
    """Sentence pairs side by side; every sentence ends with `</s>`, which its length counts.

    src, tgt: word ids, 0 at padding. Shapes: [batch, src_len], [batch, tgt_len], int64.
    src_mask, tgt_mask: True at real positions. Same shapes, bool.
    lines: line numbers in the prepared corpus, from 1.
    pairs, tokens: sentence pairs, and target positions, of the whole batch that this is, or is a
        part of.
    """

    src: Tensor
    src_mask: Tensor
    tgt: Tensor
    tgt_mask: Tensor
    lines: list[int]
    pairs: int
    tokens: int

    def to(self, device: torch.device) -> "Batch":
        """The same batch with its words on another device.

        The masks stay in the host's memory: models ask them for lengths, which decide how often a
        loop runs, and would have to wait for the device to tell.
        """
        return self._replace(
            src=self.src.to(device, non_blocking=True),
            tgt=self.tgt.to(device, non_blocking=True),
        )

    def halves(self) -> "list[Batch]":
        """The batch in two, each without the padding that only the other needed; itself alone where
        it has but one pair."""
        if len(self.lines) < 2:
            return [self]
        middle = len(self.lines) // 2
        return [self._rows(slice(None, middle)), self._rows(slice(middle, None))]

    def _rows(self, rows: slice) -> "Batch":
        src_mask, tgt_mask = self.src_mask[rows], self.tgt_mask[rows]
        src, tgt = slice(int(src_mask.sum(1).max())), slice(int(tgt_mask.sum(1).max()))
        return Batch(
            self.src[rows, src],
            src_mask[:, src],
            self.tgt[rows, tgt],
            tgt_mask[:, tgt],
            self.lines[rows],
            self.pairs,
            self.tokens,
        )


def pad(sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
    """Put sentences of different lengths into one tensor.

    :return: ids, 0 at padding [batch, longest] int64; mask, True at real positions, bool.
    """
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
    mask = torch.arange(max(lengths.tolist(), default=0)) < lengths.unsqueeze(1)
    ids = torch.zeros(mask.shape, dtype=torch.int64)
    words = [word for sentence in sentences for word in sentence]
    ids[mask] = torch.tensor(words, dtype=torch.int64)
    return ids, mask


def make_batch(src: Sequence[Sentence], tgt: Sequence[Sentence], lines: list[int]) -> Batch:
    """Pad both sides of some pairs, which end with `</s>`."""
    return Batch(*pad(src), *pad(tgt), lines, len(lines), sum(map(len, tgt)))
