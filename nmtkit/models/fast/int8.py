"""Matrices as translating multiplies with them: as they are, or in 8 bits; and rows kept.

In 8 bits, column j of a matrix is a scale s_j times whole numbers from -127 to 127; so is each row
of what it is multiplied with, by a scale of its own, found anew each time. The product is then one
of whole numbers, exact in 32 bits, times both scales. As no scale is shared between rows, a
sentence's translation does not depend on its neighbours.

What was read of the source is kept in 8 bits, too: there each row has a scale and an offset.
"""

import copy
from typing import TypeAlias

import torch
from torch import Tensor

from nmtkit.models.fast.matmul import addmm, matmul

LARGEST = 127
"""The largest whole number used, of the 8 bits: -128 is left out so that signs are alike."""


class Int8Matrix:
    """A matrix in 8 bits, to be multiplied with from the left.

    :param matrix: Shape: [n, w].
    """

    def __init__(self, matrix: Tensor) -> None:
        self._scales = _scales(matrix, dim=0)  # [1, w]
        # Transposed, so that columns can be picked quickly.
        self._int8 = _to_whole(matrix, self._scales).t().contiguous()

    def columns(self, chosen: Tensor | slice) -> "Int8Matrix":
        """The matrix of some columns only."""
        picked = copy.copy(self)
        picked._scales, picked._int8 = self._scales[:, chosen], self._int8[chosen]
        return picked

    def matmul(self, a: Tensor) -> Tensor:
        """a M. Shapes: [N, n]; the result: [N, w]."""
        found, scales = self.int_matmul(a)
        return (found * self._scales).mul_(scales)

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """addend + a M. Shapes: [N, w] or [w]; [N, n]; the result: [N, w]."""
        found, scales = self.int_matmul(a)
        return torch.addcmul(addend, found * self._scales, scales)

    def logits_at_columns(self, a: Tensor, addend: Tensor, columns: Tensor) -> Tensor:
        """Of each row of a M + addend some columns of its own.

        The whole numbers are multiplied as floats, which is exact for them, so that the result is
        that of `product` but for the last digit.

        :param a: Shape: [N, n].
        :param addend: Shape: [w].
        :param columns: Shape: [N, c].
        :return: Shape: [N, c].
        """
        scales = _scales(a, dim=1)
        whole = _to_whole(a, scales).to(a.dtype).unsqueeze(1)
        matrices = self._int8[columns.flatten()].to(a.dtype).view(*columns.shape, -1)
        found = torch.bmm(whole, matrices.transpose(1, 2)).squeeze(1)
        return torch.addcmul(addend[columns], found * self.scales_at(columns), scales)

    def scales_at(self, columns: Tensor) -> Tensor:
        """The scales of columns; of the same shape."""
        return self._scales[0][columns]

    def int_matmul(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """The product of the whole numbers [N, w], int32, and the scales of its rows [N, 1]."""
        scales = _scales(a, dim=1)
        return torch._int_mm(_to_whole(a, scales), self._int8.t()), scales


Matrix: TypeAlias = Tensor | Int8Matrix


class Int8Matrices:
    """Several matrices of one shape in 8 bits, each for rows of its own.

    :param matrices: Shape: [D, n, w].
    """

    def __init__(self, matrices: Tensor) -> None:
        self._scales = _scales(matrices, dim=1)  # [D, 1, w]
        self._int8 = _to_whole(matrices, self._scales).transpose(1, 2).contiguous()

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """addend_d + a_d M_d for each d. Shapes: [D, N, w]; [D, N, n]; the result: [D, N, w]."""
        scales = _scales(a, dim=2)
        whole = _to_whole(a, scales)
        found = torch.empty_like(addend, dtype=torch.int32, memory_format=torch.contiguous_format)
        for rows, matrix, of_both in zip(whole, self._int8, found, strict=True):
            torch._int_mm(rows, matrix.t(), out=of_both)
        return torch.addcmul(addend, found * self._scales, scales)


def linear(a: Tensor, matrix: Matrix, addend: Tensor | None = None) -> Tensor:
    """a M + addend. Shapes: [..., n]; [n, w]; [..., w] or [w]."""
    rows = a.reshape(-1, a.size(-1))
    if addend is not None and addend.dim() > 1:
        addend = addend.reshape(len(rows), -1)
    if isinstance(matrix, Int8Matrix):
        found = matrix.matmul(rows) if addend is None else matrix.addmm(addend, rows)
    else:
        found = matmul(rows, matrix) if addend is None else addmm(addend, rows, matrix)
    return found.view(*a.shape[:-1], -1)


def to_int8(matrix: Matrix) -> Matrix:
    """The matrix in 8 bits."""
    return Int8Matrix(matrix) if isinstance(matrix, Tensor) else matrix


def quantize_rows(rows: Tensor) -> Tensor:
    """Rows in 8 bits, each with its scale and offset behind it. [N, w] to [N, w + 8], uint8."""
    found: Tensor = torch.ops.quantized.embedding_bag_byte_prepack(rows.float())
    return found


def weighted_sums(weights: Tensor, values: Tensor) -> Tensor:
    """sum_j weights_ij values_j of each sentence.

    :param weights: Shape: [B, k, T].
    :param values: Shape: [B, T, w], or those of `quantize_rows` [B, T, w + 8].
    :return: Shape: [B, k, w].
    """
    if values.dtype != torch.uint8:
        return torch.bmm(weights, values)
    sentences, k, length = weights.shape
    apart = values.stride(0) // values.stride(1)  # rows from sentence to sentence
    rows = values.as_strided(
        ((sentences - 1) * apart + length, values.size(2)), values.stride()[1:]
    )
    first = torch.arange(0, sentences * apart, apart).view(-1, 1, 1)
    places = (first + torch.arange(length)).expand_as(weights).flatten()
    bags = torch.arange(0, len(places), length)
    found: Tensor = torch.ops.quantized.embedding_bag_byte_rowwise_offsets(
        rows, places, bags, False, 0, False, weights.float().flatten(), None, False
    )
    return found.view(sentences, k, -1).to(weights.dtype)


def _scales(values: Tensor, dim: int) -> Tensor:
    tiny = torch.finfo(values.dtype).tiny
    return values.abs().amax(dim, keepdim=True).clamp_(min=LARGEST * tiny).div_(LARGEST)


def _to_whole(values: Tensor, scales: Tensor) -> Tensor:
    return (values / scales).round_().to(torch.int8)
