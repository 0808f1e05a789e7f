"""Matrix products by the faster of torch's two CPU libraries.

Torch multiplies float32 with MKL, which uses the widest vector instructions on Intel's CPUs only
and packs the second matrix again for every product. oneDNN, which torch uses for bfloat16, uses
the widest instructions of any CPU, and accepts matrices that were packed once. It prepares a kernel
for each new shape, which takes milliseconds and fragments the memory; therefore numbers of rows
are rounded up to a few values.

Float32 on Intel's CPUs, small matrices, other types and devices, and a torch without these
functions use torch's own products. The results differ by rounding; each library is deterministic.
"""

import functools
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.fast import torch_private

LARGE_SIZE = 3 << 18
"""Elements of a matrix that oneDNN, where it is used, multiplies faster with any number of rows."""

GATHERED_NUMBERS = 1 << 19
"""Numbers that `products_of_lists` gathers at a time."""


def _min_onednn_size() -> int:
    """Return `MIN_ONEDNN_SIZE` for this processor."""
    capabilities = torch_private.processor_capabilities()
    # A torch that does not name the processor leaves open which it is: as for Intel's, MKL is fast.
    intel = str(capabilities.get("cpu_name", "Intel")).startswith("Intel")
    return 1 << 14 if capabilities.get("avx512_f") and not intel else sys.maxsize


MIN_ONEDNN_SIZE = _min_onednn_size()
"""Elements of the smallest float32 matrix given to oneDNN. Where it alone uses 512-bit vectors,
about 128 x 128: packed matrices take less than half of MKL's time from 40 rows on, and a whole
update of n = 192 takes 10 % less. Elsewhere MKL is as fast at every size, or faster."""

MIN_ROWS = 16
"""Rows that oneDNN multiplies by a smaller matrix faster than MKL, if it is packed."""

MIN_ROWS_TO_PACK = 64
"""Rows for which packing a smaller matrix for one product pays."""

ROW_MULTIPLE = 8
"""Numbers of rows from this to 128 are rounded up to multiples of this."""

MAX_ROWS = 512
"""Rows of the largest product in float32; more rows are multiplied in parts."""

LARGE_ROW_MULTIPLE = 64
"""Numbers of rows above 128 are rounded up to multiples of this."""

ROW_DIGITS = 4
"""Binary digits of numbers of rows above 512 in bfloat16; more are rounded up, so that a product
has at most an eighth more rows."""

TYPICAL_ROWS = 256
"""Rows for which a matrix is packed; the packed matrix serves for any number."""


def matmul_dtype(values: Tensor) -> torch.dtype:
    """Return the type in which to multiply `values`: autocast's type where it is enabled."""
    device = values.device.type
    if values.dtype == torch.float32 and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return values.dtype


