"""8-bit matrix products for search, and 8-bit annotations.

Column j of a matrix is stored as integers from -127 to 127 and their scale s_j. The rows multiplied
by it are quantized at run time, each with its own scale. The product is the integer product, exact
in 32 bits, times both scales. Rows share no scale, so a sentence's
translation does not depend on the other sentences of the batch.

Processors with VNNI (AVX-512) multiply rows of integers from -127 to 127. On other x86 processors
FBGEMM multiplies rows from -64 to 64, in units of 1/64. Elsewhere products are slow; see
`is_int8_fast`.

The values that attention averages are also stored in 8 bits, with a scale and an offset for each
row.
"""

import copy
import functools
from typing import TypeAlias

import torch
from torch import Tensor

from nmtkit.models.fast.matmul import BFloat16Matrix, Prepacked, addmm, matmul, products_of_lists
from nmtkit.models.fast.torch_private import (
    MAX_FBGEMM_ROW,
    fbgemm_pack,
    fbgemm_product,
    has_fbgemm,
    has_int_matmul,
    int_matmul,
    pack_rows,
    processor_capabilities,
    sum_packed_rows,
    unpack_rows,
)
from nmtkit.models.precision import Precision

MAX_INT8 = 127
"""The largest integer used; -128 is left out so that the range is symmetric."""


@functools.cache
def _has_vnni() -> bool:
    return bool(processor_capabilities().get("avx512_vnni")) and has_int_matmul()


@functools.cache
def _uses_fbgemm() -> bool:
    return not _has_vnni() and has_fbgemm()


def is_int8_fast() -> bool:
    """Return True if this processor, with this torch, multiplies 8-bit integers fast."""
    return _has_vnni() or _uses_fbgemm()


class Int8Matrix:
    """A matrix M in 8 bits, for products a M.

    scales: of the columns. Shape: [w].
    scales_left: what columns of `unscaled_product` are still to be multiplied by; None for 1. [w].

    :param matrix: Shape: [n, w].
    """

    def __init__(self, matrix: Tensor) -> None:
        scales = _scales(matrix, MAX_INT8, dim=0).squeeze(0)  # [w]
        # Transposed, so that columns can be selected quickly.
        self._integers = (matrix / scales).round_().to(torch.int8).t().contiguous()
        self.scales = scales
        self._packed = fbgemm_pack(self._integers, scales) if _uses_fbgemm() else None
        self.scales_left = None if self._packed is not None else scales

    def columns(self, columns: Tensor) -> "Int8Matrix":
        """Return the matrix of the selected columns, for few products."""
        selected = copy.copy(self)
        selected._integers = self._integers.index_select(0, columns)
        selected.scales = selected.scales_left = self.scales[columns]
        if self._packed is not None:  # packing with scales takes four times as long
            selected._packed = fbgemm_pack(selected._integers, None)
        return selected

    def matmul(self, a: Tensor) -> Tensor:
        """Return a M. Shapes: [N, n]; the result: [N, w]."""
        scales = row_scales(a)
        return self.product(a / scales).mul_(scales)

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """Return addend + a M. Shapes: [N, w] or [w]; [N, n]; the result: [N, w]."""
        scales = row_scales(a)
        return torch.addcmul(addend, self.product(a / scales), scales)

    def logits_at_columns(self, a: Tensor, addend: Tensor, columns: Tensor) -> Tensor:
        """Return each row's own list of columns of a M + addend.

        The integers are multiplied as floats, which is exact, so the result equals that of `addmm`
        to the last digit.

        :param a: Shape: [N, n].
        :param addend: Shape: [w].
        :param columns: Shape: [N, c].
        :return: Shape: [N, c].
        """
        scales = row_scales(a)
        unit = 1 if self._packed is None else MAX_FBGEMM_ROW
        rows = (a / scales).mul_(unit).round_().div_(unit)
        product = products_of_lists(rows, self._integers, columns)
        return torch.addcmul(addend[columns], product * self.scales[columns], scales)

    def product(self, rows: Tensor) -> Tensor:
        """Return the product of rows divided by `row_scales`, rounded. [N, n] to [N, w]."""
        product = self.unscaled_product(rows)
        return product if self.scales_left is None else product * self.scales_left

    def unscaled_product(self, rows: Tensor) -> Tensor:
        """Return `product` without `scales_left`, where few of its columns are needed."""
        if self._packed is not None:
            return fbgemm_product(rows.float(), self._packed).to(rows.dtype)
        return int_matmul(rows.round().to(torch.int8), self._integers.t())


