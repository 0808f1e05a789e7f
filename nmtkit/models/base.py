"""The interface between models and search, training and scoring.

The interface is GroundHog's (encode, initial state, next probabilities, next state) in
today's types. A model takes and returns tensors; files, words and search settings are not its
business. Shapes: B sentences, k hypotheses a sentence, source length T_x and target length T_y
(both counting `</s>`), target vocabulary K.

The hypotheses of a sentence share its encoded source, so that it is never copied for each of them.
How search carries it and a model's state from step to step is in `search_state`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.search_state import EncodedSource, SearchState


class LogitLayer(Protocol):
    """A layer that turns readouts into the logits of some words."""

    def logits(self, readout: Tensor) -> Tensor:
        """Return W t + bias. [N, l] to [N, w]."""
        ...


class CandidateLayer(Protocol):
    """A layer with words of their own for each of B sentences."""

    def select(self, rows: Tensor) -> Self:
        """Keep the sentences `rows`."""
        ...

    def logits(self, readout: Tensor) -> Tensor:
        """Return each sentence's logits, -inf where it has no candidate. [B, k, l] to [B, k, C]."""
        ...


@dataclass(frozen=True)
class OutputLayer:
    """The layer that every model ends in: p(y_i | y_<i, x) = softmax(W t_i + bias).

    Search applies it, to the readouts and words that it needs. `fast/output_layer.py` overrides
    the methods.

    W: Shape: [K, l].
    bias: Shape: [K].
    """

    W: Tensor
    bias: Tensor

    def logits(self, readout: Tensor) -> Tensor:
        """Return the logits of all words. [..., l] to [..., K]."""
        return readout @ self.W.t() + self.bias

    def logits_of(self, readout: Tensor, words: Tensor) -> Tensor:
        """Return the logits of other words for each row.

        :param readout: Shape: [N, l].
        :param words: Shape: [N, w].
        :return: Shape: [N, w].
        """
        W = self.W.index_select(0, words.flatten()).view(*words.shape, -1)  # [N, w, l]
        return torch.bmm(readout.unsqueeze(1), W.transpose(1, 2)).squeeze(1) + self.bias[words]

    def for_candidates(self, lists: Tensor) -> CandidateLayer:
        """Return the layer of each sentence's candidates.

        :param lists: words, -1 behind the last. Shape: [B, C].
        """
        return PlainCandidateLayer(self, lists)

    def shards(self, width: int, multiple: int) -> Sequence[LogitLayer]:
        """Cut the layer into shards of `width` words.

        The last is filled up to a multiple of `multiple` words, whose probability is 0.
        """
        return [
            OutputLayer(*padded_shard(self.W, self.bias, start, width, multiple))
            for start in range(0, len(self.bias), width)
        ]


@dataclass(frozen=True)
class PlainCandidateLayer:
    """Each sentence's own rows of the output layer; see `CandidateLayer`.

    lists: words, -1 behind the last. Shape: [B, C].
    """

    layer: OutputLayer
    lists: Tensor

    def select(self, rows: Tensor) -> "PlainCandidateLayer":
        """Keep the sentences `rows`."""
        return PlainCandidateLayer(self.layer, self.lists[rows])

    def logits(self, readout: Tensor) -> Tensor:
        """Return the logits of each sentence's words. [B, k, l] to [B, k, C]."""
        words = self.lists.clamp(min=0)
        W, bias = self.layer.W[words], self.layer.bias[words]  # [B, C, l], [B, C]
        logits = readout @ W.transpose(1, 2) + bias.unsqueeze(1)  # [B, k, C]
        return logits.masked_fill((self.lists < 0).unsqueeze(1), -torch.inf)


