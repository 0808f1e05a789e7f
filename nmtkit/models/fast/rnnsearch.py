"""RNNsearch for inference: `encode` and `step` without gradients.

Matrices that multiply the same vector are joined, terms that depend on a single word are cached,
and matrices may be quantized to 8 bits. Keys, W_a and v_a are doubled, as `attention.py` needs
them. The equations are in `models/rnnsearch.py`; `RNNsearch.encode` and `RNNsearch.step` are the
plain twins.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import Step
from nmtkit.models.fast.attention import attention_of_doubled
from nmtkit.models.fast.embedding_cache import cached_on_cpu
from nmtkit.models.fast.gru import gru_scan_inference, gru_step
from nmtkit.models.fast.int8 import (
    Int8Matrix,
    for_products,
    for_separate_products,
    linear,
    quantize_rows,
    round_rows,
    weighted_sums,
)
from nmtkit.models.fast.matmul import Prepacked
from nmtkit.models.fast.output_layer import OutputInference
from nmtkit.models.packing import Packing
from nmtkit.models.precision import Precision
from nmtkit.special_symbols import BOS

if TYPE_CHECKING:
    from nmtkit.models.rnnsearch import RNNsearch

CLOSED_GATE = -1e4
"""Input of an update gate at which the sigmoid is exactly 0."""


class RNNsearchInference(OutputInference):
    """The fast twin of `RNNsearch.encode` and `RNNsearch.step`.

    :param model: parameters that are neither joined nor quantized are shared with it.
    :param precision: type of the matrix products; with "int8" the encoded source is in 8 bits.
    """

    def __init__(self, model: "RNNsearch", precision: Precision) -> None:
        self._model = model
        self._n, self._align = model.config.hidden, model.config.align
        self._readout_width = 2 * model.config.maxout
        self._is_groundhog = model.config.decoder_variant == "groundhog"
        self._recurrent = (
            for_separate_products(model.U_zr_enc, precision),
            for_separate_products(model.U_enc, precision),
        )
        # All matrices that multiply h_j, s_{i-1} and y_{i-1}, joined for each of these. Readouts
        # come first, the first word of each pair before all second ones.
        U_o, V_o, C_o, b_o = map(_pairs_apart, (model.U_o, model.V_o, model.C_o, model.b_o))
        self._C_o_C_U_a = for_products(torch.cat([C_o, model.C, 2 * model.U_a], dim=1), precision)
        from_s = [model.U_zr_dec, 2 * model.W_a]
        self._U_o = None
        if model.config.decoder_variant == "paper-v1":  # the readout sees s_i
            self._U_o = for_products(U_o, precision)
        else:
            from_s.insert(0, U_o)
        self._from_s = for_products(torch.cat(from_s, dim=1), precision)
        self._W_enc, self._W_s = Prepacked(model.W_enc), Prepacked(model.W_s)
        self._L = None if model.L is None else Prepacked(model.L)
        self._V_o_W = Prepacked(torch.cat([V_o, model.W_dec], dim=1))
        self._b_o_dec = torch.cat([b_o, model.b_dec])
        self._U = for_products(model.U_dec, precision)
        self._P = None if model.P is None else for_products(model.P, precision)
        super().__init__(model.output_words(), model.b_y, precision)
        self._source_terms = cached_on_cpu(self._compute_source_terms, model.E_x)
        self._word_terms = cached_on_cpu(self._compute_word_terms, model.E_y)
        self._doubled_b_a, self._doubled_v_a = 2 * model.b_a, 2 * model.v_a

    def encode(self, src: Tensor, src_mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Annotate the source words.

        :return: the fields of `rnnsearch.Encoded`: `keys` doubled, `values` [C_o | C] h_j, followed
            by L E_x x_j if there is a lexical module, in 8 bits where matrices are.
        """
        model, n = self._model, self._n
        packing = Packing.of(src_mask, src.device)
        terms = self._source_terms(packing.pack(src))  # [N, 6n (+ w)]
        x, x_backward, lexical = terms.tensor_split([3 * n, 6 * n], dim=1)
        x = torch.stack([x, x_backward.index_select(0, packing.mirror)])
        start = x.new_zeros(2, src.size(0), n)
        forward, backward = gru_scan_inference(x, start, *self._recurrent, packing).unbind(0)
        h = torch.cat([forward, backward.index_select(0, packing.mirror)], dim=1)  # [N, 2n]
        s_0 = torch.tanh(self._W_s.addmm(model.b_s, h[: src.size(0), n:]))  # [B, n]
        width = self._readout_width + 3 * n
        values, keys = torch.split(linear(h, self._C_o_C_U_a), [width, self._align], dim=1)
        if self._L is not None:
            values = torch.cat([values, lexical], dim=1)
        if isinstance(self._C_o_C_U_a, Int8Matrix):
            values = quantize_rows(values) if src.size(0) > 1 else round_rows(values)
        return (
            packing.pad(keys + self._doubled_b_a),
            packing.pad(values),
            s_0.index_select(0, packing.ranks),
            src_mask.to(src.device, non_blocking=True),
        )

    def step(self, prev: Tensor, state: Any, encoded: Any) -> Step:
        """Take one step of the decoder.

        :param state: `rnnsearch.State`; its context includes s [U_z | U_r].
        :param encoded: `rnnsearch.Encoded` as `encode` returns it.
        """
        s, width = state.state, self._readout_width
        terms = self._word_terms(prev)  # [B, k, 2l + 3n]
        word = terms[..., width:]
        if self._is_groundhog:
            s = gru_step(word + state.context, s, self._U)
        projected = linear(s, self._from_s)  # [B, k, 2l + 2n + n'], or without 2l
        linear_terms, query = projected.tensor_split([-self._align], dim=-1)
        alignment = attention_of_doubled(query, encoded.keys, self._doubled_v_a, encoded.src_mask)
        sums = weighted_sums(alignment, encoded.values)  # [B, k, 2l + 3n (+ w)]
        first = 0 if self._U_o is None else width
        sums[..., first : width + 2 * self._n] += linear_terms
        context, lexical = sums[..., width:].tensor_split([3 * self._n], dim=-1)
        if not self._is_groundhog:
            s = gru_step(word + context, s, self._U)
            context = state.context
        readout = terms[..., :width] + sums[..., :width]
        if self._U_o is not None:
            readout = linear(s, self._U_o, readout)
        t = torch.maximum(*readout.chunk(2, dim=-1))  # [B, k, l]
        if self._P is not None:
            t = linear(t, self._P)
        if self._L is not None:
            t = t + lexical
        return Step(t, replace(state, state=s, context=context), alignment)

    def _compute_source_terms(self, words: Tensor) -> Tensor:
        """Return W_enc E_x x + b_enc, of both directions, and L E_x x if there is a lexical module.

        [...] to [..., 6n (+ w)].
        """
        model = self._model
        embedded = functional.embedding(words.clamp(min=0), model.E_x)
        inputs = linear(embedded, self._W_enc, model.b_enc)
        if self._L is None:
            return inputs
        return torch.cat([inputs, linear(embedded, self._L)], dim=-1)

    def _compute_word_terms(self, words: Tensor) -> Tensor:
        """Return [V_o | W] E_y y + [b_o | b]. [...] to [..., 2l + 3n]."""
        terms = linear(self._model.target_embeddings(words), self._V_o_W, self._b_o_dec)
        if self._is_groundhog:  # keep s_0 before the first word: close the update gate
            gate = terms[..., self._readout_width : self._readout_width + self._n]
            gate.masked_fill_((words == BOS).unsqueeze(-1), CLOSED_GATE)
        return terms


def _pairs_apart(columns: Tensor) -> Tensor:
    """Move the second column of each pair behind all first ones. Shape: [..., 2l]."""
    return torch.cat([columns[..., 0::2], columns[..., 1::2]], dim=-1)
