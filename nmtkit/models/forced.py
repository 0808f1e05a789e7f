"""What all models do alike: look up target words, and make cost and scores of what they read."""

from abc import abstractmethod
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from nmtkit.models.base import BEGIN, OutputLayer, Scored, select_sentences
from nmtkit.models.layers import dropout, softmax_cost, target_log_probs
from nmtkit.models.packing import Packing


class Forced(NamedTuple):
    """What teacher forcing gives.

    hidden: what the output layer turns into words, at each real target position. Shape: [N, l].
    words: the target words there. Shape: [N].
    packing: where these positions are.
    alignment: alpha_ij [B, T_y, T_x], or None.
    """

    hidden: Tensor
    words: Tensor
    packing: Packing
    alignment: Tensor | None = None


class ForcedModel(nn.Module):
    """The part of a `TranslationModel` that follows from `teacher_forced` and `output_words`.

    :param config: has `dropout`.
    """

    reads_source = True
    E_y: Tensor
    b_y: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self._prepared: Any = None  # the weights as search takes them, once they are made ready

    @abstractmethod
    def encode(self, src: Tensor, src_mask: Tensor) -> Any:
        """Read the source; see `TranslationModel.encode`."""

    def encode_for(self, src: Tensor, src_mask: Tensor, sources: Tensor | None) -> Any:
        """What each target needs of its source; parameters as in `TranslationModel.score`."""
        encoded = self.encode(src, src_mask)
        return encoded if sources is None else select_sentences(encoded, sources)

    @abstractmethod
    def teacher_forced(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Forced:
        """Let the decoder read the target; parameters as in `TranslationModel.score`."""

    @abstractmethod
    def output_words(self) -> Tensor:
        """The words' rows of the output layer. Shape: [K, l]."""

    def output_layer(self) -> OutputLayer:
        """`output_words` and the bias; see `TranslationModel.output_layer`."""
        if self._prepared is not None:
            layer: OutputLayer = self._prepared.output
            return layer
        return OutputLayer(self.output_words(), self.b_y)

    def loss(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """Sum of -log p over the target words; see `TranslationModel.loss`."""
        forced = self.teacher_forced(src, src_mask, tgt, tgt_mask)
        rows = self.output_words()
        return softmax_cost(forced.hidden, rows, self.b_y, forced.words, label_smoothing)

    def score(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Scored:
        """Log-probability of each target word; see `TranslationModel.score`."""
        forced = self.teacher_forced(src, src_mask, tgt, tgt_mask, sources)
        log_probs = target_log_probs(forced.hidden, self.output_words(), self.b_y, forced.words)
        return Scored(forced.packing.pad(log_probs.unsqueeze(1)).squeeze(2), forced.alignment)

    def target_embeddings(self, words: Tensor) -> Tensor:
        """E_y y, zero for `BEGIN`. Shape: [..., m]."""
        embedded = functional.embedding(words.clamp(min=0), self.E_y)
        return embedded * (words != BEGIN).unsqueeze(-1)

    def dropped(self, values: Tensor) -> Tensor:
        """Values with dropout, in training."""
        return dropout(values, self.config.dropout) if self.training else values


def previous_words(tgt: Tensor, packing: Packing) -> Tensor:
    """y_{i-1} at each real position. [B, T_y] to [N]."""
    return packing.pack(functional.pad(tgt[:, :-1], (1, 0), value=BEGIN))
