"""The deep LSTM's decoder for inference: one step without gradients.

One product multiplies a layer's input and its previous state together, the first layer's input
terms are cached for each word, and matrices may be quantized to 8 bits. `DeepLSTM.step` is the
plain twin.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nmtkit.models.base import Step
from nmtkit.models.fast.embedding_cache import cached_on_cpu
from nmtkit.models.fast.int8 import for_products, linear
from nmtkit.models.fast.lstm import lstm_step
from nmtkit.models.fast.output_layer import OutputInference
from nmtkit.models.precision import Precision

if TYPE_CHECKING:
    from nmtkit.models.deep_lstm import DeepLSTM


class DeepLSTMInference(OutputInference):
    """The fast twin of `DeepLSTM.step`.

    :param model: parameters that are neither joined nor quantized are shared with it.
    :param precision: type of the matrix products.
    """

    def __init__(self, model: "DeepLSTM", precision: Precision) -> None:
        self._model = model
        decoder = model.decoder
        upper = zip(list(decoder.W)[1:], list(decoder.U)[1:], strict=True)
        self._U = for_products(decoder.U[0], precision)  # [n, 4n]
        self._W_U = [for_products(torch.cat([W, U]), precision) for W, U in upper]  # [2n, 4n] each
        self._P = None if model.P is None else for_products(model.P, precision)
        super().__init__(model.output_words(), model.b_y, precision)
        self._word_terms = cached_on_cpu(self._compute_word_terms, model.E_y)

    def step(self, prev: Tensor, state: Any) -> Step:
        """Take one step of the decoder.

        :param state: `deep_lstm.State`.
        """
        decoder = self._model.decoder
        all_h, all_c = [], []
        below = prev  # the first layer looks up its input terms
        for layer in range(self._model.config.layers):
            h, c = state.h[:, :, layer], state.c[:, :, layer]  # [B, k, n]
            if layer == 0:
                x = linear(h, self._U, self._word_terms(prev))  # [B, k, 4n]
            else:
                x = linear(torch.cat([below, h], dim=-1), self._W_U[layer - 1], decoder.b[layer])
            below, c = lstm_step(x, c, decoder.peepholes(layer))
            all_h.append(below)
            all_c.append(c)
        readout = below if self._P is None else linear(below, self._P)
        next_state = replace(state, h=torch.stack(all_h, dim=2), c=torch.stack(all_c, dim=2))
        return Step(readout, next_state, None)

    def _compute_word_terms(self, words: Tensor) -> Tensor:
        """Return W E_y y + b of the first layer. [...] to [..., 4n]."""
        decoder = self._model.decoder
        return linear(self._model.target_embeddings(words), decoder.W[0], decoder.b[0])
