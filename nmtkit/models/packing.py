"""The real positions of a padded batch, one after another, so that no work is done on padding.

The sentences are put in order of their length, longest first, and their positions are listed
position by position: first position 0 of every sentence, then position 1 of those that have one,
and so on. What a recurrent loop needs at step t is then a slice, and the sentences that are over
have left it: the states of the others are the first rows of the step before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Packing:
    """Where the N real positions of a batch of B sentences are.

    sizes: how many sentences have a position t, for each t; their sum is N.
    width: T, positions of the padded batch.
    ranks: for each sentence, how many come before it in packed order. Shape: [B].
    rows: place of each packed position in the padded batch, counted row by row. Shape: [N].
    mirror: for each packed position j of a sentence of length L, the packed row of its position
        L - 1 - j: what turns every sentence around. Shape: [N].
    """

    sizes: list[int]
    width: int
    ranks: Tensor
    rows: Tensor
    mirror: Tensor

    @classmethod
    def of(cls, mask: Tensor, device: torch.device) -> "Packing":
        """Find the real positions.

        :param mask: True at words and `</s>`, then False. Shape: [B, T]. A mask in the host's
            memory spares a wait for the device.
        :param device: where the tensors of the packing are wanted.
        """
        mask = mask.cpu()
        lengths = mask.sum(1)
        order = longest_first(mask)
        sizes = mask.sum(0)
        starts = sizes.cumsum(0) - sizes
        positions, ranks = mask[order].t().nonzero(as_tuple=True)
        sentences = order[ranks]
        rows = sentences * mask.size(1) + positions
        mirror = starts[lengths[sentences] - 1 - positions] + ranks
        moved = (t.to(device, non_blocking=True) for t in (order.argsort(), rows, mirror))
        return cls([size for size in sizes.tolist() if size], mask.size(1), *moved)

    @property
    def sentences(self) -> Tensor:
        """For each packed position the sentence that it is of. Shape: [N]."""
        return self.rows.div(self.width, rounding_mode="floor")

    @property
    def last(self) -> Tensor:
        """For each sentence the packed row of its last position. Shape: [B]."""
        return self.mirror[: self.sizes[0]].index_select(0, self.ranks)

    def steps(self) -> Iterator[tuple[int, int]]:
        """For each step its first packed row and the row behind its last one."""
        start = 0
        for size in self.sizes:
            yield start, start + size
            start += size

    def pack(self, padded: Tensor) -> Tensor:
        """Real positions of a padded tensor. [B, T, ...] to [N, ...]."""
        return padded.flatten(0, 1).index_select(0, self.rows)

    def pad(self, packed: Tensor) -> Tensor:
        """Positions back in their places, zeros between. [N, w] to [B, T, w]."""
        size = self.ranks.size(0) * self.width
        padded: Tensor = _Scatter.apply(packed, self.rows, size)  # type: ignore[no-untyped-call]
        return padded.view(-1, self.width, packed.size(1))

    def before(self, first: Tensor, states: Tensor) -> Tensor:
        """The state that each step starts from; not for autograd, which would take it apart.

        :param first: the states before step 0, in packed order. Shape: [..., B, n].
        :param states: the states after each step. Shape: [..., N, n].
        :return: Shape: [..., N, n].
        """
        parts = [first[..., : self.sizes[0], :]]
        parts += [
            states[..., start : start + following, :]
            for (start, _), following in zip(self.steps(), self.sizes[1:], strict=False)
        ]
        return torch.cat(parts, dim=-2)


def longest_first(mask: Tensor) -> Tensor:
    """The sentences of a batch by length, of equally long ones the earlier first. Shape: [B]."""
    return mask.sum(1).argsort(descending=True, stable=True)


class _Scatter(Function):
    """Rows into a tensor of zeros, each to a row of its own."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, rows: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(rows)
        return packed.new_zeros(size, packed.size(1)).index_copy_(0, rows, packed)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        return grad.index_select(0, rows), None, None
