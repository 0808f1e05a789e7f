"""The decoder shared by RNNenc, grConv and the phrase RNN: the source is one vector, c.

Cho et al. 2014 (the RNN Encoder-Decoder), with the readout of Bahdanau et al. 2015, A.2.2. Biases
left out, * element-wise:

    start        s_0 = tanh(W_s c)
    gates        z_i, r_i = sigmoid(W_z,r E_y y_{i-1} + U_z,r s_{i-1} + C_z,r c)
    candidate    s~_i = tanh(W E_y y_{i-1} + U (r_i * s_{i-1}) + C c)
    state        s_i = (1 - z_i) * s_{i-1} + z_i * s~_i
    readout      t~_i = U_o s_i + V_o E_y y_{i-1} + C_o c,  t_i = pairwise maximum
    words        p(y_i | y_<i, x) = softmax(W_o t_i)

Each model's own file says how it computes c (`summarise`). `step` decodes one target position of k
hypotheses per sentence; `teacher_forced` does the same for the N positions of given translations.
The gated unit is `layers.gru_step`. Shapes: B sentences; m, n, l and r are `embedding`, `hidden`,
`maxout` and `softmax_rank`.

Departures and readings:

- The readout has s_i, which has read y_{i-1} (Cho et al. 2014, section 2.2 and appendix). In
  GroundHog the first word is read out from s_0, as there is no y_0; here from s_1, computed from
  s_0 and c.
- z is the share of the state that is replaced, as in Bahdanau et al.; in Cho et al. 2014 it is the
  share that is kept. With z in place of 1 - z the model is the same.
- There is no vector for the beginning of a sentence: the term of E_y y_0 is zero (GroundHog).
- Every affine map has one bias; where two maps are added they share it.
- `tied`: W_o = E_y P with P [m, l]; `softmax_rank` r > 0: W_o = F_o P with F_o [K, r], the factored
  softmax of Cho et al. 2014, section 4.1.1 (the embedding is the factor of the input side).
- `dropout` (Srivastava et al. 2014; not in the papers): on E_x x, E_y y, c and t_i.
- `initialisation` "paper" is that of Cho et al. 2014: N(0, 0.01^2), recurrent matrices orthogonal;
  "scaled" draws the other matrices from the uniform distribution of Glorot and Bengio 2010 and
  the embeddings from N(0, 1/m).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import Step
from nmtkit.models.fast.fixed_context import FixedContextInference
from nmtkit.models.layers import (
    addmm,
    bias,
    glorot,
    gru_scan,
    gru_step,
    matmul,
    matrix,
    maxout,
    orthogonal,
)
from nmtkit.models.packing import Packing, longest_first
from nmtkit.models.precision import Precision
from nmtkit.models.search_state import EncodedTensors, FixedSizeState
from nmtkit.models.teacher_forcing import (
    EncoderDecoder,
    SentencePairs,
    TeacherForced,
    previous_words,
)


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    """The encoded source sentences.

    start: s_0. Shape: [B, n].
    summary: [C | C_o] c, for the gates and the readout of every position. Shape: [B, 3n + 2l].
    """

    start: Tensor
    summary: Tensor


@dataclass(frozen=True)
class State(FixedSizeState):
    """The decoder between two steps. state: s_{i-1}. Shape: [B, k, n]."""

    state: Tensor


class FixedContextModel(EncoderDecoder):
    """p(y | x) with the source encoded in one vector; see the equations above.

    :param config: with fields `embedding` m, `hidden` n, `maxout` l, `softmax_rank`, `tied`,
        `dropout` and `initialisation`.
    :param summary: size of c.
    :param src_size, tgt_size: vocabulary sizes K_x and K_y, special words included.
    """

    inference: FixedContextInference | None

    def __init__(self, config: Any, summary: int, src_size: int, tgt_size: int) -> None:
        super().__init__(config)
        m, n, maxout_size = config.embedding, config.hidden, config.maxout
        self.E_x = matrix(src_size, m)
        self.W_s = matrix(summary, n)
        self.b_s = bias(n)
        self.E_y = matrix(tgt_size, m)
        self.W_dec = matrix(m, 3 * n)  # [z | r | candidate]
        self.b_dec = bias(3 * n)
        self.U_zr_dec = matrix(n, 2 * n)
        self.U_dec = matrix(n, n)
        self.C = matrix(summary, 3 * n)
        self.U_o = matrix(n, 2 * maxout_size)
        self.V_o = matrix(m, 2 * maxout_size)
        self.C_o = matrix(summary, 2 * maxout_size)
        self.b_o = bias(2 * maxout_size)
        self.declare_output(maxout_size, tgt_size, config.softmax_rank)

    @abstractmethod
    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return c of each sentence [B, summary]; parameters as in `TranslationModel.encode`."""

    def reset_parameters(self) -> None:
        """Initialise the parameters; see the top of this file."""
        for name, parameter in self.named_parameters():
            if name.startswith("U_") and name != "U_o":
                self._initialise_recurrent(parameter)
            elif parameter.dim() == 1:
                parameter.zero_()
            elif self.config.initialisation == "scaled":
                glorot(parameter, self._block_width(name, parameter))
            else:
                parameter.normal_(std=0.01)

    def _initialise_recurrent(self, parameter: Tensor) -> None:
        """Fill a parameter with orthogonal square matrices, side by side."""
        size = parameter.size(-2)
        parts = parameter.size(-1) // size
        parameter.copy_(torch.cat([orthogonal(size, size) for _ in range(parts)], dim=-1))

    def _block_width(self, name: str, parameter: Tensor) -> int:
        """Return the width of the matrices that a parameter joins; 0 for embeddings."""
        if name in ("E_x", "E_y", "W_o", "F_o"):
            return 0
        return self.config.hidden if name in ("W_dec", "C") else parameter.size(1)

    def encode(self, src: Tensor, src_mask: Tensor) -> Encoded:
        """Encode the source; see `TranslationModel.encode`."""
        c = self.apply_dropout(self.summarise(src, src_mask))  # [B, summary]
        s_0 = torch.tanh(addmm(self.b_s, c, self.W_s))  # [B, n]
        return Encoded(s_0, matmul(c, torch.cat([self.C, self.C_o], dim=1)))

    def initial_state(self, encoded: Encoded) -> State:
        """Return s_0; see `TranslationModel.initial_state`."""
        return State(encoded.start.unsqueeze(1))

    def step(self, prev: Tensor, state: State, encoded: Encoded) -> Step:
        """Decode one target position; see `TranslationModel.step`."""
        if self.inference is not None:
            return self.inference.step(prev, state, encoded)
        y = self.apply_dropout(self.target_embeddings(prev))  # E_y y_{i-1} [B, k, m]
        C_c, C_o_c = self._split(encoded.summary.unsqueeze(1))  # [B, 1, 3n], [B, 1, 2l]
        x = y @ self.W_dec + C_c + self.b_dec  # [B, k, 3n]
        s = gru_step(x, state.state, self.U_zr_dec, self.U_dec)  # s_i [B, k, n]
        return Step(self._readout(s, y, C_o_c), State(s), None)

    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Run the decoder over given translations; see `EncoderDecoder.teacher_forced`."""
        encoded = self.encode_for_targets(pairs)
        packing = Packing.of(pairs.tgt_mask, pairs.tgt.device)
        y = self.apply_dropout(self.target_embeddings(previous_words(pairs.tgt, packing)))  # [N, m]
        C_c, C_o_c = self._split(encoded.summary.index_select(0, packing.sentences))
        x = addmm(self.b_dec, y, self.W_dec) + C_c  # [N, 3n]
        order = longest_first(pairs.tgt_mask).to(pairs.tgt.device, non_blocking=True)
        s_0 = encoded.start.index_select(0, order)
        weights = self.U_zr_dec.unsqueeze(0), self.U_dec.unsqueeze(0)
        s = gru_scan(x.unsqueeze(0), s_0.unsqueeze(0), *weights, packing).squeeze(0)  # [N, n]
        return TeacherForced(self._readout(s, y, C_o_c), packing.pack(pairs.tgt), packing)

    def _split(self, summary: Tensor) -> tuple[Tensor, Tensor]:
        """Return C c [..., 3n] and C_o c [..., 2l]."""
        widths = [3 * self.config.hidden, 2 * self.config.maxout]
        gates, readout = torch.split(summary, widths, dim=-1)
        return gates, readout

    def _readout(self, s: Tensor, y: Tensor, C_o_c: Tensor) -> Tensor:
        """Compute t_i from s_i [..., n], E_y y_{i-1} [..., m] and C_o c [..., 2l].

        :return: Shape: [..., l], or [..., m] or [..., r] where the softmax is factored.
        """
        readout = matmul(s, self.U_o) + matmul(y, self.V_o) + C_o_c + self.b_o  # [..., 2l]
        return self.project_readout(self.apply_dropout(maxout(readout)))

    def inference_twin(self, precision: Precision) -> FixedContextInference:
        """Return the fast twin of `step`."""
        return FixedContextInference(self, precision)

    def source_embeddings(self, words: Tensor) -> Tensor:
        """Return E_x x. Shape: [..., m]."""
        return self.apply_dropout(functional.embedding(words, self.E_x))
