"""RNNenc: the RNN Encoder-Decoder of Cho et al. 2014, for whole sentences.

Bahdanau et al. 2015 compare RNNsearch with it (RNNenc-30, RNNenc-50); the two papers of SSST-8 use
it, too. Biases left out:

    annotations  h_j: gated units over E_x x_j, from left to right
    summary      c = h_{T_x}

The decoder and its readings of the papers are in `fixed_context.py`; c enters its start, every gate
and the readout.

Departures and readings:

- The source ends with `</s>`, which is read last (GroundHog): c is the state after it.
- Cho et al. 2014 have c = tanh(V h_{T_x}), as `phrase_rnn.py`; the sentence models have c = h_{T_x}
  (Bahdanau et al. 2015, A.2.2), where Pouget-Abadie et al. 2014 say "may simply be a linear affine
  transformation" of it (section 2).
"""

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from nmtkit.models.fixed_context import FixedContextModel
from nmtkit.models.layers import addmm, bias, gru_scan, matrix
from nmtkit.models.packing import Packing


@dataclass(frozen=True)
class RNNencConfig:
    """Sizes of Bahdanau et al. 2015, A.2.3, and settings that are not in the papers.

    embedding: m, size of a word vector.
    hidden: n, units of the encoder and of the decoder.
    maxout: l, units of the readout after the maximum of pairs.
    softmax_rank: rank of the factored output matrix; 0: not factored.
    tied: the output matrix is the target embedding times a matrix P.
    dropout: probability with which a value is dropped in training; 0: none.
    initialisation: "paper": the paper's distributions; "scaled": Glorot and Bengio 2010.
    """

    embedding: int = 620
    hidden: int = 1000
    maxout: int = 500
    softmax_rank: int = 0
    tied: bool = False
    dropout: float = 0.0
    initialisation: Literal["paper", "scaled"] = "paper"


class RNNenc(FixedContextModel):
    """p(y | x) with the last state of a recurrent encoder as context; see the equations above."""

    config_class: type[Any] = RNNencConfig

    def __init__(self, config: Any, src_size: int, tgt_size: int) -> None:
        """Declare and initialise the parameters.

        :param config: an instance of `config_class`.
        :param src_size, tgt_size: vocabulary sizes K_x and K_y, special words included.
        """
        super().__init__(config, config.hidden, src_size, tgt_size)
        self.declare()
        self.initialise()

    def declare(self) -> None:
        """Declare the encoder's parameters."""
        m, n = self.config.embedding, self.config.hidden
        self.W_enc = matrix(m, 3 * n)  # [z | r | candidate]
        self.b_enc = bias(3 * n)
        self.U_zr_enc = matrix(n, 2 * n)
        self.U_enc = matrix(n, n)

    def _block_width(self, name: str, parameter: Tensor) -> int:
        return self.config.hidden if name == "W_enc" else super()._block_width(name, parameter)

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return c = h_{T_x} of each sentence. Shape: [B, n]."""
        packing = Packing.of(src_mask, src.device)
        x = addmm(self.b_enc, self.source_embeddings(packing.pack(src)), self.W_enc)  # [N, 3n]
        start = self.U_enc.new_zeros(1, len(src), self.config.hidden)
        weights = self.U_zr_enc.unsqueeze(0), self.U_enc.unsqueeze(0)
        h = gru_scan(x.unsqueeze(0), start, *weights, packing).squeeze(0)  # h_j [N, n]
        return h.index_select(0, packing.last)
