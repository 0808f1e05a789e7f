"""RNNsearch for inference: `encode` and `step` without gradients.

Matrices that multiply the same vector are joined, terms that depend on a single word are cached,
and matrices may be quantized to 8 bits. The equations are in `models/rnnsearch.py`;
`RNNsearch.encode` and `RNNsearch.step` are the plain twins.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import Step
from nmtkit.models.fast.attention import attention
from nmtkit.models.fast.embedding_cache import EmbeddingCache
from nmtkit.models.fast.gru import gru_scan_inference, gru_step
from nmtkit.models.fast.int8 import (
    Int8Matrix,
    for_products,
    for_separate_products,
    linear,
    quantize_rows,
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
        # All matrices that multiply h_j, s_{i-1} and y_{i-1}, joined for each of these.
        self._U_a_C_C_o = for_products(torch.cat([model.U_a, model.C, model.C_o], dim=1), precision)
        self._W_a_U_zr = for_products(torch.cat([model.W_a, model.U_zr_dec], dim=1), precision)
        self._W_enc, self._W_s = Prepacked(model.W_enc), Prepacked(model.W_s)
        self._W_V_o = Prepacked(torch.cat([model.W_dec, model.V_o], dim=1))
        self._b_dec_o = torch.cat([model.b_dec, model.b_o])
        self._U, self._U_o = (
            for_products(model.U_dec, precision),
            for_products(model.U_o, precision),
        )
        self._P = None if model.P is None else for_products(model.P, precision)
        super().__init__(model.output_words(), model.b_y, precision)
        self._source_terms: Callable[[Tensor], Tensor] = self._compute_source_terms
        self._word_terms: Callable[[Tensor], Tensor] = self._compute_word_terms
        if model.E_y.device.type == "cpu":
            self._source_terms = EmbeddingCache(self._source_terms, len(model.E_x))
            self._word_terms = EmbeddingCache(self._word_terms, len(model.E_y))

    def encode(self, src: Tensor, src_mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Annotate the source words.

        :return: the fields of `rnnsearch.Encoded`; `values` in 8 bits where matrices are.
        """
        model, n = self._model, self._n
        packing = Packing.of(src_mask, src.device)
        x, x_backward = self._source_terms(packing.pack(src)).chunk(2, dim=1)  # [N, 3n] each
        x = torch.stack([x, x_backward.index_select(0, packing.mirror)])
        start = x.new_zeros(2, src.size(0), n)
        forward, backward = gru_scan_inference(x, start, *self._recurrent, packing).unbind(0)
        h = torch.cat([forward, backward.index_select(0, packing.mirror)], dim=1)  # [N, 2n]
        s_0 = torch.tanh(self._W_s.addmm(model.b_s, h[: src.size(0), n:]))  # [B, n]
        width = 3 * n + self._readout_width
        keys, values = torch.split(linear(h, self._U_a_C_C_o), [self._align, width], dim=1)
        if isinstance(self._U_a_C_C_o, Int8Matrix):
            values = quantize_rows(values)
        return (
            packing.pad(keys + model.b_a),
            packing.pad(values),
            s_0.index_select(0, packing.ranks),
            src_mask.to(src.device, non_blocking=True),
        )

    def step(self, prev: Tensor, state: Any, encoded: Any) -> Step:
        """Take one step of the decoder.

        :param state: `rnnsearch.State`; its context includes s [U_z | U_r].
        :param encoded: `rnnsearch.Encoded`.
        """
        n, s = self._n, state.state
        terms = self._word_terms(prev)  # [B, k, 3n + 2l]
        word, readout = torch.split(terms, [3 * n, self._readout_width], dim=-1)
        if self._is_groundhog:
            s = gru_step(word + state.context, s, self._U)
        projected = linear(s, self._W_a_U_zr)  # [B, k, n' + 2n]
        query, gates = torch.split(projected, [self._align, 2 * n], dim=-1)
        alignment = attention(query, encoded.keys, self._model.v_a, encoded.src_mask)
        sums = weighted_sums(alignment, encoded.values)  # [B, k, 3n + 2l]
        sums[..., : 2 * n] += gates
        context, readout_context = torch.split(sums, [3 * n, self._readout_width], dim=-1)
        if self._is_groundhog:
            next_s = readout_s = s
        else:
            next_s = gru_step(word + context, s, self._U)
            readout_s = next_s if self._model.config.decoder_variant == "paper-v1" else s
            context = state.context
        t = linear(readout_s, self._U_o, readout) + readout_context  # [B, k, 2l]
        t = torch.maximum(t[..., 0::2], t[..., 1::2])  # [B, k, l]
        if self._P is not None:
            t = linear(t, self._P)
        return Step(t, replace(state, state=next_s, context=context), alignment)

    def _compute_source_terms(self, words: Tensor) -> Tensor:
        """Return W_enc E_x x + b_enc, of both directions. [...] to [..., 6n]."""
        model = self._model
        embedded = functional.embedding(words.clamp(min=0), model.E_x)
        return linear(embedded, self._W_enc, model.b_enc)

    def _compute_word_terms(self, words: Tensor) -> Tensor:
        """Return [W | V_o] E_y y + [b | b_o]. [...] to [..., 3n + 2l]."""
        terms = linear(self._model.target_embeddings(words), self._W_V_o, self._b_dec_o)
        if self._is_groundhog:  # keep s_0 before the first word: close the update gate
            gate = terms[..., : self._n]
            gate.masked_fill_((words == BOS).unsqueeze(-1), CLOSED_GATE)
        return terms
