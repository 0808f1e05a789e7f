"""The deep LSTM of Sutskever, Vinyals and Le 2014, sequence to sequence learning.

Biases left out; the unit is that of Graves 2013 (`lstm_step`), L layers of it:

    source       x_{T_x-1}, ..., x_2, x_1, </s>: its words reversed (section 3.3), if `reverse`
    encoder      (h_j^l, c_j^l) = LSTM_l(h_j^{l-1}, h_{j-1}^l, c_{j-1}^l), with h_j^0 = E_x x_j
    start        (s_0^l, d_0^l) = (h^l, c^l) of the encoder after its last position
    decoder      (s_i^l, d_i^l) = LSTM'_l(s_i^{l-1}, s_{i-1}^l, d_{i-1}^l), with s_i^0 = E_y y_{i-1}
    words        p(y_i | y_<i, x) = softmax(W_o s_i^L)

A layer's inputs are multiplied by their matrix for all positions at once; the loop over positions
computes only what depends on the layer's previous state.

Departures and readings:

- `peepholes`: the paper names the formulation of Graves 2013, which has them. They are the default
  and can be left out.
- A layer reads only the layer below, and words are predicted from the last layer. Graves's network
  has connections past layers, too; with 384 million parameters (section 3.4) the paper's has none.
- The source's `</s>` is read last by the encoder, reversed or not; the decoder has no vector for
  the beginning of a sentence: the term of E_y y_0 is zero, as in the other models.
- One bias per gate.
- How the models of an ensemble are combined is open: `search/model_averaging.py`.
- The vector of a sentence (`summarise`) is the paper's "8000 real numbers" (section 3.4): h and c
  of all layers. The paper does not say which "LSTM hidden states" its figure 2 shows.
- `tied`: W_o = E_y P with P [n, m]. `dropout` (Zaremba et al. 2014; not in the paper): on the
  inputs of each layer and on s_i^L.
- `initialisation` "paper": all parameters, biases too, uniform in +-0.08 (section 3.4); "scaled":
  matrices as in Glorot and Bengio 2010, embeddings from N(0, 1/m), peepholes and biases 0, but
  biases of the forget gate 1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmtkit.models.base import Step
from nmtkit.models.fast import lstm as fast_lstm
from nmtkit.models.fast.deep_lstm import DeepLSTMInference
from nmtkit.models.kernels import Twin
from nmtkit.models.layers import addmm, bias, glorot, matrix
from nmtkit.models.packing import Packing, longest_first
from nmtkit.models.precision import Precision
from nmtkit.models.search_state import EncodedTensors, FixedSizeState
from nmtkit.models.teacher_forcing import (
    EncoderDecoder,
    SentencePairs,
    TeacherForced,
    previous_words,
)

UNIFORM = 0.08
"""Bound of the paper's uniform distribution."""


@dataclass(frozen=True)
class DeepLSTMConfig:
    """Sizes of Sutskever et al. 2014, section 3.4, and settings that are not in the paper.

    embedding: m, size of a word vector.
    hidden: n, cells of each layer.
    layers: layers of the encoder and of the decoder.
    reverse: read the source from its last word to its first.
    peepholes: the gates also read the cells (Graves 2013).
    tied: the output matrix is the target embedding times a matrix P.
    dropout: probability with which a value is dropped in training; 0: none.
    initialisation: "paper": the paper's distributions; "scaled": Glorot and Bengio 2010.
    """

    embedding: int = 1000
    hidden: int = 1000
    layers: int = 4
    reverse: bool = True
    peepholes: bool = True
    tied: bool = False
    dropout: float = 0.0
    initialisation: Literal["paper", "scaled"] = "paper"


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    """The encoder's last states: h and c of each layer. Shapes: [B, L, n]."""

    h: Tensor
    c: Tensor


@dataclass(frozen=True)
class State(FixedSizeState):
    """The decoder between two steps; h: s_{i-1}, c: d_{i-1}, of each layer. [B, k, L, n]."""

    h: Tensor
    c: Tensor


