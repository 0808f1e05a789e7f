"""CSLM: the feed-forward language model of Cho et al. 2014 (EMNLP), section 4.1.2; Schwenk 2007.

It reads no source: y_i is predicted from the six words before it, a 7-gram. Biases left out:

    words        p_i = [E_y y_{i-6}; ...; E_y y_{i-1}]       6 * 512 = 3072 wide
    first layer  h_i = max(0, W_1 p_i)                        1536
    second       t_i = max(0, W_2 h_i)                        1024
    next word    p(y_i | y_<i) = softmax(W_o t_i)

Search, sampling, scoring and training use it as any other model, with an empty source. All
positions of a batch are computed at once: there is no loop.

Departures and readings:

- Positions before the beginning of the sentence have no vector: their part of p_i is zero, as is
  that of y_0 in the other models. The context never includes words of the previous sentence.
- `</s>` is predicted as in the other models; `perplexity` counts it.
- All layers have biases. "All the weight parameters were initialized uniformly": the matrices and
  E_y in +-0.01; biases begin at 0.
- Trained on every word of whole sentences, not on 7-grams drawn one by one.
- `dropout` (Srivastava et al. 2014; not in the paper): on h_i and t_i.
- `initialisation` "scaled" (not in the paper): matrices uniform with the variance of He et al. 2015
  for rectified layers, those of E_y and W_o as in the other models.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.base import Step
from nmtkit.models.fast.cslm import CSLMInference
from nmtkit.models.layers import addmm, bias, glorot, matrix
from nmtkit.models.packing import Packing
from nmtkit.models.precision import Precision
from nmtkit.models.search_state import EncodedTensors, FixedSizeState
from nmtkit.models.teacher_forcing import EncoderDecoder, SentencePairs, TeacherForced
from nmtkit.special_symbols import BOS

UNIFORM = 0.01
"""Bound of the paper's uniform distribution."""


@dataclass(frozen=True)
class CSLMConfig:
    """Sizes of Cho et al. 2014, section 4.1.2, and settings that are not in the paper.

    context: previous words that are read; one less than the n of the n-gram.
    embedding: m, size of a word vector.
    hidden, second: units of the two rectified layers.
    dropout: probability with which a value is dropped in training; 0: none.
    initialisation: "paper": the paper's distributions; "scaled": Glorot and Bengio 2010.
    """

    context: int = 6
    embedding: int = 512
    hidden: int = 1536
    second: int = 1024
    dropout: float = 0.0
    initialisation: Literal["paper", "scaled"] = "paper"


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    """An empty source of B sentences. Shape: [B, 0]."""

    empty: Tensor


@dataclass(frozen=True)
class State(FixedSizeState):
    """The c words before the previous one, y_{i-1-c}, ..., y_{i-2}; `BOS` before the first.

    Shape: [B, k, c], int64.
    """

    words: Tensor


class CSLM(EncoderDecoder):
    """p(y) as a product of n-gram probabilities; see the equations above."""

    config_class = CSLMConfig
    reads_source = False
    P = None  # W_o is one matrix
    inference: CSLMInference | None

    def __init__(self, config: CSLMConfig, src_size: int, tgt_size: int) -> None:
        """Declare and initialise the parameters.

        :param src_size: not used; every model takes it.
        :param tgt_size: vocabulary size K_y, special words included.
        """
        super().__init__(config)
        self.E_y = matrix(tgt_size, config.embedding)
        self.W_1 = matrix(config.context * config.embedding, config.hidden)
        self.b_1 = bias(config.hidden)
        self.W_2 = matrix(config.hidden, config.second)
        self.b_2 = bias(config.second)
        self.W_o = matrix(tgt_size, config.second)
        self.b_y = bias(tgt_size)
        self.initialise()

    def reset_parameters(self) -> None:
        """Initialise the parameters; see the top of this file."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 1:
                parameter.zero_()
            elif self.config.initialisation == "paper":
                parameter.uniform_(-UNIFORM, UNIFORM)
            elif name in ("E_y", "W_o"):
                glorot(parameter, 0)
            else:
                bound = (6 / len(parameter)) ** 0.5
                parameter.uniform_(-bound, bound)

    def encode(self, src: Tensor, src_mask: Tensor) -> Encoded:
        """Return an empty source for each sentence; see `TranslationModel.encode`."""
        return Encoded(self.b_y.new_empty(len(src), 0))

    def initial_state(self, encoded: Encoded) -> State:
        """Return a state without words; see `TranslationModel.initial_state`."""
        shape = len(encoded.empty), 1, self.config.context
        return State(torch.full(shape, BOS, device=encoded.empty.device))

    def step(self, prev: Tensor, state: State, encoded: Encoded) -> Step:
        """Decode one target position; see `TranslationModel.step`."""
        words = torch.cat([state.words[..., 1:], prev.unsqueeze(-1)], dim=-1)  # [B, k, c]
        return Step(self.readout(words), State(words), None)

    def readout(self, words: Tensor) -> Tensor:
        """Compute t_i from y_{i-c}, ..., y_{i-1}. [..., c] to [..., l]."""
        if self.inference is not None:
            return self.inference.readout(words)
        p = self.target_embeddings(words).flatten(-2)  # p_i [..., c m]
        h = self.apply_dropout(torch.relu(addmm(self.b_1, p, self.W_1)))  # h_i [..., n]
        return self.apply_dropout(torch.relu(addmm(self.b_2, h, self.W_2)))  # t_i [..., l]

    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Compute the readouts of every target word; see `EncoderDecoder.teacher_forced`."""
        packing = Packing.of(pairs.tgt_mask, pairs.tgt.device)
        previous = packing.pack(contexts(pairs.tgt, self.config.context))  # [N, c]
        return TeacherForced(self.readout(previous), packing.pack(pairs.tgt), packing)

    def inference_twin(self, precision: Precision) -> CSLMInference:
        """Return the fast twin of `readout`."""
        return CSLMInference(self, precision)


def contexts(tgt: Tensor, size: int) -> Tensor:
    """Return the words before each position, nearest last; `BOS` before the first word.

    :param tgt: Shape: [B, T_y].
    :return: y_{i-size}, ..., y_{i-1}. Shape: [B, T_y, size].
    """
    return functional.pad(tgt[:, :-1], (size, 0), value=BOS).unfold(1, size, 1)