def padded_shard(
    W: Tensor, bias: Tensor, start: int, width: int, multiple: int
) -> tuple[Tensor, Tensor]:
    """Cut `width` words from an output layer; see `OutputLayer.shards`.

    :return: W [w, l] and bias [w]; the bias is -inf where there is no word.
    """
    W, bias = W[start : start + width], bias[start : start + width]
    missing = -len(bias) % multiple
    if missing:
        W = functional.pad(W, (0, 0, 0, missing))
        bias = functional.pad(bias, (0, missing), value=-torch.inf)
    return W, bias


class Step(NamedTuple):
    """One target position of every hypothesis.

    readout: t_i, from which the output layer predicts the word. Shape: [B, k, l].
    state: the state for the next position.
    alignment: alpha_i over source positions, rows sum to 1, or None for a model that has no
        alignment. Shape: [B, k, T_x].
    """

    readout: Tensor
    state: SearchState
    alignment: Tensor | None


class Scored(NamedTuple):
    """Given translations, scored by teacher forcing.

    log_probs: log p of each reference word, 0 at padding. Shape: [B, T_y].
    alignment: alpha_ij, rows of padding 0, or None. Shape: [B, T_y, T_x].
    """

    log_probs: Tensor
    alignment: Tensor | None


class TranslationModel(Protocol):
    """A model of p(y | x)."""

    @property
    def reads_source(self) -> bool:
        """Whether p depends on x; False for a language model, which cannot translate."""
        ...

    def for_inference(self, quantize: bool = False) -> "TranslationModel":
        """Return the model ready for many steps of search in one thread.

        What can be computed once is kept; the parameters are shared.

        :param quantize: multiply with matrices of 8 bits.
        """
        ...

    def encode(self, src: Tensor, src_mask: Tensor) -> EncodedSource:
        """Encode the source sentences.

        :param src: word ids, each sentence ending with `</s>`. Shape: [B, T_x], int64.
        :param src_mask: True at words and `</s>`, False at padding. Shape: [B, T_x], bool.
        """
        ...

    def initial_state(self, encoded: Any) -> SearchState:
        """Return the state before the first target word, of one hypothesis a sentence."""
        ...

    def output_layer(self) -> OutputLayer:
        """Return the last layer; search applies it to the rows and words that it needs."""
        ...

    def step(self, prev: Tensor, state: Any, encoded: Any) -> Step:
        """Take one target position: compute the readout that predicts the next word.

        :param prev: the word chosen last, `BOS` before the first. Shape: [B, k], int64.
        """
        ...

    def loss(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """Return the sum of -log p over all real target words, `</s>` included.

        Natural log, a scalar.
        """
        ...

    def score(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Scored:
        """Compute the log-probability of each word of given translations, by teacher forcing.

        :param sources: the row of `src` that each target translates, where several targets share
            one, which is encoded once; None for one source a target. Shape: [B], int64.
        """
        ...


@runtime_checkable
class HasComposition(Protocol):
    """A model that composes the source words to a structure that can be shown."""

    def compositions(self, src: Tensor, src_mask: Tensor) -> list[list[Tensor]]:
        """Return the coefficients of each sentence's nodes, for each level above its words.

        They say how much of a node is new, its left and its right child. Shapes: [nodes, 3].
        """
        ...


@runtime_checkable
class HasSourceVectors(Protocol):
    """A model with vectors of source words and sentences: any that reads the source."""

    def source_embeddings(self, words: Tensor) -> Tensor:
        """Return E_x x. [...] to [..., m]."""
        ...

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return the vector that the model itself has of each sentence.

        Parameters as in `TranslationModel.encode`. Shape: [B, summary].
        """
        ...


@runtime_checkable
class HasTargetVectors(Protocol):
    """A model with vectors of target words."""

    def target_embeddings(self, words: Tensor) -> Tensor:
        """Return E_y y. [...] to [..., m]."""
        ...


def log_probs(layer: OutputLayer, readout: Tensor) -> Tensor:
    """Return log softmax(W t + bias), natural log. [..., l] to [..., K]."""
    return torch.log_softmax(layer.logits(readout), dim=-1)