def lstm_step(x: Tensor, c: Tensor, peepholes: Tensor | None) -> tuple[Tensor, Tensor]:
    """Take one step of the LSTM of Graves 2013 (arXiv:1308.0850), eqs. (7) to (11).

        i = sigmoid(x_i + p_i * c)                 input gate
        f = sigmoid(x_f + p_f * c)                 forget gate
        c' = f * c + i * tanh(x_g)                 cells
        o = sigmoid(x_o + p_o * c')                output gate, which sees the new cells
        h' = o * tanh(c')

    :param x: inputs [i | f | o | g], W x + U h + b. Shape: [..., 4n].
    :param c: the cells. Shape: [..., n].
    :param peepholes: p_i, p_f, p_o, or None for no peepholes. Shape: [3, n].
    :return: h', c'. Shapes: [..., n].
    """
    x_i, x_f, x_o, x_g = x.chunk(4, dim=-1)  # [..., n] each
    p_i, p_f, p_o = c.new_zeros(3, 1) if peepholes is None else peepholes
    i, f = torch.sigmoid(x_i + p_i * c), torch.sigmoid(x_f + p_f * c)
    c = f * c + i * torch.tanh(x_g)
    o = torch.sigmoid(x_o + p_o * c)
    return o * torch.tanh(c), c


def plain_lstm_scan(
    x: Tensor,
    start: tuple[Tensor, Tensor],
    U: Tensor,
    peepholes: Tensor | None,
    packing: Packing,
) -> tuple[Tensor, Tensor]:
    """Run one layer over the positions of a batch.

    :param x: inputs [i | f | o | g], W x + b. Shape: [N, 4n].
    :param start: h and c before the first position, in packed order. Shapes: [B, n].
    :param U: [U_i | U_f | U_o | U_g]. Shape: [n, 4n].
    :param peepholes: p_i, p_f, p_o, or None for no peepholes. Shape: [3, n].
    :return: h and c after each position. Shapes: [N, n].
    """
    (h, c), states, cells = start, [], []
    for first, end in packing.steps():
        h, c = h[: end - first], c[: end - first]  # sentences that are over have left the loop
        h, c = lstm_step(x[first:end] + h @ U, c, peepholes)  # [b, n]
        states.append(h)
        cells.append(c)
    return torch.cat(states), torch.cat(cells)


lstm_scan = Twin(plain_lstm_scan, fast_lstm.lstm_scan)


