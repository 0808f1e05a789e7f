"""The interface between models and search, training and scoring.

The interface is GroundHog's (encode, initial state, next probabilities, next state) in
today's types. A model takes and returns tensors; it does not read files, map words or
know search settings. Shapes: B sentences, k hypotheses per sentence, source length T_x and target
length T_y (both counting `</s>`), target vocabulary K.

All hypotheses of a sentence share its encoded source, which is never copied for each of them.
`search_state` defines how search carries it, and the model's state, from step to step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.precision import Precision
from nmtkit.models.search_state import EncodedSource, SearchState
from nmtkit.models.softmax_sampling import WordSampler

if TYPE_CHECKING:
    from nmtkit.models.attention_guide import AttentionGuide


class LogitLayer(Protocol):
    """An output layer for some of the words."""

    def logits(self, readout: Tensor) -> Tensor:
        """Return W t + bias. [N, l] to [N, w]."""
        ...


class CandidateLayer(Protocol):
    """An output layer restricted to a list of candidate words for each of B sentences."""

    def select(self, rows: Tensor) -> Self:
        """Keep the sentences `rows`."""
        ...

    def logits(self, readout: Tensor) -> Tensor:
        """Return each sentence's logits, -inf where it has no candidate. [B, k, l] to [B, k, C]."""
        ...


@dataclass(frozen=True)
class OutputLayer:
    """The output layer of every model: p(y_i | y_<i, x) = softmax(W t_i + bias).

    Search applies it itself, to only the readouts and words that it needs. The methods are
    overridden in `fast/output_layer.py`.

    W: Shape: [K, l].
    bias: Shape: [K].
    """

    W: Tensor
    bias: Tensor

    def logits(self, readout: Tensor) -> Tensor:
        """Return the logits of all words. [..., l] to [..., K]."""
        return readout @ self.W.t() + self.bias

    def logits_of(self, readout: Tensor, words: Tensor) -> Tensor:
        """Return the logits of each row's own list of words.

        :param readout: Shape: [N, l].
        :param words: Shape: [N, w].
        :return: Shape: [N, w].
        """
        W = self.W.index_select(0, words.flatten()).view(*words.shape, -1)  # [N, w, l]
        return torch.bmm(readout.unsqueeze(1), W.transpose(1, 2)).squeeze(1) + self.bias[words]

    def for_candidates(self, lists: Tensor) -> CandidateLayer:
        """Restrict the layer to each sentence's list of candidates.

        :param lists: word ids, padded with -1. Shape: [B, C].
        """
        return PlainCandidateLayer(self, lists)

    @property
    def rounds_shards(self) -> bool:
        """Return True if rounded shards compute faster, and less exactly, than others."""
        return False

    def shards(self, width: int, multiple: int, rounded: bool = False) -> Sequence[LogitLayer]:
        """Cut the layer into shards of `width` words.

        The last shard is padded to a multiple of `multiple` words; padding has probability 0.

        :param rounded: logits may be rounded; no difference unless `rounds_shards`.
        """
        return [
            OutputLayer(*padded_shard(self.W, self.bias, start, width, multiple))
            for start in range(0, len(self.bias), width)
        ]


@dataclass(frozen=True)
class PlainCandidateLayer:
    """A `CandidateLayer` that gathers the rows of W for each sentence.

    lists: word ids, padded with -1. Shape: [B, C].
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

    :return: W [w, l] and bias [w]; the bias is -inf at padding.
    """
    W, bias = W[start : start + width], bias[start : start + width]
    missing = -len(bias) % multiple
    if missing:
        W = functional.pad(W, (0, 0, 0, missing))
        bias = functional.pad(bias, (0, missing), value=-torch.inf)
    return W, bias


class Step(NamedTuple):
    """Result of decoding one target position of every hypothesis.

    readout: t_i, from which the output layer predicts the word. Shape: [B, k, l].
    state: the state for the next position.
    alignment: alpha_i over source positions, rows sum to 1; None for a model without attention.
        Shape: [B, k, T_x].
    """

    readout: Tensor
    state: SearchState
    alignment: Tensor | None