def chunk_rows(limit: int) -> int:
    """Return how many rows to multiply at a time so that none need to be copied.

    :return: at most `limit`, at least LARGE_ROW_MULTIPLE.
    """
    return max(LARGE_ROW_MULTIPLE, min(MAX_ROWS, limit) // LARGE_ROW_MULTIPLE * LARGE_ROW_MULTIPLE)


def matmul(a: Tensor, B: Tensor) -> Tensor:
    """Return a B. Shapes: [..., n]; [n, w]; the result: [..., w]."""
    if not _is_worth_packing(a, B):
        return a @ B
    if a.dim() > 2:
        return matmul(a.flatten(0, -2), B).view(*a.shape[:-1], B.size(1))
    return _affine(None, a, B)


def addmm(bias: Tensor, a: Tensor, B: Tensor) -> Tensor:
    """Return bias + a B. Shapes: [w] or [..., w]; [..., n]; [n, w]; the result: [..., w]."""
    if a.dim() > 2:
        addend = bias.flatten(0, -2) if bias.dim() > 1 else bias
        return addmm(addend, a.flatten(0, -2), B).view(*a.shape[:-1], B.size(1))
    if _is_worth_packing(a, B):
        return _affine(bias, a, B)
    return torch.addmm(bias, a, B)


def matmul_transposed(a: Tensor, b: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Return a^T b, the gradient of a matrix, without autograd.

    Shapes: [N, n] or [D, N, n]; [N, w] or [D, N, w]; the result: [n, w] or [D, n, w].

    :param dtype: the type to multiply in, and of the result; None: that of `a`.
    """
    dtype = a.dtype if dtype is None else dtype
    if not _suits_onednn(a.device, dtype, a.size(-1) * b.size(-1)):
        return a.to(dtype).transpose(-2, -1) @ b.to(dtype)
    if a.dim() == 3:
        pairs = zip(a, b, strict=True)
        return torch.stack([matmul_transposed(*pair, dtype) for pair in pairs])
    if dtype == torch.bfloat16:
        return _in_round_rows(a, dtype).t() @ _in_round_rows(b, dtype)
    rows = len(a) - len(a) % (MAX_ROWS // 2)  # for oneDNN; torch multiplies the rest
    if not rows:
        return a.t() @ b
    product = _onednn_linear(a[:rows].t(), _contiguous(b[:rows]).t(), None)
    return product if rows == len(a) else product.addmm_(a[rows:].t(), b[rows:])


def addmm_transposed_(total: Tensor, a: Tensor, b: Tensor) -> None:
    """Add a^T b to `total` in place, in the type of `total`, without autograd.

    Float32 is multiplied by torch itself: it adds while it multiplies, which oneDNN cannot.
    Shapes: [n, w]; [N, n]; [N, w].
    """
    if total.dtype == a.dtype:
        total.addmm_(a.t(), b)
    else:
        total += matmul_transposed(a, b)


def products_of_lists(a: Tensor, columns_of_B: Tensor, lists: Tensor) -> Tensor:
    """Return each row's own list of columns of a B.

    The columns are gathered for some rows at a time, so that they stay in the processor's cache.

    :param a: Shape: [N, n].
    :param columns_of_B: B transposed, of any type. Shape: [w, n].
    :param lists: numbers of columns. Shape: [N, c].
    :return: Shape: [N, c].
    """
    size = max(1, lists.size(1) * a.size(1))
    step = max(1, GATHERED_NUMBERS // size) if a.device.type == "cpu" else max(1, len(a))
    products = []
    for rows, part in zip(torch.split(a, step), torch.split(lists, step), strict=True):
        columns = columns_of_B.index_select(0, part.flatten()).to(a.dtype)
        columns = columns.view(*part.shape, a.size(1)).transpose(1, 2)  # [r, n, c]
        products.append(torch.bmm(rows.unsqueeze(1), columns).squeeze(1))
    return torch.cat(products) if len(products) > 1 else products[0]


class Prepacked:
    """A matrix, or several of one shape, packed once for many products; without autograd.

    Products are computed in the matrix's type; sums have the addend's type.

    :param B: Shape: [n, w], or [D, n, w] for D separate products.
    :param min_size: elements of the smallest matrix given to oneDNN; None for MIN_ONEDNN_SIZE.
    """

    def __init__(self, B: Tensor, min_size: int | None = None) -> None:
        self._B = B
        size = B.size(-2) * B.size(-1)
        suits = _suits_onednn(B.device, B.dtype, size, min_size)
        self._weights = [_pack(B.t()) for B in _unbind(B)] if suits else []
        any_rows = min_size is not None or size >= LARGE_SIZE or B.dtype == torch.bfloat16
        self._min_rows = 0 if any_rows else MIN_ROWS

    def matmul(self, a: Tensor) -> Tensor:
        """Return a B. Shapes: [N, n] or [D, N, n]; the result: [N, w] or [D, N, w]."""
        if not self._uses_onednn(a):
            return a.to(self._B.dtype) @ self._B
        pairs = zip(_unbind(a), self._weights, strict=True)
        product = [_linear_in_parts(rows, weight) for rows, weight in pairs]
        return torch.stack(product) if a.dim() == 3 else product[0]

    def addmm(self, addend: Tensor, a: Tensor, out: Tensor | None = None) -> Tensor:
        """Return addend + a B, written into `out` if given.

        Shapes: [w], [N, w] or [D, N, w]; [N, n] or [D, N, n]; the result: [N, w] or [D, N, w].
        """
        uses_onednn = self._uses_onednn(a)
        if uses_onednn and (addend.dim() > 1 or out is not None):
            out = torch.empty_like(addend) if out is None else out
            for parts in zip(_unbind(addend), _unbind(a), self._weights, _unbind(out), strict=True):
                addend_d, a_d, weight, out_d = parts
                torch.add(addend_d, _linear_in_parts(a_d, weight), out=out_d)
            return out
        if addend.dtype != self._B.dtype:
            return torch.add(addend, self.matmul(a), out=out)
        if uses_onednn:
            return _linear_in_parts(a, self._weights[0], addend)
        add_product = torch.baddbmm if a.dim() == 3 else torch.addmm
        return add_product(addend, a, self._B, out=out)

    def _uses_onednn(self, a: Tensor) -> bool:
        return bool(self._weights) and a.size(-2) >= self._min_rows


class BFloat16Matrix:
    """A matrix M in bfloat16, or several of one shape, packed once for many products in search.

    M and the rows multiplied by it are rounded to 8 bits of mantissa, products are summed in
    float32, and sums rounded once, to a relative error of 2^-9. Rows do not influence each other,
    so a sentence's translation does not depend on the others of a batch.

    :param matrix: Shape: [n, w], or [D, n, w] for D separate products.
    """

    def __init__(self, matrix: Tensor) -> None:
        self._packed = Prepacked(matrix.to(torch.bfloat16))

    def matmul(self, a: Tensor) -> Tensor:
        """Return a M in the type of a. Shapes: [N, n] or [D, N, n]; [N, w] or [D, N, w]."""
        return self._packed.matmul(a).to(a.dtype)

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """Return addend + a M in the type of the addend.

        Shapes: [w], [N, w] or [D, N, w]; [N, n] or [D, N, n]; the result: [N, w] or [D, N, w].
        """
        return addend + self._packed.matmul(a)


def _affine(addend: Tensor | None, a: Tensor, B: Tensor) -> Tensor:
    """Return addend + a B by oneDNN. Shapes as in `addmm`."""
    dtype = matmul_dtype(a)
    if dtype == torch.bfloat16:
        product: Tensor = _BFloat16Product.apply(a, B.to(dtype))  # type: ignore[no-untyped-call]
        return product if addend is None else product + addend.to(dtype)
    return _Affine.apply(addend, a, B)  # type: ignore[no-any-return,no-untyped-call]


class _Affine(Function):
    @staticmethod
    def forward(ctx: Any, addend: Tensor | None, a: Tensor, B: Tensor) -> Tensor:
        B = _contiguous(B)
        ctx.save_for_backward(a, B)
        ctx.is_bias = addend is not None and addend.dim() == 1
        product = _linear_in_parts(a, B.t())
        return product if addend is None else product.add_(addend)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, B = ctx.saved_tensors
        needs_addend, needs_a, needs_B = ctx.needs_input_grad
        return (
            (grad.sum(0) if ctx.is_bias else grad) if needs_addend else None,
            _linear_in_parts(grad, B) if needs_a else None,
            matmul_transposed(a, grad) if needs_B else None,
        )


class _BFloat16Product(Function):
    """a B in bfloat16; rows are rounded and filled up once for each of the products."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, B: Tensor) -> Tensor:
        B = _contiguous(B)
        low_a = _in_round_rows(a, B.dtype)
        ctx.save_for_backward(low_a, B)
        ctx.rows, ctx.dtype = len(a), a.dtype
        return _onednn_linear(low_a, B.t(), None)[: len(a)]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        low_a, B = ctx.saved_tensors
        needs_a, needs_B = ctx.needs_input_grad
        low_grad = _in_round_rows(grad, B.dtype)
        return (
            _onednn_linear(low_grad, B, None)[: ctx.rows].to(ctx.dtype) if needs_a else None,
            low_a.t() @ low_grad if needs_B else None,
        )


def _unbind(values: Tensor) -> Sequence[Tensor]:
    return values.unbind() if values.dim() == 3 else [values]


def _contiguous(B: Tensor) -> Tensor:
    """Return B, copied if it is a slice of a matrix: oneDNN is a hundred times slower on slices."""
    return B if B.is_contiguous() or B.t().is_contiguous() else B.contiguous()


def _pack(weight: Tensor) -> Tensor:
    """Return W in the layout that oneDNN multiplies fastest.

    If W^T is contiguous in memory, W is not packed: packing would take longer than it saves.
    """
    if weight.t().is_contiguous():
        return weight
    return torch_private.onednn_pack(weight, TYPICAL_ROWS)


def _linear_in_parts(a: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return a W^T + bias in the type of W. Shapes: [N, n]; [w, n]; [w]; [N, w].

    Float32 has at most MAX_ROWS rows at a time.
    """
    rows = len(a)
    if rows <= MAX_ROWS or weight.dtype == torch.bfloat16:
        return _onednn_linear(_in_round_rows(a, weight.dtype), weight, bias)[:rows]
    product = a.new_empty(rows, weight.size(0))
    for start in range(0, rows, MAX_ROWS):
        part = slice(start, start + MAX_ROWS)
        product[part] = _linear_in_parts(a[part], weight, bias)
    return product


def _in_round_rows(a: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a in this type, contiguous, with rows of zeros up to one of a few numbers of rows."""
    rows = len(a)
    if rows < ROW_MULTIPLE:  # a line that is alone; padding takes longer than a few kernels
        return a.to(dtype).contiguous()
    unit = ROW_MULTIPLE if rows <= 2 * LARGE_ROW_MULTIPLE else LARGE_ROW_MULTIPLE
    unit = max(unit, 1 << max(0, (rows - 1).bit_length() - ROW_DIGITS))
    if rows % unit == 0:
        return a.to(dtype).contiguous()
    padded = a.new_empty(rows + -rows % unit, a.size(1), dtype=dtype)
    padded[:rows], padded[rows:] = a, 0
    return padded


def _onednn_linear(a: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch_private.onednn_linear(a, weight, bias)


def _is_worth_packing(a: Tensor, B: Tensor) -> bool:
    """Return True if oneDNN computes a B faster than torch does, although it packs B first."""
    rows, dtype = a.numel() // max(1, a.size(-1)), matmul_dtype(a)
    enough = dtype == torch.bfloat16 or rows >= MIN_ROWS_TO_PACK or B.numel() >= LARGE_SIZE
    return enough and dtype == matmul_dtype(B) and _suits_onednn(B.device, dtype, B.numel())


def _suits_onednn(
    device: torch.device, dtype: torch.dtype, size: int, min_size: int | None = None
) -> bool:
    """Return True if oneDNN multiplies matrices of `size` elements, of this type, by itself.

    Torch gives it all of bfloat16, too, but not with a few numbers of rows only.
    """
    smallest = {
        torch.float32: MIN_ONEDNN_SIZE if min_size is None else min_size,
        torch.bfloat16: 0,
    }.get(dtype, sys.maxsize)
    return device.type == "cpu" and size >= smallest and _has_onednn(dtype)


@functools.cache
def _has_onednn(dtype: torch.dtype) -> bool:
    """Return True if this torch has oneDNN's private functions, and they work on this processor.

    bfloat16 needs AVX-512.
    """
    one = torch.ones(1, 1, dtype=dtype)
    try:
        return bool(_onednn_linear(one, _pack(one), one[0]) == 2)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
