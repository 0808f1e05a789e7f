"""What search, training and scoring rely on in a model, and nothing more.

The interface is GroundHog's (encode, initial state, next probabilities, next state) in
today's types. A model takes and gives tensors: it knows no files, words or settings of
search. Shapes: B sentences, k hypotheses a sentence, source length T_x and target length T_y
(both counting `</s>`), target vocabulary K.

The hypotheses of a sentence share its encoded source, so that it is never copied for each of them.
How search carries it and a model's state from step to step is in `search_state`.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.models.fast.int8 import CandidateLayer, Int8Matrix, OutputShard
from nmtkit.models.search_state import EncodedSource, SearchState


class OutputLayer(NamedTuple):
    """The layer that every model ends in: p(y_i | y_<i, x) = softmax(W t_i + bias).

    W: Shape: [K, l].
    bias: Shape: [K].
    whole: W transposed in 8 bits, where search may multiply with that instead.
    """

    W: Tensor
    bias: Tensor
    whole: Int8Matrix | None = None

    def logits_each(self, hidden: Tensor, words: Tensor) -> Tensor:
        """Some logits, of other words for each row.

        :param hidden: Shape: [N, l].
        :param words: Shape: [N, w].
        :return: Shape: [N, w].
        """
        if self.whole is not None:
            return self.whole.logits_at_columns(hidden, self.bias, words)
        W = self.W.index_select(0, words.flatten()).view(*words.shape, -1)
        return torch.bmm(hidden.unsqueeze(1), W.transpose(1, 2)).squeeze(1) + self.bias[words]

    def listed(self, lists: Tensor) -> CandidateLayer:
        """The layer of other words for each sentence, -1 where there is none. Shape: [B, C]."""
        return CandidateLayer(self.W, self.bias, self.whole, lists)

    def to_int8(self) -> "OutputLayer":
        """The layer with its matrix in 8 bits, too."""
        return self if self.whole else self._replace(whole=Int8Matrix(self.W.t()))

    def tiles(self, width: int, group: int) -> list[OutputShard]:
        """The layer in tiles of so many words, the last up to a whole number of groups of words;
        what it lacks has probability 0."""
        found = []
        for start in range(0, len(self.bias), width):
            words = slice(start, start + width)
            W, bias = self.W[words], self.bias[words]
            more = -len(bias) % group
            if more:
                W = functional.pad(W, (0, 0, 0, more))
                bias = functional.pad(bias, (0, more), value=-torch.inf)
            found.append(OutputShard(W, bias, Int8Matrix(W.t()) if self.whole else None))
        return found


class Step(NamedTuple):
    """What one target position gives for every hypothesis.

    readout: t_i, what the output layer turns into probabilities of words. Shape: [B, k, l].
    state: the state with which the next position is entered.
    alignment: alpha_i over source positions, rows sum to 1, or None for a model that has no
        alignment. Shape: [B, k, T_x].
    """

    readout: Tensor
    state: SearchState
    alignment: Tensor | None


class Scored(NamedTuple):
    """What teacher forcing gives for given translations.

    log_probs: log p of each reference word, 0 at padding. Shape: [B, T_y].
    alignment: alpha_ij, rows of padding 0, or None. Shape: [B, T_y, T_x].
    """

    log_probs: Tensor
    alignment: Tensor | None


class TranslationModel(Protocol):
    """A model of p(y | x)."""

    @property
    def reads_source(self) -> bool:
        """Whether p depends on x. A language model reads nothing of it: it has no translations,
        only their fluency."""
        ...

    def for_inference(self, quantize: bool = False) -> "TranslationModel":
        """The same model, ready for many steps of search in one thread: what can be computed once
        is kept; the parameters are shared.

        :param quantize: multiply with matrices of 8 bits.
        """
        ...

    def encode(self, src: Tensor, src_mask: Tensor) -> EncodedSource:
        """Read the source sentences.

        :param src: word ids, each sentence ending with `</s>`. Shape: [B, T_x], int64.
        :param src_mask: True at words and `</s>`, False at padding. Shape: [B, T_x], bool.
        """
        ...

    def initial_state(self, encoded: Any) -> SearchState:
        """Return the state before the first target word, of one hypothesis a sentence."""
        ...

    def output_layer(self) -> OutputLayer:
        """The last layer. Search applies it: to the rows and words it needs, a few at a time."""
        ...

    def step(self, prev: Tensor, state: Any, encoded: Any) -> Step:
        """Go on by one target position, to what predicts the next word of every hypothesis.

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
        """Sum of -log p over all real target words, `</s>` included (natural log, scalar)."""
        ...

    def score(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Scored:
        """Log-probability of each word of given translations, by teacher forcing.

        :param sources: the row of `src` that each target translates, where several share one, which
            is read once; None where they stand side by side. Shape: [B], int64.
        """
        ...


@runtime_checkable
class HasComposition(Protocol):
    """A model that builds something over the source which can be shown."""

    def compositions(self, src: Tensor, src_mask: Tensor) -> list[list[Tensor]]:
        """For each sentence, for each level above its words, the coefficients of the nodes from
        the left: how much of each is new, its left and its right child. Shapes: [nodes, 3]."""
        ...


@runtime_checkable
class HasSourceVectors(Protocol):
    """A model that makes vectors of source words and of whole sentences. All do that read one."""

    def source_embeddings(self, words: Tensor) -> Tensor:
        """E_x x. [...] to [..., m]."""
        ...

    def summarise(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """One vector for each sentence, what the model itself takes for its whole; parameters as
        in `TranslationModel.encode`. Shape: [B, summary]."""
        ...


@runtime_checkable
class HasTargetVectors(Protocol):
    """A model that makes vectors of target words."""

    def target_embeddings(self, words: Tensor) -> Tensor:
        """E_y y. [...] to [..., m]."""
        ...


def log_probs(layer: OutputLayer, hidden: Tensor) -> Tensor:
    """log softmax(W t + bias), natural log. [..., l] to [..., K]."""
    return torch.log_softmax(hidden @ layer.W.t() + layer.bias, dim=-1)
