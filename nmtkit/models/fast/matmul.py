"""Products of matrices, by the faster of the two libraries that torch has for a processor.

Torch multiplies float32 with MKL, which keeps the widest instructions for Intel's processors and
puts the second matrix in order anew for every product. oneDNN, with which torch multiplies
bfloat16, takes what the processor has, and takes a matrix that was put in order once. It prepares
each product of a new shape, which costs a millisecond and leaves gaps in the memory; so it is given
a few numbers of rows, again and again.

Small matrices, other types, other devices, and a torch without these functions have torch's own
products. Both give the same but for rounding, and each the same for the same operands every time.
"""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

MIN_ONEDNN_SIZE = 3 << 18
"""Numbers of a matrix from which oneDNN makes whole updates faster, its preparations counted: those
of 900 x 900. At 512 x 1280 there is nothing between them."""

ROW_MULTIPLE = 8
"""Numbers of rows are rounded up to multiples of this, above a hundred of LARGE_ROW_MULTIPLE."""

MAX_ROWS = 512
"""Rows are multiplied by at most so many at a time."""

LARGE_ROW_MULTIPLE = 64
"""What numbers of rows above a hundred are multiples of."""

TYPICAL_ROWS = 256
"""Rows for which a matrix is put in order; it serves for any number."""


def matmul_dtype(values: Tensor) -> torch.dtype:
    """In which type to compute a product with `values`: under `torch.autocast` in its type."""
    device = values.device.type
    if values.dtype == torch.float32 and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return values.dtype