class Scored(NamedTuple):
    """Scores of given translations, by teacher forcing.

    log_probs: log p of each reference word, 0 at padding. Shape: [B, T_y].
    alignment: alpha_ij, rows of padding 0, or None. Shape: [B, T_y, T_x].
    """

    log_probs: Tensor
    alignment: Tensor | None


class Evidence(NamedTuple):
    """What a model predicts at each position of given translations, by teacher forcing.

    log_probs: log p of each given word, 0 at padding. Shape: [B, T_y].
    rivals: log p of the most probable other word, 0 at padding. Shape: [B, T_y].
    entropies: of the distribution of the word, in nats, 0 at padding. Shape: [B, T_y].
    alignment: alpha_ij, rows of padding 0, or None. Shape: [B, T_y, T_x].
    """

    log_probs: Tensor
    rivals: Tensor
    entropies: Tensor
    alignment: Tensor | None


class TranslationModel(Protocol):
    """A model of p(y | x)."""

    @property
    def reads_source(self) -> bool:
        """True if p depends on x; False for a language model, which cannot translate."""
        ...

    @property
    def has_attention(self) -> bool:
        """True if each target word has weights of the source words."""
        ...

    @property
    def can_compute_padding(self) -> bool:
        """True if `loss` is right inside `packing.computed_padding`, too."""
        ...

    def for_inference(self, precision: Precision = "float32") -> "TranslationModel":
        """Return a copy of the model for inference in one thread.

        It precomputes what all steps of search have in common, and shares the parameters.

        :param precision: type of the matrix products.
        """
        ...

    def encode(self, src: Tensor, src_mask: Tensor) -> EncodedSource:
        """Encode the source sentences.

        :param src: word ids, each sentence ending with `</s>`. Shape: [B, T_x], int64.
        :param src_mask: True at words and `</s>`, False at padding. In the host's memory even if
            `src` is on a device, which need not be waited for then. Shape: [B, T_x], bool.
        """
        ...

    def initial_state(self, encoded: Any) -> SearchState:
        """Return the state before the first target word, for one hypothesis per sentence."""
        ...

    def output_layer(self) -> OutputLayer:
        """Return the output layer, which search applies to the rows and words that it needs."""
        ...

    def step(self, prev: Tensor, state: Any, encoded: Any) -> Step:
        """Decode one target position: compute the readout that predicts the next word.

        :param prev: y_{i-1} of each hypothesis, `BOS` before the first word. Shape: [B, k], int64.
        """
        ...

    def loss(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        label_smoothing: float = 0.0,
        sampler: WordSampler | None = None,
        guide: "AttentionGuide | None" = None,
    ) -> Tensor:
        """Return the sum of -log p over all real target words, `</s>` included.

        Natural log, a scalar.

        :param sampler: draws the words over which p is normalised; None: all words.
        :param guide: adds the cost of attention that differs from its links, if there is attention.
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

        :param sources: the row of `src` that each target translates, if several targets share a
            source, which is then encoded once; None for one source per target. Shape: [B], int64.
        """
        ...

    def evidence(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Evidence:
        """Compute what the model predicts where the words of given translations stand.

        Parameters as in `score`.
        """
        ...


@runtime_checkable
class HasComposition(Protocol):
    """A model that composes the source words in a soft binary tree, which can be shown."""

    def compositions(self, src: Tensor, src_mask: Tensor) -> list[list[Tensor]]:
        """Return the coefficients of each sentence's nodes, for each level above its words.

        They weight a node's new value, its left child and its right child, and sum to 1.
        Shapes: [nodes, 3].
        """
        ...


@runtime_checkable
class HasSourceVectors(Protocol):
    """A model with vectors of source words and sentences: any model that reads the source."""

    def source_embeddings(self, words: Tensor) -> Tensor:
        """Return E_x x. [...] to [..., m]."""
        ...

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Return the model's own vector for each source sentence.

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
