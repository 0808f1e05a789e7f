"""The real positions of a padded batch, one after another, so that no work is done on padding.

Sentences are sorted by length, longest first, and listed position by position: first position 0 of
every sentence, then position 1 of those that have one, and so on. Step t of a recurrent loop is a
slice. Finished sentences leave the loop; the rows that go on are the first rows of the step before.

Steps then have other sizes in each batch, which CUDA graphs, that repeat the same kernels, do not
allow. Inside `computed_padding` all sentences keep their order and all positions are computed, so
that only the shape of the padded batch counts; what is computed on padding must then be left out
of the cost (`Packing.real`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

_COMPUTES_PADDING = ContextVar("_COMPUTES_PADDING", default=False)


@contextmanager
def computed_padding() -> Iterator[None]:
    """Pack padding, too, in the block; the host then never waits for masks on a device."""
    token = _COMPUTES_PADDING.set(True)
    try:
        yield
    finally:
        _COMPUTES_PADDING.reset(token)


@dataclass(frozen=True)
class Packing:
    """The N real positions of a batch of B sentences; with `computed_padding` all B T positions.

    sizes: number of sentences with a position t, for each t; their sum is N.
    width: T, positions of the padded batch.
    ranks: index of each sentence in packed order. Shape: [B].
    rows: index of each packed position in the flattened padded batch. Shape: [N].
    mirror: packed row of position L - 1 - j, for each packed position j of a sentence of length
        L; selecting these rows reverses every sentence. Padding keeps its place. Shape: [N].
    real: False at packed padding; None if no padding is packed. Shape: [N].
    """

    sizes: list[int]
    width: int
    ranks: Tensor
    rows: Tensor
    mirror: Tensor
    real: Tensor | None = None

    @classmethod
    def of(cls, mask: Tensor, device: torch.device) -> "Packing":
        """Pack the real positions of a mask.

        :param mask: True at words and `</s>`, then False. Shape: [B, T]. A mask in the
            host's memory avoids waiting for the device.
        :param device: device of the packing's tensors.
        """
        if _COMPUTES_PADDING.get():
            return cls._with_padding(mask.to(device, non_blocking=True))
        mask = mask.cpu()
        lengths = mask.sum(1)
        order = longest_first(mask)
        sizes = mask.sum(0)
        starts = sizes.cumsum(0) - sizes
        positions, ranks = mask[order].t().nonzero(as_tuple=True)
        sentences = order[ranks]
        rows = sentences * mask.size(1) + positions
        mirror = starts[lengths[sentences] - 1 - positions] + ranks
        tensors = (t.to(device, non_blocking=True) for t in (order.argsort(), rows, mirror))
        return cls([size for size in sizes.tolist() if size], mask.size(1), *tensors)

    @classmethod
    def _with_padding(cls, mask: Tensor) -> "Packing":
        """Pack all positions of a mask, on its device."""
        sentences, width = mask.shape
        ranks = torch.arange(sentences, device=mask.device)
        positions = torch.arange(width, device=mask.device).unsqueeze(1)  # [T, 1]
        lengths = mask.sum(1)
        mirrored = torch.where(positions < lengths, lengths - 1 - positions, positions)  # [T, B]
        rows, mirror = ranks * width + positions, mirrored * sentences + ranks
        flat = (values.flatten() for values in (rows, mirror, mask.t()))
        return cls([sentences] * width, width, ranks, *flat)

    @property
    def sentences(self) -> Tensor:
        """Sentence index of each packed position. Shape: [N]."""
        return self.rows.div(self.width, rounding_mode="floor")

    @property
    def last(self) -> Tensor:
        """Packed row of each sentence's last position. Shape: [B]."""
        return self.mirror[: self.sizes[0]].index_select(0, self.ranks)

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield the first row and the end row of each step."""
        start = 0
        for size in self.sizes:
            yield start, start + size
            start += size

    def pack(self, padded: Tensor) -> Tensor:
        """Select the real positions of a padded tensor. [B, T, ...] to [N, ...]."""
        return padded.flatten(0, 1).index_select(0, self.rows)

    def pad(self, packed: Tensor) -> Tensor:
        """Restore the padded layout, with zeros at padding. [N, w] to [B, T, w]."""
        size = self.ranks.size(0) * self.width
        padded: Tensor = _Scatter.apply(packed, self.rows, size)  # type: ignore[no-untyped-call]
        return padded.view(-1, self.width, packed.size(1))

    def previous_states(self, first: Tensor, states: Tensor) -> Tensor:
        """Return the state before each step, without autograd.

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
    """Return sentence indices in packed order: by length, stably, the longest first. Shape: [B]."""
    if _COMPUTES_PADDING.get():
        return torch.arange(len(mask), device=mask.device)
    return mask.sum(1).argsort(descending=True, stable=True)


class _Scatter(Function):
    """Scatters rows into a tensor of zeros; no two rows have the same target."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, rows: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(rows)
        return packed.new_zeros(size, packed.size(1)).index_copy_(0, rows, packed)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        return grad.index_select(0, rows), None, None
