"""The CSLM for inference: one step without gradients, with fast or 8-bit matrix products."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nmtkit.models.fast.int8 import for_products, linear
from nmtkit.models.fast.output_layer import OutputInference
from nmtkit.models.precision import Precision

if TYPE_CHECKING:
    from nmtkit.models.cslm import CSLM


class CSLMInference(OutputInference):
    """The fast twin of `CSLM.readout`.

    :param model: its parameters are shared where they are not quantized.
    :param precision: type of the matrix products.
    """

    def __init__(self, model: "CSLM", precision: Precision) -> None:
        self._model = model
        self._W_1 = for_products(model.W_1, precision)
        self._W_2 = for_products(model.W_2, precision)
        super().__init__(model.output_words(), model.b_y, precision)

    def readout(self, words: Tensor) -> Tensor:
        """Compute t_i from y_{i-c}, ..., y_{i-1}. [..., c] to [..., l]."""
        p = self._model.target_embeddings(words).flatten(-2)  # [..., c m]
        h = torch.relu(linear(p, self._W_1, self._model.b_1))
        return torch.relu(linear(h, self._W_2, self._model.b_2))
