"""The decoder of the models that read a source sentence into one vector, its summary c.

Cho et al. 2014 (the RNN Encoder-Decoder), with the readout of Bahdanau et al. 2015, A.2.2. Biases
left out, * element-wise:

    start        s_0 = tanh(W_s c)
    gates        z_i, r_i = sigmoid(W_z,r E_y y_{i-1} + U_z,r s_{i-1} + C_z,r c)
    candidate    s~_i = tanh(W E_y y_{i-1} + U (r_i * s_{i-1}) + C c)
    state        s_i = (1 - z_i) * s_{i-1} + z_i * s~_i
    readout      t~_i = U_o s_i + V_o E_y y_{i-1} + C_o c,  t_i = pairwise maximum
    words        p(y_i | y_<i, x) = softmax(W_o t_i)

What differs is how c comes about: each model's own file says that (`summarise`).

Departures and readings:

- The readout has s_i, which has read y_{i-1} (Cho et al. 2014, eq. (4) and appendix). In GroundHog
  the first word is read out from s_0, as there is no y_0; here s_1 is made of s_0 and c alone.
- There is no vector for the beginning of a sentence: the term of E_y y_0 is zero (GroundHog).
- Every affine map has one bias; where two maps are added they share it.
- `tied`: W_o = E_y P with P [m, l]; `softmax_rank` r > 0: W_o = F_o P with F_o [K, r], the factored
  softmax of Cho et al. 2014, section 4.1.1 (the embedding is the factor of the input side).
- `dropout` (Srivastava et al. 2014; not in the papers): on E_x x, E_y y, c and t_i.
- `initialisation` "paper" is that of Cho et al. 2014: N(0, 0.01^2), recurrent matrices orthogonal;
  "scaled" takes for each other matrix the uniform distribution of Glorot and Bengio 2010.
"""

import copy
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import OutputLayer, Step
from nmtkit.models.fast.gru import gru_scan, gru_step
from nmtkit.models.fast.int8 import EmbeddingCache, Matrix, linear, to_int8
from nmtkit.models.fast.matmul import addmm, matmul
from nmtkit.models.layers import (
    bias,
    glorot,
    matrix,
    maxout,
    orthogonal,
)
from nmtkit.models.packing import Packing, longest_first
from nmtkit.models.search_state import EncodedTensors, FixedSizeState
from nmtkit.models.teacher_forcing import (
    EncoderDecoder,
    SentencePairs,
    TeacherForced,
    previous_words,
)


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    """What was read of the source. start: s_0 [B, n]; summary: [C | C_o] c, what c gives to the
    gates and to the readout of every position [B, 3n + 2l]."""

    start: Tensor
    summary: Tensor


@dataclass(frozen=True)
class State(FixedSizeState):
    """state: s_{i-1} [B, k, n]."""

    state: Tensor


class SearchWeights(NamedTuple):
    """The decoder's parameters as search takes them, which computes no gradients.

    words: y_{i-1} to [W | V_o] E_y y_{i-1} + [b | b_o]; [...] to [..., 3n + 2l].
    U_zr, U, U_o, P: the matrices of these names; P is None where the softmax has no factors.
    output: the output layer.
    """

    words: Callable[[Tensor], Tensor]
    U_zr: Matrix
    U: Matrix
    U_o: Matrix
    P: Matrix | None
    output: OutputLayer


