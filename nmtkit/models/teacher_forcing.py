"""What all models do alike: look up target words, and make cost and scores of what they read."""

import copy
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmtkit.models import kernels
from nmtkit.models.base import OutputLayer, Scored
from nmtkit.models.fast.output_layer import OutputInference
from nmtkit.models.fast.output_layer import output_layer as fast_output_layer
from nmtkit.models.layers import dropout, softmax_cost, target_log_probs
from nmtkit.models.packing import Packing, longest_first
from nmtkit.special_symbols import BOS

output_layer = kernels.Twin(OutputLayer, fast_output_layer)


class SentencePairs(NamedTuple):
    """Sentences and what is made of them; parameters as in `TranslationModel.score`."""

    src: Tensor
    src_mask: Tensor
    tgt: Tensor
    tgt_mask: Tensor
    sources: Tensor | None = None


class TeacherForced(NamedTuple):
    """What teacher forcing gives.

    readout: what the output layer turns into words, at each real target position. Shape: [N, l].
    words: the target words there. Shape: [N].
    packing: where these positions are.
    alignment: alpha_ij [B, T_y, T_x], or None.
    order: which pair each sentence of packing and alignment is; None where they are as given.
        Shape: [B].
    """

    readout: Tensor
    words: Tensor
    packing: Packing
    alignment: Tensor | None = None
    order: Tensor | None = None


class EncoderDecoder(nn.Module):
    """The part of a `TranslationModel` that follows from `teacher_forced` and `output_words`.

    :param config: has `dropout`.
    """

    reads_source = True
    inference: OutputInference | None
    E_y: Tensor
    b_y: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.inference = None  # the fast twin of encode and step, where `for_inference` set it

    @torch.no_grad()
    def initialise(self) -> None:
        """Draw the parameters anew.

        On the device "meta", where parameters wait to be read from a file, nothing is drawn.
        """
        if not self.b_y.is_meta:
            self.reset_parameters()

    @abstractmethod
    def reset_parameters(self) -> None:
        """Give every parameter its first value."""

    @abstractmethod
    def encode(self, src: Tensor, src_mask: Tensor) -> Any:
        """Read the source; see `TranslationModel.encode`."""

    @abstractmethod
    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Let the decoder read the target."""

    def encode_for_targets(self, pairs: SentencePairs) -> Any:
        """What is read of each target's source."""
        encoded = self.encode(pairs.src, pairs.src_mask)
        return encoded if pairs.sources is None else encoded.select_sentences(pairs.sources)

    @abstractmethod
    def output_words(self) -> Tensor:
        """The words' rows of the output layer. Shape: [K, l]."""

    def output_layer(self) -> OutputLayer:
        """Return `output_words` and the bias; see `TranslationModel.output_layer`."""
        if self.inference is not None:
            return self.inference.output
        return output_layer(self.output_words(), self.b_y)

    def for_inference(self, quantize: bool = False) -> Self:
        """Return the model ready for search; see `TranslationModel.for_inference`.

        :raises ValueError: 8 bits and NMTKIT_PLAIN=1, which exclude each other.
        """
        if kernels.PLAIN and quantize:
            raise ValueError("8 bits need the fast pieces; unset NMTKIT_PLAIN")
        if kernels.PLAIN or (self.inference is not None and not quantize):
            return self
        model = copy.copy(self)  # the parameters are shared
        model.inference = self.inference_twin(quantize)
        return model

    def inference_twin(self, quantize: bool) -> OutputInference:
        """Return the fast twin of what search calls; of the output layer alone if not overridden.

        :param quantize: multiply with matrices of 8 bits.
        """
        return OutputInference(self.output_words(), self.b_y, quantize)

    def loss(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """Sum of -log p over the target words; see `TranslationModel.loss`."""
        forced = self.teacher_forced(SentencePairs(src, src_mask, tgt, tgt_mask))
        rows = self.output_words()
        return softmax_cost(forced.readout, rows, self.b_y, forced.words, label_smoothing)

    def score(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Scored:
        """Log-probability of each target word; see `TranslationModel.score`."""
        forced = self.teacher_forced(SentencePairs(src, src_mask, tgt, tgt_mask, sources))
        found = target_log_probs(forced.readout, self.output_words(), self.b_y, forced.words)
        log_probs = forced.packing.pad(found.unsqueeze(1)).squeeze(2)
        if forced.order is None:
            return Scored(log_probs, forced.alignment)
        back = forced.order.argsort()
        alignment = None if forced.alignment is None else forced.alignment[back]
        return Scored(log_probs[back], alignment)

    def target_embeddings(self, words: Tensor) -> Tensor:
        """E_y y, zero for `BOS`. Shape: [..., m]."""
        embedded = functional.embedding(words.clamp(min=0), self.E_y)
        return embedded * (words != BOS).unsqueeze(-1)

    def apply_dropout(self, values: Tensor) -> Tensor:
        """Values with dropout, in training."""
        return dropout(values, self.config.dropout) if self.training else values


def previous_words(tgt: Tensor, packing: Packing) -> Tensor:
    """y_{i-1} at each real position. [B, T_y] to [N]."""
    return packing.pack(functional.pad(tgt[:, :-1], (1, 0), value=BOS))


def longest_target_first(pairs: SentencePairs) -> tuple[SentencePairs, Tensor]:
    """The pairs in that order, and which of those given each is. Shape: [B]."""
    order = longest_first(pairs.tgt_mask)
    rows = order.to(pairs.src.device, non_blocking=True)
    targets = pairs.tgt[rows], pairs.tgt_mask[order]
    if pairs.sources is not None:
        return SentencePairs(pairs.src, pairs.src_mask, *targets, pairs.sources[rows]), rows
    src_mask = pairs.src_mask[order.to(pairs.src_mask.device)]
    return SentencePairs(pairs.src[rows], src_mask, *targets), rows
