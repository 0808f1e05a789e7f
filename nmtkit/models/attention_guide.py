"""Guided attention: training with links between words that are known beforehand.

Attention is learned late where sentences are long, and until then most of what an update teaches is
lost. With links A_ij of target word y_i, which sum to 1 over the source words, the cost becomes
(Chen et al. 2016)

    cost = - sum_i log p(y_i | y_<i, x) - w sum_ij A_ij log alpha_ij

There the links are those of an alignment toolkit. Here they follow from a table g(x, y) of how
strongly a source and a target word belong together:

    A_ij = g(x_j, y_i) d_ij / sum_j' g(x_j', y_i) d_ij',   d_ij = exp(-lambda |i / T_y - j / T_x|)

with i and j in the middle of their words. A target word that belongs to no word of its sentence is
not guided.
"""

from typing import NamedTuple

import torch
from torch import Tensor

DIAGONAL_TENSION = 4.0
"""lambda: how much links near the diagonal are preferred (Dyer et al. 2013, eq. (1))."""

MIN_ATTENTION = 1e-7
"""Added to attention weights before the logarithm."""


class AttentionGuide(NamedTuple):
    """Cost of attention that looks elsewhere than a table of word pairs says.

    keys: source id * tgt_words + target id, ascending. Shape: [entries], int64.
    strengths: g(x, y), above 0. Shape: [entries].
    tgt_words: size of the target vocabulary.
    weight: w; a scalar on the device where CUDA graphs read it.
    """

    keys: Tensor
    strengths: Tensor
    tgt_words: int
    weight: float | Tensor = 1.0

    def links(self, src: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
        """Return A_ij of sentence pairs; parameters as in `TranslationModel.loss`.

        :return: rows sum to 1, or are 0 if nothing guides them. Shape: [B, T_y, T_x].
        """
        diagonal = diagonal_preference(src_mask, tgt_mask).to(src.device, non_blocking=True)
        wanted = src.unsqueeze(1) * self.tgt_words + tgt.unsqueeze(2)  # [B, T_y, T_x]
        found = torch.searchsorted(self.keys, wanted).clamp_(max=len(self.keys) - 1)
        links = torch.where(self.keys[found] == wanted, self.strengths[found], 0.0) * diagonal
        sums = links.sum(2, keepdim=True)
        return links / torch.where(sums > 0, sums, 1.0)

    def cost(self, links: Tensor, alignment: Tensor) -> Tensor:
        """Return w times the cross-entropy of the attention, summed over the target words.

        :param links: A_ij. Shape: [B, T_y, T_x].
        :param alignment: alpha_ij. Shape: [B, T_y, T_x].
        """
        logs = torch.log(alignment + MIN_ATTENTION)
        return -self.weight * (links.to(logs.dtype) * logs).sum()


def diagonal_preference(src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
    """Return d_ij, 0 at padding. Shapes: [B, T_x], [B, T_y] to [B, T_y, T_x]."""
    i, j = _positions(tgt_mask).unsqueeze(2), _positions(src_mask).unsqueeze(1)
    diagonal = torch.exp(-DIAGONAL_TENSION * (i - j).abs())
    return diagonal * (tgt_mask.unsqueeze(2) & src_mask.unsqueeze(1))


def _positions(mask: Tensor) -> Tensor:
    """Return the middle of each position, as a share of its sentence. [B, T] to [B, T]."""
    middles = torch.arange(mask.size(1), device=mask.device) + 0.5
    return middles / mask.sum(1, keepdim=True)