def chunk_rows(most: int) -> int:
    """How many rows to multiply together where there are extra than `most`, so that none need to be
    copied: as many as that or fewer, but at min_size LARGE_ROW_MULTIPLE."""
    return max(LARGE_ROW_MULTIPLE, min(MAX_ROWS, most) // LARGE_ROW_MULTIPLE * LARGE_ROW_MULTIPLE)


def matmul(a: Tensor, B: Tensor) -> Tensor:
    """Return a B. Shapes: [..., n]; [n, w]; the result: [..., w]."""
    if not (matmul_dtype(a) == B.dtype and _suits_onednn(B, B.numel())):
        return a @ B
    if a.dim() > 2:
        return matmul(a.flatten(0, -2), B).view(*a.shape[:-1], B.size(1))
    return _Affine.apply(None, a, B)  # type: ignore[no-any-return,no-untyped-call]


def addmm(bias: Tensor, a: Tensor, B: Tensor) -> Tensor:
    """Return bias + a B. Shapes: [w] or [..., w]; [..., n]; [n, w]; the result: [..., w]."""
    if a.dim() > 2:
        addend = bias.flatten(0, -2) if bias.dim() > 1 else bias
        return addmm(addend, a.flatten(0, -2), B).view(*a.shape[:-1], B.size(1))
    if matmul_dtype(a) == B.dtype and _suits_onednn(B, B.numel()):
        return _Affine.apply(bias, a, B)  # type: ignore[no-any-return,no-untyped-call]
    return torch.addmm(bias, a, B)


def matmul_transposed(a: Tensor, b: Tensor) -> Tensor:
    """a^T b, the gradient of a matrix; not for autograd.

    Shapes: [N, n] or [D, N, n]; [N, w] or [D, N, w]; the result: [n, w] or [D, n, w].
    """
    if not _suits_onednn(a, a.size(-1) * b.size(-1)):
        return a.transpose(-2, -1) @ b
    if a.dim() == 3:
        return torch.stack([matmul_transposed(*both) for both in zip(a, b, strict=True)])
    whole = len(a) - len(a) % (MAX_ROWS // 2)
    if not whole:
        return a.t() @ b
    found = _by_onednn(a[:whole].t(), _whole(b[:whole]).t(), None)
    return found if whole == len(a) else found.addmm_(a[whole:].t(), b[whole:])


def addmm_transposed_(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a^T b, where the total is kept in its own type; not for autograd. Large products are
    left to torch, which adds what oneDNN would only give. Shapes: [n, w]; [N, n]; [N, w]."""
    if total.dtype == a.dtype:
        total.addmm_(a.t(), b)
    else:
        total += a.t() @ b


class Prepacked:
    """A matrix by which one multiplies again and again, or several of one shape; not for autograd.

    Products are computed in the matrix's type; sums have that of the addend.

    :param B: Shape: [n, w], or [D, n, w] for D products, each of rows of its own.
    :param min_size: numbers of a matrix from which it is given to oneDNN, if not MIN_ONEDNN_SIZE.
    """

    def __init__(self, B: Tensor, min_size: int | None = None) -> None:
        self._B = B
        suits = _suits_onednn(B, B.size(-2) * B.size(-1), min_size)
        self._weights = [_in_order(B.t()) for B in _apart(B)] if suits else []

    def matmul(self, a: Tensor) -> Tensor:
        """a B. Shapes: [N, n] or [D, N, n]; the result: [N, w] or [D, N, w]."""
        a = a.to(self._B.dtype)
        if not self._weights:
            return a @ self._B
        pairs = zip(_apart(a), self._weights, strict=True)
        found = [_by_parts(rows, weight) for rows, weight in pairs]
        return torch.stack(found) if a.dim() == 3 else found[0]

    def addmm(self, addend: Tensor, a: Tensor, out: Tensor | None = None) -> Tensor:
        """addend + a B, put into `out` where that is given.

        Shapes: [w], [N, w] or [D, N, w]; [N, n] or [D, N, n]; the result: [N, w] or [D, N, w].
        """
        if self._weights and addend.dim() == 1 and out is None:
            return _by_parts(a, self._weights[0], addend)
        if self._weights:
            out = torch.empty_like(addend) if out is None else out
            for parts in zip(_apart(addend), _apart(a), self._weights, _apart(out), strict=True):
                extra, rows, weight, into = parts
                torch.add(extra, _by_parts(rows, weight), out=into)
            return out
        if addend.dtype != self._B.dtype:
            found = self.matmul(a)
            return addend + found if out is None else torch.add(addend, found, out=out)
        together = torch.baddbmm if a.dim() == 3 else torch.addmm
        return together(addend, a, self._B, out=out)


class _Affine(Function):
    @staticmethod
    def forward(ctx: Any, addend: Tensor | None, a: Tensor, B: Tensor) -> Tensor:
        B = _whole(B)
        ctx.save_for_backward(a, B)
        ctx.is_bias = addend is not None and addend.dim() == 1
        found = _by_parts(a, B.t())
        return found if addend is None else found.add_(addend)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, B = ctx.saved_tensors
        of_addend, of_a, of_B = ctx.needs_input_grad
        return (
            (grad.sum(0) if ctx.is_bias else grad) if of_addend else None,
            _by_parts(grad, B) if of_a else None,
            matmul_transposed(a, grad) if of_B else None,
        )


def _apart(values: Tensor) -> Sequence[Tensor]:
    return values.unbind() if values.dim() == 3 else [values]


def _whole(B: Tensor) -> Tensor:
    """B, copied where it is a part of another matrix: oneDNN would take a hundred times as long."""
    return B if B.is_contiguous() or B.t().is_contiguous() else B.contiguous()


def _in_order(weight: Tensor) -> Tensor:
    """W as oneDNN takes it fastest. Where W^T is what lies in memory, to turn it around would cost
    extra than it gains."""
    if weight.t().is_contiguous():
        return weight
    found: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), TYPICAL_ROWS)
    return found


def _by_parts(a: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """a W^T + bias. Shapes: [N, n]; [w, n]; [w]; the result: [N, w]."""
    if len(a) <= MAX_ROWS:
        return _of_round_number(a, weight, bias)
    found = a.new_empty(len(a), weight.size(0))
    for start in range(0, len(a), MAX_ROWS):
        part = slice(start, start + MAX_ROWS)
        found[part] = _of_round_number(a[part], weight, bias)
    return found


def _of_round_number(a: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    rows = len(a)
    extra = -rows % (ROW_MULTIPLE if rows <= 2 * LARGE_ROW_MULTIPLE else LARGE_ROW_MULTIPLE)
    if not extra:
        return _by_onednn(a, weight, bias)
    longer = a.new_empty(rows + extra, a.size(1))
    longer[:rows], longer[rows:] = a, 0
    return _by_onednn(longer, weight, bias)[:rows]


def _by_onednn(a: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(a, weight, bias, "none", [], "")
    return found


def _suits_onednn(like: Tensor, size: int, min_size: int | None = None) -> bool:
    """Whether oneDNN is to multiply by matrices of so many numbers, of such a type and place."""
    is_large = size >= (MIN_ONEDNN_SIZE if min_size is None else min_size)
    return is_large and like.dtype == torch.float32 and like.device.type == "cpu" and _has_onednn()


@functools.cache
def _has_onednn() -> bool:
    """Whether this torch has the functions that are used here; they are not its public ones."""
    one = torch.ones(1, 1)
    try:
        return bool(_by_onednn(one, _in_order(one), one[0]) == 2)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
