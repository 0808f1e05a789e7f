"""The base class of all models: target embeddings, cost and scores by teacher forcing."""

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmtkit.models import kernels
from nmtkit.models.base import Evidence, OutputLayer, Scored
from nmtkit.models.fast.output_layer import OutputInference
from nmtkit.models.fast.output_layer import output_layer as fast_output_layer
from nmtkit.models.layers import (
    bias,
    dropout,
    matmul,
    matrix,
    softmax_cost,
    target_evidence,
    target_log_probs,
)
from nmtkit.models.packing import Packing, longest_first
from nmtkit.models.precision import Precision
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.special_symbols import BOS

if TYPE_CHECKING:
    from nmtkit.models.attention_guide import AttentionGuide

output_layer = kernels.Twin(OutputLayer, fast_output_layer)


class SentencePairs(NamedTuple):
    """Source sentences and their translations; fields as in `TranslationModel.score`."""

    src: Tensor
    src_mask: Tensor
    tgt: Tensor
    tgt_mask: Tensor
    sources: Tensor | None = None


class TeacherForced(NamedTuple):
    """The decoder's readouts for given target words.

    readout: t_i at each real target position. Shape: [N, l].
    words: the target words there. Shape: [N].
    packing: the packing of these positions.
    alignment: alpha_ij [B, T_y, T_x], or None.
    order: index of the caller's pair for each sentence of packing and alignment; None if they
        are in the caller's order. Shape: [B].
    """

    readout: Tensor
    words: Tensor
    packing: Packing
    alignment: Tensor | None = None
    order: Tensor | None = None

    def padded(self, values: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return values of the positions, padded, and the alignment, in the caller's order.

        :param values: Shape: [N, w]. They become [B, T_y, w].
        """
        padded, alignment = self.packing.pad(values), self.alignment
        if self.order is None:
            return padded, alignment
        inverse = self.order.argsort()
        return padded[inverse], None if alignment is None else alignment[inverse]


class EncoderDecoder(nn.Module):
    """A `TranslationModel` whose cost and scores follow from `teacher_forced`.

    The output matrix W_o may be the product of two matrices; one of them, P, is then applied in the
    readout (`declare_output`).

    :param config: with a field `dropout`, and `tied` if the output matrix may be a product.
    """

    reads_source = True
    has_attention = False
    can_compute_padding = True
    inference: OutputInference | None
    E_y: Tensor
    W_o: Tensor
    F_o: Tensor
    P: Tensor | None
    b_y: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.inference = None  # fast twin of `encode` and `step`, set by `for_inference`

    def declare_output(self, width: int, words: int, rank: int = 0) -> None:
        """Declare the output matrix and its bias b_y [K].

        If `config.tied`, W_o = E_y P with P [m, l]; else if `rank` r is above 0, W_o = F_o P with
        F_o [K, r] and P [r, l]; else W_o [K, l] is one matrix. P is stored transposed.

        :param width: l, width of t_i.
        :param words: K, size of the target vocabulary.
        """
        self.P = None
        if self.config.tied:
            self.P = matrix(width, self.E_y.size(1))
        elif rank:
            self.P = matrix(width, rank)
            self.F_o = matrix(words, rank)
        else:
            self.W_o = matrix(words, width)
        self.b_y = bias(words)

    @torch.no_grad()
    def initialise(self) -> None:
        """Initialise the parameters, unless they are on "meta", to be loaded from a file."""
        if not self.b_y.is_meta:
            self.reset_parameters()

    @abstractmethod
    def reset_parameters(self) -> None:
        """Initialise every parameter."""

    @torch.no_grad()
    def init_output_bias(self, counts: Sequence[int]) -> None:
        """Set the output bias to the log frequency of each word, so that it need not be learned.

        :param counts: how often each target word occurs in the training data; 0 counts as 1.
        """
        frequencies = torch.tensor(counts, dtype=torch.float64).clamp(min=1)
        self.b_y.copy_((frequencies / frequencies.sum()).log())

    @abstractmethod
    def encode(self, src: Tensor, src_mask: Tensor) -> Any:
        """Encode the source; see `TranslationModel.encode`."""

    @abstractmethod
    def teacher_forced(self, pairs: SentencePairs) -> TeacherForced:
        """Run the decoder over given translations."""

    def encode_for_targets(self, pairs: SentencePairs) -> Any:
        """Return each target's encoded source, as in training."""
        model = self
        if self.inference is not None:  # what it encodes is arranged for its own steps
            model = copy.copy(self)
            model.inference = None
        encoded = model.encode(pairs.src, pairs.src_mask)
        return encoded if pairs.sources is None else encoded.select_sentences(pairs.sources)

    def output_words(self) -> Tensor:
        """Return W_o, or its factor with one row per word. Shape: [K, l], [K, m] or [K, r]."""
        if self.P is None:
            return self.W_o
        return self.E_y if self.config.tied else self.F_o

    def project_readout(self, t: Tensor) -> Tensor:
        """Return P t_i if W_o is a product, or else t_i. [..., l] to [..., l, m or r]."""
        return t if self.P is None else matmul(t, self.P)

    def output_layer(self) -> OutputLayer:
        """Return the layer of `output_words` and the bias; see `TranslationModel.output_layer`."""
        if self.inference is not None:
            return self.inference.output
        return output_layer(self.output_words(), self.b_y)

    def for_inference(self, precision: Precision = "float32") -> Self:
        """Return a copy of the model for inference; see `TranslationModel.for_inference`.

        :raises ValueError: another type than float32 together with NMTKIT_PLAIN=1.
        """
        if kernels.PLAIN and precision != "float32":
            raise ValueError(f"{precision} has no plain implementation; unset NMTKIT_PLAIN")
        if kernels.PLAIN or (self.inference is not None and precision == "float32"):
            return self
        model = copy.copy(self)  # the parameters are shared
        model.inference = self.inference_twin(precision)
        return model

    def inference_twin(self, precision: Precision) -> OutputInference:
        """Return the fast twin of the methods that search calls; here of the output layer only.

        :param precision: type of the matrix products.
        """
        return OutputInference(self.output_words(), self.b_y, precision)

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
        """Return the sum of -log p over the target words; see `TranslationModel.loss`."""
        forced = self.teacher_forced(SentencePairs(src, src_mask, tgt, tgt_mask))
        W, bias, words = self.output_words(), self.b_y, forced.words  # [K, l], [K], [N]
        if sampler is not None:
            sample = sampler.draw(words)
            W = W.index_select(0, sample.words)  # [S, l]
            bias = bias.index_select(0, sample.words) - sample.log_probabilities  # [S]
            words = sample.targets
        real = forced.packing.real  # a cost has no padding
        cost = softmax_cost(forced.readout, W, bias, words, label_smoothing, real)
        if guide is None or forced.alignment is None:
            return cost
        links = guide.links(src, src_mask, tgt, tgt_mask)  # [B, T_y, T_x]
        return cost + guide.cost(links[forced.order], forced.alignment)

    def divergence(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        teacher: "EncoderDecoder",
    ) -> Tensor:
        """Return the sum over the target positions of the divergence from a teacher.

        At each position it is KL(p || q) with p the teacher's distribution over the words and q
        this model's, in nats (Hinton et al. 2015, with a temperature of 1). Where both are alike,
        it is 0, and so is its gradient.

        :param teacher: a model of the same vocabularies, in which no gradients are computed.
        :return: a scalar. Other parameters as in `TranslationModel.loss`.
        """
        pairs = SentencePairs(src, src_mask, tgt, tgt_mask)
        with torch.no_grad():
            log_p = teacher.log_distributions(teacher.teacher_forced(pairs))  # [N, K]
        forced = self.teacher_forced(pairs)
        log_q = self.log_distributions(forced)
        divergences = functional.kl_div(log_q, log_p, reduction="none", log_target=True).sum(1)
        real = forced.packing.real  # a divergence has no padding
        return divergences.sum() if real is None else (divergences * real).sum()

    def log_distributions(self, forced: TeacherForced) -> Tensor:
        """Return log p of every word at each position. Shape: [N, K]."""
        logits = OutputLayer(self.output_words(), self.b_y).logits(forced.readout)
        return torch.log_softmax(logits.to(self.b_y.dtype), 1)

    def score(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Scored:
        """Compute the log-probability of each target word; see `TranslationModel.score`."""
        forced = self.teacher_forced(SentencePairs(src, src_mask, tgt, tgt_mask, sources))
        target_scores = target_log_probs(
            forced.readout, self.output_words(), self.b_y, forced.words
        )
        log_probs, alignment = forced.padded(target_scores.unsqueeze(1))
        return Scored(log_probs.squeeze(2), alignment)

    def evidence(
        self,
        src: Tensor,
        src_mask: Tensor,
        tgt: Tensor,
        tgt_mask: Tensor,
        sources: Tensor | None = None,
    ) -> Evidence:
        """Compute what the model predicts at each word; see `TranslationModel.evidence`."""
        forced = self.teacher_forced(SentencePairs(src, src_mask, tgt, tgt_mask, sources))
        values = target_evidence(forced.readout, self.output_words(), self.b_y, forced.words)
        padded, alignment = forced.padded(values)  # [B, T_y, 3]
        log_probs, rivals, entropies = padded.unbind(2)
        return Evidence(log_probs, rivals, entropies, alignment)

    def target_embeddings(self, words: Tensor) -> Tensor:
        """Return E_y y, zero for `BOS`. Shape: [..., m]."""
        embedded = functional.embedding(words.clamp(min=0), self.E_y)
        return embedded * (words != BOS).unsqueeze(-1)

    def apply_dropout(self, values: Tensor) -> Tensor:
        """Apply dropout in training; return the values unchanged in inference."""
        return dropout(values, self.config.dropout) if self.training else values


def previous_words(tgt: Tensor, packing: Packing) -> Tensor:
    """Return y_{i-1} at each real position. [B, T_y] to [N]."""
    return packing.pack(functional.pad(tgt[:, :-1], (1, 0), value=BOS))


def longest_target_first(pairs: SentencePairs) -> tuple[SentencePairs, Tensor]:
    """Sort pairs by target length; return them and their original indices. Shape: [B]."""
    order = longest_first(pairs.tgt_mask)
    rows = order.to(pairs.src.device, non_blocking=True)
    targets = pairs.tgt[rows], pairs.tgt_mask[order]
    if pairs.sources is not None:
        return SentencePairs(pairs.src, pairs.src_mask, *targets, pairs.sources[rows]), rows
    src_mask = pairs.src_mask[order.to(pairs.src_mask.device)]
    return SentencePairs(pairs.src[rows], src_mask, *targets), rows