class FixedContextModel(EncoderDecoder):
    """p(y | x) by way of one vector; see the equations above.

    :param config: has `embedding` m, `hidden` n, `maxout` l, `softmax_rank`, `tied`, `dropout` and
        `initialisation`.
    :param summary: size of c.
    :param src_size, tgt_size: K_x and K_y, words of the vocabularies, special ones too.
    """

    _prepared: SearchWeights | None

    def __init__(self, config: Any, summary: int, src_size: int, tgt_size: int) -> None:
        super().__init__(config)
        m, n, pool = config.embedding, config.hidden, config.maxout
        self.E_x = matrix(src_size, m)
        self.W_s = matrix(summary, n)
        self.b_s = bias(n)
        self.E_y = matrix(tgt_size, m)
        self.W_dec = matrix(m, 3 * n)  # [z | r | candidate]
        self.b_dec = bias(3 * n)
        self.U_zr_dec = matrix(n, 2 * n)
        self.U_dec = matrix(n, n)
        self.C = matrix(summary, 3 * n)
        self.U_o = matrix(n, 2 * pool)
        self.V_o = matrix(m, 2 * pool)
        self.C_o = matrix(summary, 2 * pool)
        self.b_o = bias(2 * pool)
        if config.tied:
            self.P = matrix(pool, m)
        elif config.softmax_rank:
            self.P = matrix(pool, config.softmax_rank)
            self.F_o = matrix(tgt_size, config.softmax_rank)
        else:
            self.W_o = matrix(tgt_size, pool)
        self.b_y = bias(tgt_size)

    @abstractmethod
    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """c of each sentence; parameters as in `TranslationModel.encode`. Shape: [B, summary]."""

    def reset_parameters(self) -> None:
        """Give the parameters their first values; see the top of this file."""
        for name, parameter in self.named_parameters():
            if name.startswith("U_") and name != "U_o":
                self._initialise_recurrent(parameter)
            elif parameter.dim() == 1:
                parameter.zero_()
            elif self.config.initialisation == "scaled":
                glorot(parameter, self._width(name, parameter))
            else:
                parameter.normal_(std=0.01)

    def _initialise_recurrent(self, parameter: Tensor) -> None:
        """Make each of the square matrices that lie side by side orthogonal."""
        size = parameter.size(-2)
        parts = parameter.size(-1) // size
        parameter.copy_(torch.cat([orthogonal(size, size) for _ in range(parts)], dim=-1))

    def _width(self, name: str, parameter: Tensor) -> int:
        """Columns of each of the matrices that lie side by side; 0 for what is looked up."""
        if name in ("E_x", "E_y", "W_o", "F_o"):
            return 0
        return self.config.hidden if name in ("W_dec", "C") else parameter.size(1)

    def encode(self, src: Tensor, src_mask: Tensor) -> Encoded:
        """Read the source; see `TranslationModel.encode`."""
        summary = self.apply_dropout(self.summarise(src, src_mask))
        start = torch.tanh(addmm(self.b_s, summary, self.W_s))
        return Encoded(start, matmul(summary, torch.cat([self.C, self.C_o], dim=1)))

    def initial_state(self, encoded: Encoded) -> State:
        """s_0; see `TranslationModel.initial_state`."""
        return State(encoded.start.unsqueeze(1))

    def step(self, prev: Tensor, state: State, encoded: Encoded) -> Step:
        """Go on by one target position; see `TranslationModel.step`."""
        n, weights, s = self.config.hidden, self._search_weights(), state.state
        terms = weights.words(prev) + encoded.summary.unsqueeze(1)
        gates, inputs, readout = torch.split(terms, [2 * n, n, 2 * self.config.maxout], dim=-1)
        gates = linear(s, weights.U_zr, gates)
        s = gru_step(torch.cat([gates, inputs], dim=-1), s, weights.U)
        hidden = maxout(linear(s, weights.U_o, readout))
        if weights.P is not None:
            hidden = linear(hidden, weights.P)
        return Step(hidden, State(s), None)

    def for_inference(self, quantize: bool = False) -> Self:
        """The same model, ready for many steps; see `TranslationModel.for_inference`."""
        model = copy.copy(self)
        weights = self._search_weights()
        if quantize:
            weights = weights._replace(
                U_zr=to_int8(weights.U_zr),
                U=to_int8(weights.U),
                U_o=to_int8(weights.U_o),
                P=None if weights.P is None else to_int8(weights.P),
                output=weights.output.to_int8(),
            )
        if self.E_y.device.type == "cpu":
            weights = weights._replace(words=EmbeddingCache(self._word_terms(), len(self.E_y)))
        model._prepared = weights
        return model

    def _search_weights(self) -> SearchWeights:
        if self._prepared is not None:
            return self._prepared
        return SearchWeights(
            words=self._word_terms(),
            U_zr=self.U_zr_dec,
            U=self.U_dec,
            U_o=self.U_o,
            P=self.P if self._has_factors else None,
            output=OutputLayer(self.output_words(), self.b_y),
        )

    def _word_terms(self) -> Callable[[Tensor], Tensor]:
        """y_{i-1} to what it gives to the gates and to the readout. [...] to [..., 3n + 2l]."""
        W_V = torch.cat([self.W_dec, self.V_o], dim=1)
        b = torch.cat([self.b_dec, self.b_o])
        return lambda words: linear(self.apply_dropout(self.target_embeddings(words)), W_V, b)

    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Let the decoder read the target; see `EncoderDecoder.teacher_forced`."""
        encoded = self.encode_for_targets(pairs)
        packing = Packing.of(pairs.tgt_mask, pairs.tgt.device)
        embedded = self.apply_dropout(self.target_embeddings(previous_words(pairs.tgt, packing)))
        of_c = encoded.summary.index_select(0, packing.sentences)
        gates, readout = torch.split(of_c, [3 * self.config.hidden, 2 * self.config.maxout], dim=1)
        inputs = addmm(self.b_dec, embedded, self.W_dec) + gates
        start = encoded.start.index_select(0, longest_first(pairs.tgt_mask).to(pairs.tgt.device))
        weights = self.U_zr_dec.unsqueeze(0), self.U_dec.unsqueeze(0)
        s = gru_scan(inputs.unsqueeze(0), start.unsqueeze(0), *weights, packing).squeeze(0)
        hidden = maxout(matmul(s, self.U_o) + matmul(embedded, self.V_o) + readout + self.b_o)
        hidden = self.apply_dropout(hidden)
        hidden = matmul(hidden, self.P) if self._has_factors else hidden
        return TeacherForced(hidden, packing.pack(pairs.tgt), packing)

    def source_embeddings(self, words: Tensor) -> Tensor:
        """E_x x. Shape: [..., m]."""
        return self.apply_dropout(functional.embedding(words, self.E_x))

    @property
    def _has_factors(self) -> bool:
        return bool(self.config.tied or self.config.softmax_rank)

    def output_words(self) -> Tensor:
        """W_o or its factor of words; see `EncoderDecoder.output_words`."""
        if self.config.tied:
            return self.E_y
        return self.F_o if self.config.softmax_rank else self.W_o