class Layers(nn.Module):
    """The stacked LSTM layers of the encoder or of the decoder.

    :param inputs: m, width of the first layer's input.
    """

    def __init__(self, inputs: int, size: int, layers: int, peepholes: bool) -> None:
        super().__init__()
        self.W = nn.ParameterList(
            matrix(size if layer else inputs, 4 * size) for layer in range(layers)
        )
        self.U = nn.ParameterList(matrix(size, 4 * size) for _ in range(layers))
        self.b = nn.ParameterList(bias(4 * size) for _ in range(layers))
        self.p = nn.ParameterList(matrix(3, size) for _ in range(layers if peepholes else 0))

    def peepholes(self, layer: int) -> Tensor | None:
        """Return p_i, p_f, p_o of a layer, None without peepholes. Shape: [3, n]."""
        return self.p[layer] if len(self.p) else None

    def weights(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield W, U and b of each layer, the lowest first. Shapes: [m or n, 4n], [n, 4n], [4n]."""
        return zip(self.W, self.U, self.b, strict=True)

    def run(
        self,
        embedded: Tensor,
        start: tuple[Tensor, Tensor],
        packing: Packing,
        drop: Callable[[Tensor], Tensor],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Run all layers over the positions of a batch, one layer after the other.

        :param embedded: Shape: [N, m].
        :param start: h and c of each layer in packed order. Shapes: [B, L, n].
        :param drop: dropout, applied to the inputs of each layer.
        :return: h and c of each layer, the lowest first. Shapes: [N, n].
        """
        below, all_h, all_c = embedded, [], []
        for layer, (W, U, b) in enumerate(self.weights()):
            first = start[0][:, layer], start[1][:, layer]
            x = addmm(b, drop(below), W)
            below, c = lstm_scan(x, first, U, self.peepholes(layer), packing)
            all_h.append(below)
            all_c.append(c)
        return all_h, all_c


class DeepLSTM(EncoderDecoder):
    """p(y | x) by way of the last states of a deep LSTM; see the equations above."""

    config_class = DeepLSTMConfig
    inference: DeepLSTMInference | None

    def __init__(self, config: DeepLSTMConfig, src_size: int, tgt_size: int) -> None:
        """Declare and initialise the parameters.

        :param src_size, tgt_size: vocabulary sizes K_x and K_y, special words included.
        """
        super().__init__(config)
        m, n = config.embedding, config.hidden
        self.E_x = matrix(src_size, m)
        self.encoder = Layers(m, n, config.layers, config.peepholes)
        self.E_y = matrix(tgt_size, m)
        self.decoder = Layers(m, n, config.layers, config.peepholes)
        self.declare_output(n, tgt_size)
        self.initialise()

    def reset_parameters(self) -> None:
        """Initialise the parameters; see the top of this file."""
        n = self.config.hidden
        for name, parameter in self.named_parameters():
            if self.config.initialisation == "paper":
                parameter.uniform_(-UNIFORM, UNIFORM)
            elif parameter.dim() == 1 or ".p." in name:
                parameter.zero_()
                if ".b." in name:
                    parameter[n : 2 * n] = 1  # the forget gate
            else:
                glorot(parameter, 0 if name in ("E_x", "E_y", "W_o") else min(n, parameter.size(1)))

    def encode(self, src: Tensor, src_mask: Tensor) -> Encoded:
        """Encode the source; see `TranslationModel.encode`."""
        packing = Packing.of(src_mask, src.device)
        words = src
        if self.config.reverse:
            words = reverse_words(src, src_mask.to(src.device, non_blocking=True))
        embedded = self.source_embeddings(packing.pack(words))
        zeros = embedded.new_zeros(len(src), self.config.layers, self.config.hidden)
        all_h, all_c = self.encoder.run(embedded, (zeros, zeros), packing, self.apply_dropout)
        h, c = (
            torch.stack([values.index_select(0, packing.last) for values in layers], dim=1)
            for layers in (all_h, all_c)
        )  # [B, L, n] each
        return Encoded(h, c)

    def source_embeddings(self, words: Tensor) -> Tensor:
        """Return E_x x. Shape: [..., m]."""
        return functional.embedding(words, self.E_x)

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return h of each layer, then c of each, after the source. Shape: [B, 2 L n]."""
        encoded = self.encode(src, src_mask)
        return torch.cat([encoded.h, encoded.c], dim=1).flatten(1)

    def initial_state(self, encoded: Encoded) -> State:
        """Return the encoder's states; see `TranslationModel.initial_state`."""
        return State(encoded.h.unsqueeze(1), encoded.c.unsqueeze(1))

    def step(self, prev: Tensor, state: State, encoded: Encoded) -> Step:
        """Decode one target position; see `TranslationModel.step`."""
        if self.inference is not None:
            return self.inference.step(prev, state)
        below = self.target_embeddings(prev)  # s_i^0 = E_y y_{i-1} [B, k, m]
        all_h, all_c = [], []
        for layer, (W, U, b) in enumerate(self.decoder.weights()):
            h, c = state.h[:, :, layer], state.c[:, :, layer]  # s_{i-1}^l, d_{i-1}^l [B, k, n]
            x = self.apply_dropout(below) @ W + h @ U + b  # [B, k, 4n]
            below, c = lstm_step(x, c, self.decoder.peepholes(layer))  # s_i^l, d_i^l
            all_h.append(below)
            all_c.append(c)
        next_state = State(torch.stack(all_h, dim=2), torch.stack(all_c, dim=2))
        return Step(self._readout(below), next_state, None)

    def _readout(self, s: Tensor) -> Tensor:
        """Return s_i^L [..., n], projected to the embedding size [..., m] if W_o is tied."""
        return self.project_readout(self.apply_dropout(s))

    def inference_twin(self, precision: Precision) -> DeepLSTMInference:
        """Return the fast twin of `step`."""
        return DeepLSTMInference(self, precision)

    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Run the decoder over given translations; see `EncoderDecoder.teacher_forced`."""
        encoded = self.encode_for_targets(pairs)
        packing = Packing.of(pairs.tgt_mask, pairs.tgt.device)
        order = longest_first(pairs.tgt_mask).to(pairs.tgt.device, non_blocking=True)
        start = encoded.h.index_select(0, order), encoded.c.index_select(0, order)
        embedded = self.target_embeddings(previous_words(pairs.tgt, packing))
        states, _ = self.decoder.run(embedded, start, packing, self.apply_dropout)
        readout = self._readout(states[-1])  # [N, n]
        return TeacherForced(readout, packing.pack(pairs.tgt), packing)


def reverse_words(src: Tensor, src_mask: Tensor) -> Tensor:
    """Reverse the words of each sentence; `</s>` stays last.

    Shapes: [B, T_x].
    """
    last = src_mask.sum(1, keepdim=True) - 1  # where `</s>` is
    positions = torch.arange(src.size(1), device=src.device).expand_as(src)
    return src.gather(1, torch.where(positions < last, last - 1 - positions, positions))
