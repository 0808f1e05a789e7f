"""The RNN Encoder-Decoder of Cho et al. 2014 for the phrase pairs of a phrase table.

Section 4.1.1 and the appendix; biases left out:

    annotations  h_j: gated units over E_x x_j, from left to right
    summary      c = tanh(V h_{T_x})
    start        s_0 = tanh(V' c); V' is W_s in `fixed_context.py`, which has the decoder

The matrices between words and units are factored with rank 100, at the input and at the output:
m = 100 columns of the embedding, and `softmax_rank` 100 in W_o = F_o P.

Departures and readings:

- In the appendix r multiplies U s + C c; here, as in the sentence models, it multiplies s only.
- The phrase ends with `</s>`, which is read last (GroundHog).
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from nmtkit.models.layers import addmm, bias, matrix
from nmtkit.models.rnnenc import RNNenc


@dataclass(frozen=True)
class PhraseRNNConfig:
    """Sizes of Cho et al. 2014, section 4.1.1, and settings that are not in the paper.

    embedding: m, size of a word vector.
    hidden: n, units of the encoder and of the decoder.
    maxout: l, units of the readout after the maximum of pairs.
    softmax_rank: rank of the factored output matrix; 0: not factored.
    tied: the output matrix is the target embedding times a matrix P.
    dropout: probability with which a value is dropped in training; 0: none.
    initialisation: "paper": the paper's distributions; "scaled": Glorot and Bengio 2010.
    """

    embedding: int = 100
    hidden: int = 1000
    maxout: int = 500
    softmax_rank: int = 100
    tied: bool = False
    dropout: float = 0.0
    initialisation: Literal["paper", "scaled"] = "paper"


class PhraseRNN(RNNenc):
    """p(y | x) of short phrases; see the equations above."""

    config_class: type[Any] = PhraseRNNConfig

    def declare(self) -> None:
        """Declare the encoder's parameters."""
        super().declare()
        self.V = matrix(self.config.hidden, self.config.hidden)
        self.b_V = bias(self.config.hidden)

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return c = tanh(V h_{T_x}) of each sentence. Shape: [B, n]."""
        return torch.tanh(addmm(self.b_V, super().summarise(src, src_mask), self.V))
