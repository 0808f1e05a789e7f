"""Matrices as translating multiplies with them: as they are, or in 8 bits; and rows kept.

In 8 bits, column j of a matrix is a scale s_j times whole numbers from -127 to 127; so is each row
of what it is multiplied with, by a scale of its own, found anew each time. The product is then one
of whole numbers, exact in 32 bits, times both scales. As no scale is shared between rows, a
sentence's translation does not depend on its neighbours.

What was read of the source is kept in 8 bits, too: there each row has a scale and an offset.
"""

import copy
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from nmtkit.models.fast.matmul import Prepacked, addmm, matmul

LARGEST = 127
"""The largest whole number used, of the 8 bits: -128 is left out so that signs are alike."""


KEPT = 1 << 25
"""Bytes that `EmbeddingCache` may keep."""


class Int8Matrix:
    """A matrix in 8 bits, to be multiplied with from the left.

    :param matrix: Shape: [n, w].
    """

    def __init__(self, matrix: Tensor) -> None:
        self._scales = _scales(matrix, dim=0)  # [1, w]
        # Transposed, so that columns can be picked quickly.
        self._whole = _whole(matrix, self._scales).t().contiguous()

    def columns(self, chosen: Tensor | slice) -> "Int8Matrix":
        """The matrix of some columns only."""
        picked = copy.copy(self)
        picked._scales, picked._whole = self._scales[:, chosen], self._whole[chosen]
        return picked

    def matmul(self, a: Tensor) -> Tensor:
        """a M. Shapes: [N, n]; the result: [N, w]."""
        found, scales = self.whole_product(a)
        return (found * self._scales).mul_(scales)

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """addend + a M. Shapes: [N, w] or [w]; [N, n]; the result: [N, w]."""
        found, scales = self.whole_product(a)
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
        whole = _whole(a, scales).to(a.dtype).unsqueeze(1)
        matrices = self._whole[columns.flatten()].to(a.dtype).view(*columns.shape, -1)
        found = torch.bmm(whole, matrices.transpose(1, 2)).squeeze(1)
        return torch.addcmul(addend[columns], found * self.scales_at(columns), scales)

    def scales_at(self, columns: Tensor) -> Tensor:
        """The scales of columns; of the same shape."""
        return self._scales[0][columns]

    def whole_product(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """The product of the whole numbers [N, w], int32, and the scales of its rows [N, 1]."""
        scales = _scales(a, dim=1)
        return torch._int_mm(_whole(a, scales), self._whole.t()), scales


Matrix: TypeAlias = Tensor | Int8Matrix


class Int8Matrices:
    """Several matrices of one shape in 8 bits, each for rows of its own.

    :param matrices: Shape: [D, n, w].
    """

    def __init__(self, matrices: Tensor) -> None:
        self._scales = _scales(matrices, dim=1)  # [D, 1, w]
        self._whole = _whole(matrices, self._scales).transpose(1, 2).contiguous()

    def addmm(self, addend: Tensor, a: Tensor) -> Tensor:
        """addend_d + a_d M_d for each d. Shapes: [D, N, w]; [D, N, n]; the result: [D, N, w]."""
        scales = _scales(a, dim=2)
        whole = _whole(a, scales)
        found = torch.empty_like(addend, dtype=torch.int32, memory_format=torch.contiguous_format)
        for rows, matrix, of_both in zip(whole, self._whole, found, strict=True):
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


class OutputShard:
    """Some rows of an output layer, in the form in which the whole of it is multiplied fastest.

    It is put in order once, however small it is: hypotheses are few, so that to do so at every
    linear, as torch's own does, takes as long as the product.

    :param W: Shape: [w, l].
    :param bias: Shape: [w].
    :param whole: W transposed in 8 bits, if that is to be multiplied with.
    """

    def __init__(self, W: Tensor, bias: Tensor, whole: Int8Matrix | None) -> None:
        self.bias = bias
        self._by_W = whole or Prepacked(W.t(), least=1)

    def logits(self, hidden: Tensor) -> Tensor:
        """W t + bias. [N, l] to [N, w]."""
        return self._by_W.addmm(self.bias, hidden)


class CandidateLayer:
    """Some words of an output layer, others for each sentence.

    The layer is multiplied once for all words that are in any list; each sentence picks its own.

    :param W: Shape: [K, l].
    :param bias: Shape: [K].
    :param whole: W transposed in 8 bits, if that is to be multiplied with.
    :param lists: words, -1 where there is none. Shape: [B, C].
    """

    def __init__(self, W: Tensor, bias: Tensor, whole: Int8Matrix | None, lists: Tensor) -> None:
        words = lists.clamp(min=0)
        wanted = torch.zeros(len(bias), dtype=torch.bool, device=lists.device)
        wanted[words] = True
        union = wanted.nonzero().squeeze(1)
        self._columns = (wanted.cumsum(0) - 1)[words].unsqueeze(1)  # of the union [B, 1, C]
        self._bias = bias[words].masked_fill_(lists < 0, -torch.inf).unsqueeze(1)
        self._scales = None if whole is None else whole.scales_at(words).unsqueeze(1)
        self._matrix: Matrix = W[union].t() if whole is None else whole.columns(union)

    def select(self, rows: Tensor) -> "CandidateLayer":
        """The same for some of the sentences."""
        some = copy.copy(self)
        some._columns, some._bias = self._columns[rows], self._bias[rows]
        some._scales = None if self._scales is None else self._scales[rows]
        return some

    def logits(self, hidden: Tensor) -> Tensor:
        """W t + bias of each sentence's words, -inf where there is none. [B, k, l] to [B, k, C]."""
        rows = hidden.flatten(0, 1)
        if isinstance(self._matrix, Int8Matrix) and self._scales is not None:
            found, scales = self._matrix.whole_product(rows)
            found = self._own(found, hidden.size(1)) * self._scales
            return torch.addcmul(self._bias, found, scales.view(*hidden.shape[:2], 1))
        return self._own(linear(rows, self._matrix), hidden.size(1)).add_(self._bias)

    def _own(self, values: Tensor, k: int) -> Tensor:
        """Of what was found for the union [B * k, u] each sentence's own [B, k, C]."""
        columns = self._columns.expand(-1, k, -1)
        return values.view(len(columns), k, -1).gather(2, columns)


class EmbeddingCache:
    """What follows from a word alone: a row for each, computed when it is first needed.

    Rows of the most frequent words are kept, as many as `KEPT` allows.

    :param compute: the rows of some words; -1 stands for the word before the first.
        Shapes: [n], int64, to [n, w].
    :param words: size of the vocabulary, the most frequent first.
    """

    def __init__(self, compute: Callable[[Tensor], Tensor], words: int) -> None:
        self._compute = compute
        first = compute(torch.full((1,), -1))
        # Memory that is not written to is not taken: words that never come cost none.
        kept = min(words + 1, max(1, KEPT // first.nbytes))
        self._rows = first.new_empty(kept, first.size(1))
        self._known = torch.zeros(kept, dtype=torch.bool)
        self._keeps_all = kept > words

    def __call__(self, words: Tensor) -> Tensor:
        """Shapes: [...] to [..., w]."""
        places = words.flatten() + 1
        if self._keeps_all:
            found = self._kept(places)
        else:
            common = places < len(self._rows)
            found = self._kept(places.where(common, 0))
            rare, order = torch.unique(places[~common], return_inverse=True)
            if len(rare):
                found[~common] = self._compute(rare - 1)[order]
        return found.view(*words.shape, -1)

    def _kept(self, places: Tensor) -> Tensor:
        """Rows that are kept, computed if they are not yet known."""
        known = self._known.index_select(0, places)
        if not bool(known.all()):
            missing = torch.unique(places[~known])
            self._rows.index_copy_(0, missing, self._compute(missing - 1))
            self._known.index_fill_(0, missing, True)
        return self._rows.index_select(0, places)


def _scales(values: Tensor, dim: int) -> Tensor:
    tiny = torch.finfo(values.dtype).tiny
    return values.abs().amax(dim, keepdim=True).clamp_(min=LARGEST * tiny).div_(LARGEST)


def _whole(values: Tensor, scales: Tensor) -> Tensor:
    return (values / scales).round_().to(torch.int8)
