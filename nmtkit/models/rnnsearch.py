"""RNNsearch: Bahdanau, Cho and Bengio 2015, jointly learning to align and translate.

Equations (appendix A.2; biases left out, as there), * element-wise:

    annotations  h_j = [->h_j ; <-h_j], gated units over E_x x_j in both directions
    start        s_0 = tanh(W_s <-h_1)
    energies     e_ij = v_a . tanh(W_a s_{i-1} + U_a h_j)
    alignment    alpha_i = softmax_j(e_ij),  context c_i = sum_j alpha_ij h_j
    gates        z_i, r_i = sigmoid(W_z,r E_y y_{i-1} + U_z,r s_{i-1} + C_z,r c_i)
    candidate    s~_i = tanh(W E_y y_{i-1} + U (r_i * s_{i-1}) + C c_i)
    state        s_i = (1 - z_i) * s_{i-1} + z_i * s~_i
    readout      t~_i = U_o s + V_o E_y y_{i-1} + C_o c_i,  t_i = pairwise maximum
    words        p(y_i | y_<i, x) = softmax(W_o t_i)

`encode` computes U_a h_j, C h_j and C_o h_j once for each source position; the average of C h_j
weighted by alpha_i is C c_i. `step` decodes one target position of k hypotheses per sentence.
`teacher_forced` does the same for all positions of given translations: `decoder_scan` has the
recursion, and the rest is computed for all positions at once. The gated unit is `layers.gru_step`.
Shapes: B sentences, N real positions; m, n, n' and l as in A.2.3.

Departures and readings:

- `decoder_variant` selects one of three published variants of the decoder's indices.
  "paper-v1" (first arXiv version; eq. (4) of both versions): s = s_i in the readout.
  "paper-v2" (appendix of the later version, taken literally): s = s_{i-1} in the readout.
  "groundhog" (the authors' code, which gave their results): s_{i-1} has already read y_{i-1} when
  it is the query for c_i, and is also s in the readout.
  "groundhog" is the default: after 1,140 updates on Multi30k (examples/multi30k-en-fr, `make
  readings`) its dev cost per token was 1.642, that of "paper-v1" 1.712 and of "paper-v2" 1.791;
  greedy dev BLEU was 46.8, 43.9 and 41.4.
- The gates have C_z,r c_i, as in the later version and in section 3.3.1 of the first; the appendix
  of the first leaves it out.
- There is no vector for the beginning of a sentence: the term of E_y y_0 is zero (GroundHog).
- Every affine map has one bias; where two maps are added they share it. GroundHog has fewer.
- The source ends with `</s>`, which has an annotation of its own (GroundHog).
- The model has no fixed-size summary of the source, which is the paper's point. `summarise` returns
  <-h_1, the only state that has read the whole sentence; s_0 is computed from it.
- The paper's W_o [K, l] (A.2.2) is one matrix, which is the default. With `softmax_rank` r it is
  that of the authors' code (GroundHog), W_o = F_o P with F_o [K, r] and P [r, l], nothing between
  them, and r = 620, the size of the embeddings. As l = 500 is smaller, this lowers no rank: every
  W_o is such a product, of 26 % more parameters if K = 30,000, which updates change otherwise.
  Both factors are initialised as the matrices of B.1. `tied` (not in the paper): W_o = E_y P with
  P [m, l], the target embedding in place of F_o.
- `lexical_module` (Nguyen and Chiang 2018, simplified; not in the paper): the source words that
  attention looks at vote for their translations, past the decoder:

      words        p(y_i | y_<i, x) = softmax(W_o t_i + E_y l_i),  l_i = sum_j alpha_ij L E_x x_j

  with L [m, m], if W_o = E_y P; else W_o (or F_o) takes the place of E_y, and L is as wide. With
  `tied`, L begins as `LEXICAL_SCALE` times the identity: with source embeddings that begin near
  those of their translations (`lexical_initialisation.py`), l_i is a dictionary from the first
  update on. Theirs has tanh twice, and an output matrix of its own.
- `dropout` (Srivastava et al. 2014; not in the paper): on E_x x, E_y y, annotations and t_i.
- `initialisation` "paper" is appendix B.1; "scaled" draws the matrices, except the recurrent
  ones, from the uniform distribution of Glorot and Bengio 2010, the embeddings from N(0, 1/m) and
  v_a from N(0, 1/n'); with Adam, training then starts faster.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import Step
from nmtkit.models.fast import attention as fast_attention
from nmtkit.models.fast.rnnsearch import RNNsearchInference
from nmtkit.models.kernels import Twin
from nmtkit.models.layers import (
    addmm,
    bias,
    glorot,
    gru_scan,
    gru_step,
    masked_softmax,
    matmul,
    matrix,
    maxout,
    orthogonal,
)
from nmtkit.models.packing import Packing
from nmtkit.models.precision import Precision
from nmtkit.models.search_state import EncodedTensors, FixedSizeState
from nmtkit.models.teacher_forcing import (
    EncoderDecoder,
    SentencePairs,
    TeacherForced,
    longest_target_first,
    previous_words,
)
from nmtkit.special_symbols import BOS

LEXICAL_SCALE = 6.0
"""Factor by which L begins to multiply source embeddings. Neither 1, 3 nor 10 had lower dev costs
after two minutes, where they were measured on the same three corpora (`bench/NOTEBOOK.md`)."""


@dataclass(frozen=True)
class RNNsearchConfig:
    """Sizes of Bahdanau et al. 2015, A.2.3, and settings that are not in the paper.

    embedding: m, size of a word vector.
    hidden: n, units of the decoder and of each direction of the encoder.
    align: n', units of the alignment model.
    maxout: l, units of the readout after the maximum of pairs.
    decoder_variant: which published reading of the decoder's indices; see `models/rnnsearch.py`.
    softmax_rank: rank of the factored output matrix (GroundHog: 620); 0: not factored.
    tied: the output matrix is the target embedding times a matrix P.
    lexical_module: the source words that attention looks at add to the logits of their translations
        (Nguyen and Chiang 2018, simplified); see `models/rnnsearch.py`.
    dropout: probability with which a value is dropped in training; 0: none.
    initialisation: "paper": the paper's distributions; "scaled": Glorot and Bengio 2010.
    """

    embedding: int = 620
    hidden: int = 1000
    align: int = 1000
    maxout: int = 500
    decoder_variant: Literal["paper-v1", "paper-v2", "groundhog"] = "groundhog"
    softmax_rank: int = 0
    tied: bool = False
    lexical_module: bool = False
    dropout: float = 0.0
    initialisation: Literal["paper", "scaled"] = "paper"


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    """The annotated source sentences; `fast.rnnsearch` arranges keys and values in its own way.

    keys: U_a h_j, for the energies. Shape: [B, T_x, n'].
    values: [C | C_o] h_j, for gates and readout; behind them L E_x x_j of w values, if there is a
        lexical module. Shape: [B, T_x, 3n + 2l (+ w)].
    initial: s_0. Shape: [B, n].
    src_mask: True at real positions. Shape: [B, T_x].
    """

    keys: Tensor
    values: Tensor
    initial: Tensor
    src_mask: Tensor

    def trim_padding(self) -> "Encoded":
        """Drop trailing positions that are padding in all sentences; return views."""
        width = int(self.src_mask.any(0).sum())
        keys, values, mask = (field[:, :width] for field in (self.keys, self.values, self.src_mask))
        return Encoded(keys, values, self.initial, mask)


@dataclass(frozen=True)
class State(FixedSizeState):
    """The decoder between two steps.

    state: s_{i-1}; with the variant "groundhog" s_{i-2}, as the next step reads y_{i-1} first.
        Shape: [B, k, n].
    context: C c_{i-1}, which that update needs [B, k, 3n]; empty in the other variants [B, k, 0].
    """

    state: Tensor
    context: Tensor


def plain_attention(query: Tensor, keys: Tensor, v_a: Tensor, src_mask: Tensor) -> Tensor:
    """Compute the attention weights for the next target words: eq. (6) and appendix A.1.2.

    :param query: W_a s_{i-1} of k hypotheses a sentence. Shape: [B, k, n'].
    :param keys: U_a h_j. Shape: [B, T_x, n'].
    :param v_a: Shape: [n'].
    :param src_mask: True at real positions. Shape: [B, T_x].
    :return: alpha_i; rows sum to 1, exactly 0 at padding. Shape: [B, k, T_x].
    """
    energies = torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)) @ v_a  # e_ij [B, k, T_x]
    return masked_softmax(energies, src_mask.unsqueeze(1))


attention = Twin(plain_attention, fast_attention.attention)


def plain_decoder_scan(
    x: Tensor,
    s_0: Tensor,
    memory: tuple[Tensor, Tensor, Tensor],
    weights: tuple[Tensor, Tensor, Tensor],
    packing: Packing,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the decoder over the target positions of a batch, sorted by target length.

    :param x: [W_z | W_r | W] E_y y and biases. Shape: [N, 3n].
    :param s_0: Shape: [B, n].
    :param memory: `keys` U_a h_j [B, T_x, n'], `values` C h_j [B, T_x, 3n], and the source mask
        [B, T_x], True at real positions.
    :param weights: [W_a | U_z | U_r] [n, n' + 2n], U [n, n], v_a [n'].
    :return: s_{i-1} and s_i of each position [N, n], its alignment [N, T_x].
    """
    (keys, values, src_mask), (W_a_U_zr, U, v_a) = memory, weights
    W_a, U_zr = torch.split(W_a_U_zr, [len(v_a), 2 * len(U)], dim=1)
    s, steps = s_0, []
    for start, end in packing.steps():
        active = slice(end - start)  # finished sentences have left the loop
        s_prev = s[active]  # s_{i-1} [b, n]
        query = (s_prev @ W_a).unsqueeze(1)  # [b, 1, n']
        alignment = attention(query, keys[active], v_a, src_mask[active])  # alpha_i [b, 1, T_x]
        context = (alignment @ values[active]).squeeze(1)  # C c_i [b, 3n]
        s = gru_step(x[start:end] + context, s_prev, U_zr, U)  # s_i [b, n]
        steps.append((s_prev, s, alignment.squeeze(1)))
    all_s_prev, all_s, alignment = (torch.cat(column) for column in zip(*steps, strict=True))
    return all_s_prev, all_s, alignment


decoder_scan = Twin(plain_decoder_scan, fast_attention.attention_scan)


class RNNsearch(EncoderDecoder):
    """p(y | x) with a learned soft alignment; see the equations above."""

    config_class = RNNsearchConfig
    has_attention = True
    inference: RNNsearchInference | None

    def __init__(self, config: RNNsearchConfig, src_size: int, tgt_size: int) -> None:
        """Declare and initialise the parameters.

        :param src_size, tgt_size: vocabulary sizes K_x and K_y, special words included.
        """
        super().__init__(config)
        m, n, align = config.embedding, config.hidden, config.align
        self.E_x = matrix(src_size, m)
        self.W_enc = matrix(m, 6 * n)  # [z | r | candidate], forward and backward
        self.b_enc = bias(6 * n)
        self.U_zr_enc = matrix(2, n, 2 * n)
        self.U_enc = matrix(2, n, n)
        self.W_s = matrix(n, n)
        self.b_s = bias(n)
        self.E_y = matrix(tgt_size, m)
        self.W_dec = matrix(m, 3 * n)
        self.b_dec = bias(3 * n)
        self.U_zr_dec = matrix(n, 2 * n)
        self.U_dec = matrix(n, n)
        self.C = matrix(2 * n, 3 * n)
        self.W_a = matrix(n, align)
        self.U_a = matrix(2 * n, align)
        self.b_a = bias(align)
        self.v_a = bias(align)
        self.U_o = matrix(n, 2 * config.maxout)
        self.V_o = matrix(m, 2 * config.maxout)
        self.C_o = matrix(2 * n, 2 * config.maxout)
        self.b_o = bias(2 * config.maxout)
        self.declare_output(config.maxout, tgt_size, config.softmax_rank)
        self.L = None  # stored transposed
        if config.lexical_module:
            self.L = matrix(m, self.output_words().size(1))
        self.initialise()

    def reset_parameters(self) -> None:
        """Initialise the parameters as in appendix B.1, or "scaled"; see the top of this file."""
        for name, parameter in self.named_parameters():
            if name in ("U_enc", "U_dec"):
                parameter.copy_(orthogonal(*parameter.shape))
            elif name in ("U_zr_enc", "U_zr_dec"):
                square = (*parameter.shape[:-1], self.config.hidden)
                parameter.copy_(torch.cat([orthogonal(*square), orthogonal(*square)], dim=-1))
            elif parameter.dim() == 1:
                parameter.zero_()
            elif name == "L" and self.config.tied:
                torch.nn.init.eye_(parameter).mul_(LEXICAL_SCALE)
            elif self.config.initialisation == "scaled":
                glorot(parameter, _block_width(name, parameter, self.config.hidden))
            else:
                parameter.normal_(std=0.001 if name in ("W_a", "U_a") else 0.01)
        if self.config.initialisation == "scaled":
            self.v_a.normal_(std=self.config.align**-0.5)

    def encode(self, src: Tensor, src_mask: Tensor) -> Encoded:
        """Annotate the source words; see `TranslationModel.encode`."""
        if self.inference is not None:
            return Encoded(*self.inference.encode(src, src_mask))
        n, align = self.config.hidden, self.config.align
        packing = Packing.of(src_mask, src.device)
        x = self.source_embeddings(packing.pack(src))  # [N, m]
        h = self._annotations(x, packing)  # [N, 2n]
        backward_1 = h[: src.size(0), n:]  # <-h_1, longest sentence first [B, n]
        s_0 = torch.tanh(addmm(self.b_s, backward_1, self.W_s))  # [B, n]
        U_a_C_C_o = torch.cat([self.U_a, self.C, self.C_o], dim=1)  # [2n, n' + 3n + 2l]
        projected = matmul(self.apply_dropout(h), U_a_C_C_o)  # [N, n' + 3n + 2l]
        keys, values = torch.split(projected, [align, projected.size(1) - align], dim=1)
        if self.L is not None:
            values = torch.cat([values, matmul(x, self.L)], dim=1)
        return Encoded(
            packing.pad(keys + self.b_a),  # [B, T_x, n']
            packing.pad(values),  # [B, T_x, 3n + 2l (+ w)]
            s_0.index_select(0, packing.ranks),
            src_mask.to(src.device, non_blocking=True),
        )

    def _annotations(self, x: Tensor, packing: Packing) -> Tensor:
        """Return h_j = [->h_j ; <-h_j] of the real source positions.

        :param x: E_x x_j. Shape: [N, m].
        :return: Shape: [N, 2n].
        """
        x_both = x, x.index_select(0, packing.mirror)  # backward: each sentence from its end
        W, b = self.W_enc.chunk(2, dim=1), self.b_enc.chunk(2)  # [m, 3n], [3n] per direction
        inputs = torch.stack([addmm(b[d], x_both[d], W[d]) for d in (0, 1)])  # [2, N, 3n]
        h_0 = self.U_enc.new_zeros(2, len(packing.ranks), self.config.hidden)
        states = gru_scan(inputs, h_0, self.U_zr_enc, self.U_enc, packing)  # [2, N, n]
        forward, backward = states.unbind(0)
        return torch.cat([forward, backward.index_select(0, packing.mirror)], dim=1)

    def source_embeddings(self, words: Tensor) -> Tensor:
        """Return E_x x. Shape: [..., m]."""
        return self.apply_dropout(functional.embedding(words, self.E_x))

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return <-h_1, from which s_0 is computed. Shape: [B, n]."""
        packing = Packing.of(src_mask, src.device)
        x = self.source_embeddings(packing.pack(src))
        backward_1 = self._annotations(x, packing)[: len(src), self.config.hidden :]
        return backward_1.index_select(0, packing.ranks)

    def initial_state(self, encoded: Encoded) -> State:
        """Return s_0; see `TranslationModel.initial_state`."""
        s_0 = encoded.initial.unsqueeze(1)  # [B, 1, n]
        context_width = 3 * self.config.hidden if self.config.decoder_variant == "groundhog" else 0
        return State(s_0, s_0.new_zeros(*s_0.shape[:2], context_width))

    def step(self, prev: Tensor, state: State, encoded: Encoded) -> Step:
        """Decode one target position; see `TranslationModel.step`."""
        if self.inference is not None:
            return self.inference.step(prev, state, encoded)
        y = self.apply_dropout(self.target_embeddings(prev))  # E_y y_{i-1} [B, k, m]
        s = state.state  # s_{i-1}; "groundhog": s_{i-2} [B, k, n]
        variant = self.config.decoder_variant
        if variant == "groundhog":  # s_{i-1} from s_{i-2}, y_{i-1} and c_{i-1}; s_0 is kept
            s_next = self._next_state(s, y, state.context)
            s = torch.where((prev == BOS).unsqueeze(-1), s, s_next)
        alignment = self.align(s, encoded)  # alpha_i [B, k, T_x]
        contexts = alignment @ encoded.values  # [C | C_o] c_i, l_i [B, k, 3n + 2l (+ w)]
        gate_context, readout_context = contexts.tensor_split([3 * self.config.hidden], dim=-1)
        if variant == "groundhog":
            return Step(self._readout(s, y, readout_context), State(s, gate_context), alignment)
        s_i = self._next_state(s, y, gate_context)  # [B, k, n]
        readout = self._readout(s_i if variant == "paper-v1" else s, y, readout_context)
        return Step(readout, State(s_i, state.context), alignment)

    def align(self, state: Tensor, encoded: Encoded) -> Tensor:
        """Compute the attention weights for the next target word: eq. (6), appendix A.1.2.

        :param state: s_{i-1}. Shape: [B, k, n].
        :return: alpha_i; rows sum to 1, exactly 0 at padding. Shape: [B, k, T_x].
        """
        return attention(state @ self.W_a, encoded.keys, self.v_a, encoded.src_mask)

    def _next_state(self, s: Tensor, y: Tensor, context: Tensor) -> Tensor:
        """Compute s_i from s_{i-1} [..., n], E_y y_{i-1} [..., m] and C c_i [..., 3n]."""
        return gru_step(y @ self.W_dec + self.b_dec + context, s, self.U_zr_dec, self.U_dec)

    def _readout(self, s: Tensor, y: Tensor, context: Tensor) -> Tensor:
        """Compute t_i from s [..., n], E_y y_{i-1} [..., m] and C_o c_i [..., 2l].

        :param context: C_o c_i, followed by l_i if there is a lexical module.
        :return: Shape: [..., l], or [..., m] or [..., r] where the softmax is factored.
        """
        context, lexical = context.tensor_split([2 * self.config.maxout], dim=-1)
        readout = matmul(s, self.U_o) + matmul(y, self.V_o) + context + self.b_o  # [..., 2l]
        readout = self.project_readout(self.apply_dropout(maxout(readout)))
        return readout if self.L is None else readout + lexical

    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Run the decoder over given translations; see `EncoderDecoder.teacher_forced`."""
        pairs, order = longest_target_first(pairs)
        encoded = self.encode_for_targets(pairs)
        packing = Packing.of(pairs.tgt_mask, pairs.tgt.device)
        words = packing.pack(pairs.tgt)  # y_i [N]
        previous = previous_words(pairs.tgt, packing)  # y_{i-1} [N]
        variant = self.config.decoder_variant
        if variant == "groundhog":  # s_i reads y_i; one look-up of both makes one gradient of E_y
            embedded = self.apply_dropout(self.target_embeddings(torch.cat([previous, words])))
            y, y_input = embedded.chunk(2)  # E_y y_{i-1}, E_y y_i [N, m]
        else:
            y = y_input = self.apply_dropout(self.target_embeddings(previous))  # [N, m]
        inputs = addmm(self.b_dec, y_input, self.W_dec)  # [N, 3n]
        values, readout_values = encoded.values.tensor_split([3 * self.config.hidden], dim=-1)
        memory = (encoded.keys, values, encoded.src_mask)
        weights = (torch.cat([self.W_a, self.U_zr_dec], dim=1), self.U_dec, self.v_a)
        s_prev, s_i, alpha = decoder_scan(inputs, encoded.initial, memory, weights, packing)
        alignment = packing.pad(alpha)  # alpha_ij [B, T_y, T_x]
        context = packing.pack(torch.bmm(alignment, readout_values))  # C_o c_i, l_i [N, 2l (+ w)]
        s = s_i if variant == "paper-v1" else s_prev
        readout = self._readout(s, y, context)  # [N, l]
        return TeacherForced(readout, words, packing, alignment, order)

    def inference_twin(self, precision: Precision) -> RNNsearchInference:
        """Return the fast twin of `encode` and `step`."""
        return RNNsearchInference(self, precision)


def _block_width(name: str, parameter: Tensor, hidden: int) -> int:
    """Return the width of the matrices that a parameter joins; 0 for embeddings."""
    if name in ("E_x", "E_y", "W_o", "F_o"):
        return 0
    return hidden if name in ("W_enc", "W_dec", "C") else parameter.size(1)
