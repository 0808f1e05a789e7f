"""Matrices as translating multiplies with them: as they are, or in 8 bits; and rows kept.

In 8 bits, column j of a matrix is a scale s_j times whole numbers from -127 to 127; so is each row
of what it is multiplied with, by a scale of its own, found anew each time. The product is then one
of whole numbers, exact in 32 bits, times both scales. As no scale is shared between rows, a
sentence's translation does not depend on its neighbours.
"""

import copy
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

LARGEST = 127
"""The largest whole number used, of the 8 bits: -128 is left out so that signs are alike."""


KEPT = 1 << 25
"""Bytes that `WordRows` may keep."""

TYPICAL_ROWS = 256
"""Rows for which a packed matrix is laid out; it serves for any number."""


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

    def product(self, a: Tensor, addend: Tensor | None = None) -> Tensor:
        """a M + addend.

        :param a: Shape: [N, n].
        :param addend: Shape: [N, w] or [w].
        """
        found, scales = self._whole_product(a)
        found = found * self._scales
        return found.mul_(scales) if addend is None else torch.addcmul(addend, found, scales)

    def product_at(self, a: Tensor, addend: Tensor, columns: Tensor) -> Tensor:
        """Some columns of a M + addend; only these are brought to scale.

        :param a: Shape: [B, k, n].
        :param addend: Shape: [w].
        :param columns: others for each of B. Shape: [B, c].
        :return: Shape: [B, k, c].
        """
        found, scales = self._whole_product(a.flatten(0, 1))
        found = found.view(*a.shape[:2], -1)
        columns = columns.unsqueeze(1)
        found = found.gather(2, columns.expand(-1, a.size(1), -1)) * self._scales[0][columns]
        return torch.addcmul(addend[columns], found, scales.view(*a.shape[:2], 1))

    def product_each(self, a: Tensor, addend: Tensor, columns: Tensor) -> Tensor:
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
        return torch.addcmul(addend[columns], found * self._scales[0][columns], scales)

    def _whole_product(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """The product of the whole numbers [N, w], int32, and the scales of its rows [N, 1]."""
        scales = _scales(a, dim=1)
        return torch._int_mm(_whole(a, scales), self._whole.t()), scales


Matrix: TypeAlias = Tensor | Int8Matrix


def product(a: Tensor, matrix: Matrix, addend: Tensor | None = None) -> Tensor:
    """a M + addend. Shapes: [..., n]; [n, w]; [..., w] or [w]."""
    rows = a.reshape(-1, a.size(-1))
    if addend is not None and addend.dim() > 1:
        addend = addend.reshape(len(rows), -1)
    if isinstance(matrix, Int8Matrix):
        found = matrix.product(rows, addend)
    else:
        found = rows @ matrix if addend is None else torch.addmm(addend, rows, matrix)
    return found.view(*a.shape[:-1], -1)


def quantized(matrix: Matrix) -> Matrix:
    """The matrix in 8 bits."""
    return Int8Matrix(matrix) if isinstance(matrix, Tensor) else matrix


class Tile:
    """Some rows of an output layer, in the form in which the whole of it is multiplied fastest.

    Torch's own products rearrange the matrix anew each time, which for few hypotheses takes as
    long as the product; oneDNN has a form that is made once.

    :param W: Shape: [w, l].
    :param bias: Shape: [w].
    :param whole: W transposed in 8 bits, if that is to be multiplied with.
    """

    def __init__(self, W: Tensor, bias: Tensor, whole: Int8Matrix | None) -> None:
        self.bias = bias
        self._W, self._whole = W, whole
        self._packed = None if whole else _packed(W, bias)

    def logits(self, hidden: Tensor) -> Tensor:
        """W t + bias. [N, l] to [N, w]."""
        if self._whole is not None:
            return self._whole.product(hidden, self.bias)
        if self._packed is not None:
            return _packed_product(hidden, self._packed, self.bias)
        return torch.addmm(self.bias, hidden, self._W.t())


def _packed(W: Tensor, bias: Tensor) -> Tensor | None:
    """W in oneDNN's form, where this build of torch has it."""
    if W.device.type != "cpu" or W.dtype != torch.float32:
        return None
    try:
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(W.contiguous(), TYPICAL_ROWS)
        _packed_product(W[:1], packed, bias)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return None
    return packed


def _packed_product(hidden: Tensor, packed: Tensor, bias: Tensor) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(hidden, packed, bias, "none", [], "")
    return found


class WordRows:
    """What follows from a word alone: a row for each, computed when it is first needed.

    Rows of the most frequent words are kept, as many as `KEPT` allows.

    :param compute: the rows of some words; -1 stands for the word before the first.
        Shapes: [n], int64, to [n, w].
    :param words: size of the vocabulary, the most frequent first.
    """

    def __init__(self, compute: Callable[[Tensor], Tensor], words: int) -> None:
        self._compute = compute
        first = compute(torch.full((1,), -1))
        self._known = torch.zeros(words + 1, dtype=torch.bool)
        # Memory that is not written to is not taken: words that never come cost none.
        kept = min(words + 1, max(1, KEPT // first.nbytes))
        self._rows = first.new_empty(kept, first.size(1))

    def __call__(self, words: Tensor) -> Tensor:
        """Shapes: [...] to [..., w]."""
        places = words.flatten() + 1
        unknown = ~self._known[places]
        if not bool(unknown.any()):
            found = self._rows.index_select(0, places)
        else:
            found = self._rows.index_select(0, places.clamp(max=len(self._rows) - 1))
            missing, order = torch.unique(places[unknown], return_inverse=True)
            computed = self._compute(missing - 1)
            found[unknown] = computed[order]
            kept = missing < len(self._rows)
            self._rows[missing[kept]] = computed[kept]
            self._known[missing[kept]] = True
        return found.view(*words.shape, -1)


def _scales(values: Tensor, dim: int) -> Tensor:
    tiny = torch.finfo(values.dtype).tiny
    return values.abs().amax(dim, keepdim=True).clamp_(min=LARGEST * tiny).div_(LARGEST)


def _whole(values: Tensor, scales: Tensor) -> Tensor:
    return (values / scales).round_().to(torch.int8)
