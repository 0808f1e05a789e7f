"""The decoder of `models/fixed_context.py` for inference: one step without gradients.

Matrices that multiply the same vector are joined, terms that depend on a single word are cached,
and matrices may be quantized to 8 bits. `FixedContextModel.step` is the plain twin.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nmtkit.models.base import Step
from nmtkit.models.fast.embedding_cache import cached_on_cpu
from nmtkit.models.fast.gru import gru_step
from nmtkit.models.fast.int8 import for_products, linear
from nmtkit.models.fast.output_layer import OutputInference
from nmtkit.models.precision import Precision

if TYPE_CHECKING:
    from nmtkit.models.fixed_context import FixedContextModel


class FixedContextInference(OutputInference):
    """The fast twin of `FixedContextModel.step`.

    :param model: parameters that are neither joined nor quantized are shared with it.
    :param precision: type of the matrix products.
    """

    def __init__(self, model: "FixedContextModel", precision: Precision) -> None:
        self._model = model
        self._widths = [2 * model.config.hidden, model.config.hidden, 2 * model.config.maxout]
        self._W_V_o = for_products(torch.cat([model.W_dec, model.V_o], dim=1), "float32")
        self._b_dec_o = torch.cat([model.b_dec, model.b_o])
        self._U_zr, self._U = (
            for_products(model.U_zr_dec, precision),
            for_products(model.U_dec, precision),
        )
        self._U_o = for_products(model.U_o, precision)
        self._P = None if model.P is None else for_products(model.P, precision)
        super().__init__(model.output_words(), model.b_y, precision)
        self._word_terms = cached_on_cpu(self._compute_word_terms, model.E_y)

    def step(self, prev: Tensor, state: Any, encoded: Any) -> Step:
        """Take one step of the decoder.

        :param state: `fixed_context.State`.
        :param encoded: `fixed_context.Encoded`.
        """
        terms = self._word_terms(prev) + encoded.summary.unsqueeze(1)  # [B, k, 3n + 2l]
        gates, candidate, readout = torch.split(terms, self._widths, dim=-1)
        gates = linear(state.state, self._U_zr, gates)  # [B, k, 2n]
        s = gru_step(torch.cat([gates, candidate], dim=-1), state.state, self._U)  # [B, k, n]
        t = linear(s, self._U_o, readout)  # [B, k, 2l]
        t = torch.maximum(t[..., 0::2], t[..., 1::2])  # [B, k, l]
        if self._P is not None:
            t = linear(t, self._P)
        return Step(t, replace(state, state=s), None)

    def _compute_word_terms(self, words: Tensor) -> Tensor:
        """Return [W | V_o] E_y y + [b | b_o]. [...] to [..., 3n + 2l]."""
        return linear(self._model.target_embeddings(words), self._W_V_o, self._b_dec_o)