def row_scales(rows: Tensor) -> Tensor:
    """Return by what rows are divided before their product with 8-bit matrices.

    They are from -1 to 1 then for FBGEMM, and otherwise from -127 to 127. Shapes: [..., n];
    [..., 1].
    """
    return _scales(rows, 1 if _uses_fbgemm() else MAX_INT8, dim=-1)


def _scales(values: Tensor, largest: int, dim: int) -> Tensor:
    """Return by what values are divided to be from -largest to largest; `dim` becomes 1."""
    tiny = torch.finfo(values.dtype).tiny
    scales = values.abs().amax(dim, keepdim=True).clamp_(min=largest * tiny)
    return scales if largest == 1 else scales.div_(largest)


Matrix: TypeAlias = Tensor | Prepacked | BFloat16Matrix | Int8Matrix


class Int8Matrices:
    """Several 8-bit matrices of one shape, for separate products.

    :param matrices: Shape: [D, n, w].
    """

    def __init__(self, matrices: Tensor) -> None:
        self._matrices = [Int8Matrix(matrix) for matrix in matrices]

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """Return addend_d + a_d M_d. Shapes: [D, N, w]; [D, N, n]; the result: [D, N, w]."""
        scales = row_scales(a)
        pairs = zip(self._matrices, a / scales, strict=True)
        product = torch.stack([matrix.product(rows) for matrix, rows in pairs])
        return torch.addcmul(addend, product, scales)


def linear(a: Tensor, matrix: Matrix, addend: Tensor | None = None) -> Tensor:
    """Return a M + addend. Shapes: [..., n]; [n, w]; [..., w] or [w]."""
    rows = a.reshape(-1, a.size(-1))
    if addend is not None and addend.dim() > 1:
        addend = addend.reshape(rows.size(0), -1)
    if isinstance(matrix, Tensor):
        product = matmul(rows, matrix) if addend is None else addmm(addend, rows, matrix)
    else:
        product = matrix.matmul(rows) if addend is None else matrix.addmm(addend, rows)
    return product.view(*a.shape[:-1], -1)


Matrices: TypeAlias = Prepacked | BFloat16Matrix | Int8Matrices


def for_products(matrix: Tensor, precision: Precision) -> Matrix:
    """Return a matrix [n, w] as many products need it: in 8 or 16 bits, or packed once."""
    if precision == "int8":
        return Int8Matrix(matrix)
    return BFloat16Matrix(matrix) if precision == "bfloat16" else Prepacked(matrix)


def for_separate_products(matrices: Tensor, precision: Precision) -> Matrices:
    """Return matrices [D, n, w] as many separate products need them; see `for_products`.

    Those that FBGEMM would multiply in 8 bits stay in float32: each of the D products would be a
    call of its own, which costs what 8 bits save.
    """
    if precision == "int8" and not _uses_fbgemm():
        return Int8Matrices(matrices)
    return BFloat16Matrix(matrices) if precision == "bfloat16" else Prepacked(matrices)


def quantize_rows(rows: Tensor) -> Tensor:
    """Quantize rows to 8 bits, with scale and offset behind each. [N, w] to [N, w + 8], uint8."""
    return pack_rows(rows.float())


def round_rows(rows: Tensor) -> Tensor:
    """Return rows as `quantize_rows` holds them, in their own type; for few. Shape: [N, w]."""
    return unpack_rows(quantize_rows(rows)).to(rows.dtype)


def weighted_sums(weights: Tensor, values: Tensor) -> Tensor:
    """Return sum_j weights_ij values_j of each sentence.

    :param weights: Shape: [B, k, T].
    :param values: Shape: [B, T, w]; [B, T, w + 8] from `quantize_rows`.
    :return: Shape: [B, k, w].
    """
    if values.dtype != torch.uint8:
        return torch.bmm(weights, values)
    sentences, k, length = weights.shape
    row_stride = values.stride(0) // values.stride(1)  # rows from sentence to sentence
    rows = values.as_strided(
        ((sentences - 1) * row_stride + length, values.size(2)), values.stride()[1:]
    )
    first = torch.arange(0, sentences * row_stride, row_stride).view(-1, 1, 1)
    positions = (first + torch.arange(length)).expand_as(weights).flatten()
    bags = torch.arange(0, len(positions), length)
    sums = sum_packed_rows(rows, positions, bags, weights.float().flatten())
    return sums.view(sentences, k, -1).to(weights.dtype)
