"""The output layer for inference: prepacked shards, unions of candidates, 8-bit products."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nmtkit.models.base import CandidateLayer, LogitLayer, OutputLayer, padded_shard
from nmtkit.models.fast.int8 import Int8Matrix, Matrix, linear, row_scales
from nmtkit.models.fast.matmul import BFloat16Matrix, Prepacked, products_of_lists
from nmtkit.models.precision import Precision


@dataclass(frozen=True)
class FastOutputLayer(OutputLayer):
    """The fast twin of `OutputLayer`.

    int8: W transposed in 8 bits, which replaces W in products; None without quantization.
    bfloat16: multiply rounded shards in bfloat16.
    """

    int8: Int8Matrix | None = None
    bfloat16: bool = False
    _whole: dict[int, Sequence[LogitLayer]] = field(default_factory=dict, compare=False)

    @property
    def rounds_shards(self) -> bool:
        """Return True if rounded shards compute faster, and less exactly, than others."""
        return self.bfloat16

    def logits_of(self, readout: Tensor, words: Tensor) -> Tensor:
        """Return the logits of each row's own list of words; see `OutputLayer.logits_of`."""
        if self.int8 is None:
            return products_of_lists(readout, self.W, words) + self.bias[words]
        return self.int8.logits_at_columns(readout, self.bias, words)

    def for_candidates(self, lists: Tensor) -> CandidateLayer:
        """Restrict the layer to each sentence's candidates; see `OutputLayer.for_candidates`."""
        return UnionLayer(self.W, self.bias, self.int8, lists)

    def shards(self, width: int, multiple: int, rounded: bool = False) -> Sequence[LogitLayer]:
        """Cut the layer into prepacked shards; see `OutputLayer.shards`.

        A single shard is kept for the next search, as lines that come alone are searched with it.
        """
        if rounded and self.bfloat16:
            return [
                OutputShard(BFloat16Matrix(W.t()), bias) for W, bias in self._cut(width, multiple)
            ]
        if width < len(self.bias):
            return self._prepack(width, multiple)
        if multiple not in self._whole:
            self._whole[multiple] = self._prepack(width, multiple)
        return self._whole[multiple]

    def _prepack(self, width: int, multiple: int) -> Sequence[LogitLayer]:
        return [
            OutputShard(Int8Matrix(W.t()) if self.int8 else Prepacked(W.t(), min_size=1), bias)
            for W, bias in self._cut(width, multiple)
        ]

    def _cut(self, width: int, multiple: int) -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, len(self.bias), width):
            yield padded_shard(self.W, self.bias, start, width, multiple)


class OutputShard:
    """Some rows of an output layer, prepacked.

    Even small shards are prepacked: hypotheses are few, so that packing W again for every product,
    as torch does, takes as long as the product itself.

    :param W_t: their matrix W, transposed for products. Shape: [l, w].
    :param bias: Shape: [w].
    """

    def __init__(self, W_t: Prepacked | BFloat16Matrix | Int8Matrix, bias: Tensor) -> None:
        self.bias = bias
        self._W_t = W_t

    def logits(self, readout: Tensor) -> Tensor:
        """Return W t + bias. [N, l] to [N, w]."""
        return self._W_t.addmm(self.bias, readout)


class UnionLayer:
    """The candidates of a batch; the fast twin of `PlainCandidateLayer`.

    Logits are computed for the union of all lists, in one product; then each sentence selects its
    own words.

    :param W: Shape: [K, l].
    :param bias: Shape: [K].
    :param int8: W transposed in 8 bits, which replaces W in products; None without quantization.
    :param lists: word ids, padded with -1. Shape: [B, C].
    """

    def __init__(self, W: Tensor, bias: Tensor, int8: Int8Matrix | None, lists: Tensor) -> None:
        words = lists.clamp(min=0)
        if len(lists) == 1:  # its list is the union
            union, self._columns = words[0], None
        else:
            in_union = torch.zeros(len(bias), dtype=torch.bool, device=lists.device)
            in_union[words] = True
            union = in_union.nonzero().squeeze(1)
            # Position of each candidate in the union.
            self._columns = (in_union.cumsum(0) - 1)[words].unsqueeze(1)  # [B, 1, C]
        self._bias = bias[words].masked_fill_(lists < 0, -torch.inf).unsqueeze(1)
        self._matrix: Matrix = W[union].t() if int8 is None else int8.columns(union)
        self._scales = None if int8 is None else int8.scales[words].unsqueeze(1)

    def select(self, rows: Tensor) -> "UnionLayer":
        """Keep the sentences `rows`."""
        selected = copy.copy(self)
        selected._columns = None if self._columns is None else self._columns[rows]
        selected._bias = self._bias[rows]
        selected._scales = None if self._scales is None else self._scales[rows]
        return selected

    def logits(self, readout: Tensor) -> Tensor:
        """Return the logits of each sentence's words. [B, k, l] to [B, k, C]."""
        k, rows = readout.size(1), readout.flatten(0, 1)
        if not isinstance(self._matrix, Int8Matrix) or self._scales is None:
            return self._pick(linear(rows, self._matrix), k).add_(self._bias)
        scales = row_scales(readout)
        product = self._pick(self._matrix.unscaled_product(rows / scales.flatten(0, 1)), k)
        return torch.addcmul(self._bias, product * self._scales, scales)

    def _pick(self, values: Tensor, k: int) -> Tensor:
        """Select each sentence's columns of the union. [B * k, u] to [B, k, C]."""
        values = values.view(len(self._bias), k, -1)
        if self._columns is None:
            return values
        return values.gather(2, self._columns.expand(-1, k, -1))


def output_layer(W: Tensor, bias: Tensor) -> OutputLayer:
    """Return the fast twin of `OutputLayer(W, bias)`."""
    return FastOutputLayer(W, bias)


class OutputInference:
    """Base of the fast twins of models; by itself it speeds up the output layer only.

    output: the output layer.

    :param precision: type of the matrix products.
    """

    def __init__(self, W: Tensor, bias: Tensor, precision: Precision) -> None:
        int8 = Int8Matrix(W.t()) if precision == "int8" else None
        self.output = FastOutputLayer(W, bias, int8, bfloat16=precision == "bfloat16")
