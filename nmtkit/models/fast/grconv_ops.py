"""The composition of grConv with a hand-written backward pass (Cho et al. 2014b, section 2.2).

From h^(0)_j of every position, level by level until one vector is left of each sentence:

    new          h~ = max(0, W_l h^(t-1)_{j-1} + W_r h^(t-1)_j)
    coefficients (w_c, w_l, w_r) = softmax(G_l h^(t-1)_{j-1} + G_r h^(t-1)_j)
    node         h^(t)_j = w_c h~ + w_l h^(t-1)_{j-1} + w_r h^(t-1)_j

A node is numbered by the last position that it covers: level t has the positions t, t + 1, ... of
every sentence that is longer than t. In packed order (`packing.py`) these are the rows from
position t on, so a level's rows are the last rows of the level below. Sentences of all lengths
are composed together, and only the paper's nodes are computed.

All nodes are multiplied once by [W_l | G_l | W_r | G_r]; the gradient of that matrix is one product
over all nodes of all levels.
"""

from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.fast.matmul import Prepacked, matmul_dtype, matmul_transposed
from nmtkit.models.packing import Packing


def compose(h: Tensor, W: Tensor, b: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
    """Compose the words of every sentence into one vector.

    :param h: h^(0). Shape: [N, n].
    :param W: [W_l | G_l | W_r | G_r]. Shape: [n, 2 (n + 3)].
    :param b: biases of h~ and of the coefficients. Shape: [n + 3].
    :return: the top node of each sentence, in packed order [B, n]; the coefficients w_c, w_l, w_r
        of all nodes, level after level, without gradients [M, 3].
    """
    return _Composition.apply(h.to(W.dtype), W, b, packing)  # type: ignore[no-any-return,no-untyped-call]


def level_sizes(packing: Packing) -> list[int]:
    """Return the number of nodes of each level, from the words up."""
    return list(accumulate(reversed(packing.sizes)))[::-1]


class _Composition(Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, W: Tensor, b: Tensor, packing: Packing
    ) -> tuple[Tensor, Tensor]:
        dtype = matmul_dtype(h)
        n, sizes, counts = h.size(1), packing.sizes, level_sizes(packing)
        left = _left_children(packing)
        below, packed_W = h, Prepacked(W.to(dtype))
        levels, candidates, coefficients = [h], [], []
        with torch.autocast(h.device.type, enabled=False):
            for t in range(1, len(sizes)):
                left_terms, right_terms = packed_W.matmul(below).to(h.dtype).chunk(2, dim=1)
                left_rows, right = _children(left, counts, sizes, t)
                summed = left_terms.index_select(0, left_rows) + right_terms[right] + b
                new = torch.relu(summed[:, :n])
                w = torch.softmax(summed[:, n:], dim=1)
                node = torch.addcmul(w[:, :1] * new, w[:, 2:], below[right])
                below = node.addcmul_(w[:, 1:2], below.index_select(0, left_rows))
                levels.append(below)
                candidates.append(new)
                coefficients.append(w)
        ctx.packing, ctx.depth, ctx.dtype = packing, len(sizes), dtype
        ctx.save_for_backward(left, W, *levels, *candidates, *coefficients)
        gates = torch.cat(coefficients) if coefficients else h.new_zeros(0, 3)
        ctx.mark_non_differentiable(gates)
        return torch.cat([values[part] for values, part in _tops(levels, sizes)]), gates

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_tops: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        left, W, *saved = ctx.saved_tensors
        depth, sizes, counts = ctx.depth, ctx.packing.sizes, level_sizes(ctx.packing)
        levels, candidates = saved[:depth], saved[depth : 2 * depth - 1]
        coefficients, dtype = saved[2 * depth - 1 :], ctx.dtype
        n, packed_W_t = W.size(0), Prepacked(W.to(dtype).t())
        grads = [torch.zeros_like(level) for level in levels]
        grad_parts = torch.split(
            grad_tops, [part.stop - part.start for _, part in _tops(levels, sizes)]
        )
        for (grad, part), top in zip(_tops(grads, sizes), grad_parts, strict=True):
            grad[part] = top
        products = [W.new_zeros(len(level), W.size(1)) for level in levels[:-1]]
        grad_b = torch.zeros_like(W[0, : n + 3])
        for t in range(depth - 1, 0, -1):
            left_rows, right = _children(left, counts, sizes, t)
            below, new, w, grad = levels[t - 1], candidates[t - 1], coefficients[t - 1], grads[t]
            children = [new, below.index_select(0, left_rows), below[right]]
            d_w = torch.stack([(grad * child).sum(1) for child in children], dim=1)
            d_summed = torch.cat(
                [
                    w[:, :1] * grad * (new > 0),
                    w * (d_w - (w * d_w).sum(1, keepdim=True)),
                ],
                dim=1,
            )
            grad_b += d_summed.sum(0)
            products[t - 1][:, : n + 3].index_copy_(0, left_rows, d_summed)
            products[t - 1][right, n + 3 :] = d_summed
            grads[t - 1].index_add_(0, left_rows, w[:, 1:2] * grad)
            grads[t - 1][right].addcmul_(w[:, 2:], grad)
            packed_W_t.addmm(grads[t - 1], products[t - 1], out=grads[t - 1])
        if depth == 1:
            return grads[0], torch.zeros_like(W), grad_b, None
        grad_W = matmul_transposed(torch.cat(levels[:-1]), torch.cat(products), dtype)
        return grads[0], grad_W.to(W.dtype), grad_b, None


def _left_children(packing: Packing) -> Tensor:
    """Return, from position 1 on, the row of each position's predecessor. Shape: [N - B]."""
    sizes = torch.tensor(packing.sizes)
    before = sizes[:-1].repeat_interleave(sizes[1:])  # rows from a position to the one before
    rows = torch.arange(int(sizes[0]), int(sizes.sum())) - before
    return rows.to(packing.rows.device, non_blocking=True)


def _children(left: Tensor, counts: list[int], sizes: list[int], t: int) -> tuple[Tensor, slice]:
    """Return the rows of level t - 1 with the left and the right children of level t's nodes."""
    offset = counts[0] - counts[t - 1]  # rows of the positions that level t - 1 lacks
    return left[counts[0] - counts[t] - sizes[0] :] - offset, slice(sizes[t - 1], None)


def _tops(levels: list[Tensor], sizes: list[int]) -> list[tuple[Tensor, slice]]:
    """Return level and rows of the top nodes, those of the longest sentences first."""
    ends = [*sizes[1:], 0]
    return [(levels[t], slice(ends[t], sizes[t])) for t in reversed(range(len(sizes)))]
