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

Everything that does not depend on s_{i-1} is computed for all positions at once; C h_j and C_o h_j
are projected once and averaged by alpha, which is the same as projecting the average.

Departures and readings:

- `decoder_variant` chooses one of the three published readings of the decoder's indices.
  "paper-v1" (first arXiv version; eq. (4) of both): the readout has s = s_i. "paper-v2" (the later
  appendix, taken literally): s = s_{i-1}. "groundhog" (the authors' code, which made the tables):
  s_{i-1} has already read y_{i-1} when it asks for c_i, and is the readout's s too. After 1,140
  updates on Multi30k (examples/multi30k-en-fr, `make readings`) the dev cost per token was 1.642
  with "groundhog", 1.712 with "paper-v1" and 1.791 with "paper-v2", greedy dev BLEU 46.8, 43.9 and
  41.4: hence the default.
- There is no vector for the beginning of a sentence: the term of E_y y_0 is zero (GroundHog).
- Every affine map has one bias; where two maps are added they share it. GroundHog has fewer.
- The source ends with `</s>`, which has an annotation of its own (GroundHog).
- There is no summary, which is what the paper is about; asked for one (`summarise`) the model gives
  <-h_1, of which s_0 is made: the one vector of it that has read the whole sentence.
- `tied`: W_o = E_y P with P [m, l], the readout brought to the size of the target embedding; with a
  matrix of its own in E_y's place this is GroundHog's factored softmax.
- `dropout` (Srivastava et al. 2014; not in the paper): on E_x x, E_y y, annotations and t_i.
- `initialisation` "paper" is appendix B.1; "scaled" takes for each matrix but the recurrent ones
  the uniform distribution of Glorot and Bengio 2010, and starts Adam off faster.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import OutputLayer, Step
from nmtkit.models.fast.gru import (
    Recurrent,
    attention_scan,
    gru_scan,
    gru_scan_inference,
    gru_step,
)
from nmtkit.models.fast.int8 import (
    EmbeddingCache,
    Int8Matrices,
    Int8Matrix,
    Matrix,
    linear,
    quantize_rows,
    to_int8,
    weighted_sums,
)
from nmtkit.models.fast.matmul import Prepacked, addmm, matmul
from nmtkit.models.layers import (
    bias,
    glorot,
    masked_softmax,
    matrix,
    maxout,
    orthogonal,
)
from nmtkit.models.packing import Packing
from nmtkit.models.search_state import EncodedTensors, FixedSizeState
from nmtkit.models.teacher_forcing import (
    EncoderDecoder,
    SentencePairs,
    TeacherForced,
    longest_target_first,
    previous_words,
)
from nmtkit.special_symbols import BOS

PIECE = 1 << 18
"""Numbers between energies and their sums held at a time: 1 MB in float32, within a processor's
cache."""

DEVICE_PIECE = 1 << 28
"""The same on other devices, which have memory but no such cache."""

CLOSED = -1e4
"""An update gate's input for which sigmoid is exactly 0."""


@dataclass(frozen=True)
class RNNsearchConfig:
    """Sizes of Bahdanau et al. 2015, B.1 (m, n, n', l there), and what was not in the paper."""

    embedding: int = 620
    hidden: int = 1000
    align: int = 1000
    maxout: int = 500
    decoder_variant: Literal["paper-v1", "paper-v2", "groundhog"] = "groundhog"
    tied: bool = False
    dropout: float = 0.0
    initialisation: Literal["paper", "scaled"] = "paper"


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    """What was read of the source. keys: U_a h_j [B, T_x, n']; values: [C | C_o] h_j, or these
    `quantize_rows` in a search with 8 bits [B, T_x, 3n + 2l]; initial: s_0 [B, n]; src_mask
    [B, T_x]."""

    keys: Tensor
    values: Tensor
    initial: Tensor
    src_mask: Tensor

    def trim_padding(self) -> "Encoded":
        """Without the last positions, as far as all sentences have padding there; a view."""
        width = int(self.src_mask.any(0).sum())
        keys, values, mask = (field[:, :width] for field in (self.keys, self.values, self.src_mask))
        return Encoded(keys, values, self.initial, mask)


@dataclass(frozen=True)
class State(FixedSizeState):
    """state: s_{i-1} [B, k, n]. context: with the variant "groundhog", whose step to s_{i-1}
    still waits for y_{i-1}, all else that its gates get, C c_{i-1} + U_z,r s [B, k, 3n]; in the
    other readings [B, k, 0]."""

    state: Tensor
    context: Tensor


class SearchWeights(NamedTuple):
    """The parameters as search takes them, which computes no gradients.

    source_words: x_j to W_enc E_x x_j + b of both directions; [...] to [..., 6n].
    recurrent: [U_z | U_r] and U of both directions of the encoder, made ready.
    U_a_C_C_o: [U_a | C | C_o] side by side. Shape: [2n, n' + 3n + 2l].
    words: y_{i-1} to [W | V_o] E_y y_{i-1} + [b | b_o]; [...] to [..., 3n + 2l].
    W_a_U_zr: [W_a | U_z | U_r] side by side. Shape: [n, n' + 2n].
    U, U_o, P: the matrices of these names; P is None unless the softmax is tied.
    output: the output layer.
    """

    source_words: Callable[[Tensor], Tensor]
    recurrent: tuple[Recurrent, Recurrent]
    U_a_C_C_o: Matrix
    words: Callable[[Tensor], Tensor]
    W_a_U_zr: Matrix
    U: Matrix
    U_o: Matrix
    P: Matrix | None
    output: OutputLayer


class RNNsearch(EncoderDecoder):
    """p(y | x) with an alignment learned beside it; see the equations above."""

    config_class = RNNsearchConfig
    _prepared: SearchWeights | None

    def __init__(self, config: RNNsearchConfig, src_size: int, tgt_size: int) -> None:
        """:param src_size, tgt_size: K_x and K_y, words of the vocabularies, special ones too."""
        super().__init__(config)
        m, n, align, pool = config.embedding, config.hidden, config.align, config.maxout
        self.E_x = matrix(src_size, m)
        self.W_enc = matrix(m, 6 * n)  # [z | r | candidate] of -> and of <-
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
        self.U_o = matrix(n, 2 * pool)
        self.V_o = matrix(m, 2 * pool)
        self.C_o = matrix(2 * n, 2 * pool)
        self.b_o = bias(2 * pool)
        if config.tied:
            self.P = matrix(pool, m)
        else:
            self.W_o = matrix(tgt_size, pool)
        self.b_y = bias(tgt_size)
        self.initialise()

    def reset_parameters(self) -> None:
        """Give the parameters their first values: appendix B.1, or "scaled"; see the file's top."""
        for name, parameter in self.named_parameters():
            if name in ("U_enc", "U_dec"):
                parameter.copy_(orthogonal(*parameter.shape))
            elif name in ("U_zr_enc", "U_zr_dec"):
                square = (*parameter.shape[:-1], self.config.hidden)
                parameter.copy_(torch.cat([orthogonal(*square), orthogonal(*square)], dim=-1))
            elif parameter.dim() == 1:
                parameter.zero_()
            elif self.config.initialisation == "scaled":
                glorot(parameter, _width(name, parameter, self.config.hidden))
            else:
                parameter.normal_(std=0.001 if name in ("W_a", "U_a") else 0.01)
        if self.config.initialisation == "scaled":
            self.v_a.normal_(std=self.config.align**-0.5)

    def encode(self, src: Tensor, src_mask: Tensor) -> Encoded:
        """Annotate the source words; see `TranslationModel.encode`."""
        packing = Packing.of(src_mask, src.device)
        annotations = self._annotations(src, packing)
        towards_start = annotations[: src.size(0), self.config.hidden :]  # <-h_1, in packed order
        initial = torch.tanh(addmm(self.b_s, towards_start, self.W_s))
        prepared = self._prepared
        side_by_side = self._of_annotations() if prepared is None else prepared.U_a_C_C_o
        projected = linear(self.apply_dropout(annotations), side_by_side)
        width = 3 * self.config.hidden + 2 * self.config.maxout
        keys, values = torch.split(projected, [self.config.align, width], dim=1)
        if isinstance(side_by_side, Int8Matrix):
            values = quantize_rows(values)
        return Encoded(
            packing.pad(keys + self.b_a),
            packing.pad(values),
            initial.index_select(0, packing.ranks),
            src_mask.to(src.device),
        )

    def _annotations(self, src: Tensor, packing: Packing) -> Tensor:
        """h_j of the real source positions. Shape: [N, 2n]."""
        start = self.U_enc.new_zeros(2, src.size(0), self.config.hidden)
        x = self._source_inputs(packing.pack(src), packing)
        if self._prepared is None:
            states = gru_scan(x, start, self.U_zr_enc, self.U_enc, packing)
        else:
            states = gru_scan_inference(x, start, *self._prepared.recurrent, packing)
        forward, backward = states.unbind(0)
        return torch.cat([forward, backward.index_select(0, packing.mirror)], dim=1)

    def _source_inputs(self, words: Tensor, packing: Packing) -> Tensor:
        """What the words give to the gates of both directions. [N] to [2, N, 3n]."""
        if self._prepared is not None:
            terms, backward = self._prepared.source_words(words).chunk(2, dim=1)
            return torch.stack([terms, backward.index_select(0, packing.mirror)])
        embedded = self.source_embeddings(words)
        both = embedded, embedded.index_select(0, packing.mirror)
        sides = zip(both, self.W_enc.chunk(2, dim=1), self.b_enc.chunk(2), strict=True)
        return torch.stack([addmm(b, side, W) for side, W, b in sides])

    def source_embeddings(self, words: Tensor) -> Tensor:
        """E_x x. Shape: [..., m]."""
        return self.apply_dropout(functional.embedding(words, self.E_x))

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """<-h_1, all of a sentence that the decoder gets without aligning. Shape: [B, n]."""
        packing = Packing.of(src_mask, src.device)
        towards_start = self._annotations(src, packing)[: src.size(0), self.config.hidden :]
        return towards_start.index_select(0, packing.ranks)

    def initial_state(self, encoded: Encoded) -> State:
        """s_0; see `TranslationModel.initial_state`."""
        state = encoded.initial.unsqueeze(1)
        waiting = 3 * self.config.hidden if self.config.decoder_variant == "groundhog" else 0
        return State(state, state.new_zeros(*state.shape[:2], waiting))

    def step(self, prev: Tensor, state: State, encoded: Encoded) -> Step:
        """Go on by one target position; see `TranslationModel.step`."""
        n, weights = self.config.hidden, self._search_weights()
        word, readout = torch.split(weights.words(prev), [3 * n, 2 * self.config.maxout], dim=-1)
        s = state.state
        if self.config.decoder_variant == "groundhog":
            s = gru_step(word + state.context, s, weights.U)
        projected = linear(s, weights.W_a_U_zr)
        query, gates = torch.split(projected, [self.config.align, 2 * n], dim=-1)
        alignment = self._align(query, encoded)
        sums = weighted_sums(alignment, encoded.values)
        sums[..., : 2 * n] += gates
        context, readout_context = torch.split(sums, [3 * n, 2 * self.config.maxout], dim=-1)
        if self.config.decoder_variant == "groundhog":
            following = seen = s
        else:
            following = gru_step(word + context, s, weights.U)
            seen = following if self.config.decoder_variant == "paper-v1" else s
            context = state.context
        readout = linear(seen, weights.U_o, readout)
        hidden = maxout(readout + readout_context)
        if weights.P is not None:
            hidden = linear(hidden, weights.P)
        return Step(hidden, State(following, context), alignment)

    def for_inference(self, quantize: bool = False) -> "RNNsearch":
        """The same model, ready for many steps; see `TranslationModel.for_inference`."""
        model = copy.copy(self)
        weights = self._search_weights()
        if quantize:
            weights = weights._replace(
                recurrent=(Int8Matrices(self.U_zr_enc), Int8Matrices(self.U_enc)),
                U_a_C_C_o=to_int8(weights.U_a_C_C_o),
                W_a_U_zr=to_int8(weights.W_a_U_zr),
                U=to_int8(weights.U),
                U_o=to_int8(weights.U_o),
                P=None if weights.P is None else to_int8(weights.P),
                output=weights.output.to_int8(),
            )
        if self.E_y.device.type == "cpu":
            weights = weights._replace(
                source_words=EmbeddingCache(self._source_terms, len(self.E_x)),
                words=EmbeddingCache(self._word_terms(), len(self.E_y)),
            )
        model._prepared = weights
        return model

    def _search_weights(self) -> SearchWeights:
        if self._prepared is not None:
            return self._prepared
        return SearchWeights(
            source_words=self._source_terms,
            recurrent=(Prepacked(self.U_zr_enc), Prepacked(self.U_enc)),
            U_a_C_C_o=self._of_annotations(),
            words=self._word_terms(),
            W_a_U_zr=self._of_state(),
            U=self.U_dec,
            U_o=self.U_o,
            P=self.P if self.config.tied else None,
            output=OutputLayer(self.output_words(), self.b_y),
        )

    def _of_annotations(self) -> Tensor:
        """[U_a | C | C_o], all that h_j is multiplied with. Shape: [2n, n' + 3n + 2l]."""
        return torch.cat([self.U_a, self.C, self.C_o], dim=1)

    def _of_state(self) -> Tensor:
        """[W_a | U_z | U_r], all that s_{i-1} as it is is multiplied with. Shape: [n, n' + 2n]."""
        return torch.cat([self.W_a, self.U_zr_dec], dim=1)

    def _source_terms(self, words: Tensor) -> Tensor:
        """What x_j gives to the gates of both directions. [...] to [..., 6n]."""
        return addmm(self.b_enc, functional.embedding(words.clamp(min=0), self.E_x), self.W_enc)

    def _word_terms(self) -> Callable[[Tensor], Tensor]:
        """y_{i-1} to what it gives to the gates and to the readout. [...] to [..., 3n + 2l]."""
        W_V = torch.cat([self.W_dec, self.V_o], dim=1)
        b = torch.cat([self.b_dec, self.b_o])

        def terms(words: Tensor) -> Tensor:
            found = linear(self.apply_dropout(self.target_embeddings(words)), W_V, b)
            if self.config.decoder_variant == "groundhog":
                # no word, no step: the update gate is closed
                gate = found[..., : self.config.hidden]
                gate.masked_fill_((words == BOS).unsqueeze(-1), CLOSED)
            return found

        return terms

    def align(self, state: Tensor, encoded: Encoded) -> Tensor:
        """Weigh the source positions for the next target word.

        Bahdanau et al. 2015, section 3.1 eq. (6), appendix A.1.2.

        :param state: s_{i-1}. Shape: [B, k, n].
        :return: alpha_i; rows sum to 1, exactly 0 at padding. Shape: [B, k, T_x].
        """
        return self._align(state @ self.W_a, encoded)

    def _align(self, query: Tensor, encoded: Encoded) -> Tensor:
        """`align`, the query s_{i-1} W_a given. Shape: [B, k, n']."""
        # tanh(x) = 2 sigmoid(2x) - 1, and torch's sigmoid takes a fifth of the time of its tanh;
        # the -1 adds the same to all energies of a row, which the softmax does not see.
        query, v_a = 2 * query, 2 * self.v_a
        energies = query.new_empty(*query.shape[:2], encoded.keys.size(1))
        room = PIECE if query.device.type == "cpu" else DEVICE_PIECE
        step = max(1, room // (energies[0].numel() * len(v_a)))  # sentences at a time
        for start in range(0, len(query), step):
            part = slice(start, start + step)
            keys = encoded.keys[part].unsqueeze(1)
            summed = torch.add(query[part].unsqueeze(2), keys, alpha=2)  # [b, k, T_x, n']
            energies[part] = summed.sigmoid_() @ v_a
        return masked_softmax(energies, encoded.src_mask.unsqueeze(1))

    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Let the decoder read the target, longest first; see `EncoderDecoder.teacher_forced`."""
        pairs, order = longest_target_first(pairs)
        encoded = self.encode_for_targets(pairs)
        packing = Packing.of(pairs.tgt_mask, pairs.tgt.device)
        words = packing.pack(pairs.tgt)
        previous = previous_words(pairs.tgt, packing)
        if self.config.decoder_variant == "groundhog":  # two uses, one gradient of E_y
            both = self.apply_dropout(self.target_embeddings(torch.cat([previous, words])))
            embedded, read = both.chunk(2)
        else:
            embedded = read = self.apply_dropout(self.target_embeddings(previous))
        inputs = addmm(self.b_dec, read, self.W_dec)
        values, readout_values = torch.split(
            encoded.values, [3 * self.config.hidden, 2 * self.config.maxout], dim=-1
        )
        memory = (encoded.keys, values, encoded.src_mask)
        weights = (self._of_state(), self.U_dec, self.v_a)
        before, after, packed = attention_scan(inputs, encoded.initial, memory, weights, packing)
        seen = after if self.config.decoder_variant == "paper-v1" else before
        alignment = packing.pad(packed)
        context = packing.pack(torch.bmm(alignment, readout_values))
        readout = self._readout(seen, embedded, context)
        return TeacherForced(readout, words, packing, alignment, order)

    def _readout(self, s: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """t_i, brought to the embedding's size where the softmax is tied to it.

        :param context: C_o c_i. Shape: [..., 2l].
        """
        readout = matmul(s, self.U_o) + matmul(embedded, self.V_o) + context + self.b_o
        hidden = self.apply_dropout(maxout(readout))
        return matmul(hidden, self.P) if self.config.tied else hidden

    def output_words(self) -> Tensor:
        """W_o, or E_y where they are tied; see `EncoderDecoder.output_words`."""
        return self.E_y if self.config.tied else self.W_o


def _width(name: str, parameter: Tensor, hidden: int) -> int:
    """Columns of each of the matrices that lie side by side; 0 for what is looked up."""
    if name in ("E_x", "E_y", "W_o"):
        return 0
    return hidden if name in ("W_enc", "W_dec", "C") else parameter.size(1)
