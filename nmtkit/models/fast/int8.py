"""8-bit matrix products for search, and 8-bit annotations.

Column j of a matrix is stored as integers from -127 to 127 and their scale s_j. The rows multiplied
by it are quantized at run time, each with its own scale. The product is the integer product, exact
in 32 bits, times both scales. Rows share no scale, so a sentence's translation does not depend on
the other sentences of the batch.

The values that attention averages are also stored in 8 bits, with a scale and an offset for each
row.
"""

import copy
from typing import TypeAlias

import torch
from torch import Tensor

from nmtkit.models.fast.matmul import BFloat16Matrix, Prepacked, addmm, matmul
from nmtkit.models.fast.torch_private import int_matmul, pack_rows, sum_packed_rows
from nmtkit.models.precision import Precision

MAX_INT8 = 127
"""The largest integer used; -128 is left out so that the range is symmetric."""


class Int8Matrix:
    """A matrix M in 8 bits, for products a M.

    :param matrix: Shape: [n, w].
    """

    def __init__(self, matrix: Tensor) -> None:
        self._scales = _scales(matrix, dim=0)  # [1, w]
        # Transposed, so that columns can be selected quickly.
        self._int8 = _round(matrix, self._scales).t().contiguous()

    def columns(self, columns: Tensor | slice) -> "Int8Matrix":
        """Return the matrix of the selected columns."""
        selected = copy.copy(self)
        selected._scales, selected._int8 = self._scales[:, columns], self._int8[columns]
        return selected

    def matmul(self, a: Tensor) -> Tensor:
        """Return a M. Shapes: [N, n]; the result: [N, w]."""
        product, scales = self.int_matmul(a)
        return (product * self._scales).mul_(scales)

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """Return addend + a M. Shapes: [N, w] or [w]; [N, n]; the result: [N, w]."""
        product, scales = self.int_matmul(a)
        return torch.addcmul(addend, product * self._scales, scales)

    def logits_at_columns(self, a: Tensor, addend: Tensor, columns: Tensor) -> Tensor:
        """Return each row's own list of columns of a M + addend.

        The integers are multiplied as floats, which is exact, so the result equals that of `addmm`
        to the last digit.

        :param a: Shape: [N, n].
        :param addend: Shape: [w].
        :param columns: Shape: [N, c].
        :return: Shape: [N, c].
        """
        scales = _scales(a, dim=1)
        rows = _round(a, scales).to(a.dtype).unsqueeze(1)  # [N, 1, n]
        matrices = self._int8[columns.flatten()].to(a.dtype).view(*columns.shape, -1)  # [N, c, n]
        product = torch.bmm(rows, matrices.transpose(1, 2)).squeeze(1)  # [N, c]
        return torch.addcmul(addend[columns], product * self.scales_at(columns), scales)

    def scales_at(self, columns: Tensor) -> Tensor:
        """Return the columns' scales, in the shape of `columns`."""
        return self._scales[0][columns]

    def int_matmul(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """Return the integer product [N, w], int32, and the scales of its rows [N, 1]."""
        scales = _scales(a, dim=1)
        return int_matmul(_round(a, scales), self._int8.t()), scales


Matrix: TypeAlias = Tensor | Prepacked | BFloat16Matrix | Int8Matrix


class Int8Matrices:
    """Several 8-bit matrices of one shape, for separate products.

    :param matrices: Shape: [D, n, w].
    """

    def __init__(self, matrices: Tensor) -> None:
        self._scales = _scales(matrices, dim=1)  # [D, 1, w]
        self._int8 = _round(matrices, self._scales).transpose(1, 2).contiguous()

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """Return addend_d + a_d M_d. Shapes: [D, N, w]; [D, N, n]; the result: [D, N, w]."""
        scales = _scales(a, dim=2)
        int_rows = _round(a, scales)
        product = torch.empty_like(addend, dtype=torch.int32, memory_format=torch.contiguous_format)
        for rows, matrix, out in zip(int_rows, self._int8, product, strict=True):
            int_matmul(rows, matrix.t(), out=out)
        return torch.addcmul(addend, product * self._scales, scales)


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
    """Return matrices [D, n, w] as many separate products need them; see `for_products`."""
    if precision == "int8":
        return Int8Matrices(matrices)
    return BFloat16Matrix(matrices) if precision == "bfloat16" else Prepacked(matrices)


def quantize_rows(rows: Tensor) -> Tensor:
    """Quantize rows to 8 bits, with scale and offset behind each. [N, w] to [N, w + 8], uint8."""
    return pack_rows(rows.float())


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


def _scales(values: Tensor, dim: int) -> Tensor:
    tiny = torch.finfo(values.dtype).tiny
    return values.abs().amax(dim, keepdim=True).clamp_(min=MAX_INT8 * tiny).div_(MAX_INT8)


def _round(values: Tensor, scales: Tensor) -> Tensor:
    return (values / scales).round_().to(torch.int8)
