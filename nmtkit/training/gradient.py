"""The gradient of an update, summed over its batches, their parts and all ranks."""

import logging
from dataclasses import dataclass

import torch

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import Batch
from nmtkit.errors import is_out_of_memory
from nmtkit.models import Model
from nmtkit.models.attention_guide import AttentionGuide
from nmtkit.models.fast.torch_private import gradient_norm, scale_gradients_
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.parallel.fork_start import STOP_SIGNALS
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.cost_gradient import CostGradient, Teacher
from nmtkit.training.cuda_graphs import CudaGraphs
from nmtkit.training.part_gradients import AddGradient, GradientTask, PartGradients

log = logging.getLogger("nmtkit")

WHOLE_SOFTMAX = 0.25
"""Share of the learning rate below which no words are drawn for the softmax any more."""


@dataclass(frozen=True)
class Update:
    """Figures of one update.

    cost: sum of -log p, with label smoothing if training uses it, and the cost of guided attention.
    tokens: target tokens.
    norm: L2 norm of the gradient before clipping.
    skipped: cost or norm was not finite, so the parameters were left as they were.
    signal: stop signal that any rank received before the gradients were summed, or None.
    """

    cost: float
    tokens: int
    norm: float
    skipped: bool = False
    signal: int | None = None


class Gradient:
    """Computes the gradient of each update, in place of the last one."""

    def __init__(
        self,
        model: Model,
        optimizer: torch.optim.Optimizer,
        config: TrainingConfig,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        """Compute nothing yet.

        :param optimizer: that of the model's parameters.
        """
        self.model = model
        self.device = next(model.parameters()).device
        self.optimizer = optimizer
        self.config = config
        self.process_group = process_group
        parts = config.batch_parts if self.device.type == "cpu" else 1
        self._cost = CostGradient(model, config)
        self._graphs = None
        if config.cuda_graphs and self.device.type == "cuda" and model.can_compute_padding:
            self._graphs = CudaGraphs(self._cost)
        self._add: AddGradient = self._graphs or self._cost
        if parts > 1:
            self._add = PartGradients(model, self._cost, parts)

    def sample_words(self, sampler: WordSampler | None) -> None:
        """Draw the words of each batch's softmax from now on; None: take all words."""
        self._cost.sampler = sampler

    def guide_attention(self, guide: AttentionGuide) -> None:
        """Have links guide the attention where an update asks for it."""
        self._cost.guide = guide

    def learn_from(self, teacher: Teacher) -> None:
        """Learn batches that are rehearsed from the predictions of a teacher."""
        self._cost.teacher = teacher

    def compute(
        self,
        batches: list[Batch],
        number: int,
        signal: int | None,
        samples_words: bool = True,
        guidance: float = 0.0,
    ) -> Update:
        """Compute the summed gradient of some batches; if memory runs out, halve the batches.

        :param number: of this update, from 1.
        :param signal: stop signal that this process has received.
        :param samples_words: whether to use the sampler, if there is one.
        :param guidance: weight of the links that guide the attention, if there are any.
        """
        tokens = sum(batch.tokens for batch in batches)
        divisor = _loss_divisor(self.config.loss_reduction, batches, tokens)
        while True:
            try:
                cost, norm, received = self._sum_over_ranks(
                    GradientTask(batches, 1 / divisor, samples_words, guidance), signal
                )
                return Update(cost, tokens, norm, signal=received)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error) or max(map(_size, batches)) == 1:
                    raise
            batches = [half for batch in batches for half in batch.halves()]
            self._clear()
            if self.device.type != "cpu":
                getattr(torch, self.device.type).empty_cache()  # of cuda or mps
            log.warning(
                "update %d: not enough memory; trying again with batches of at most %d pairs"
                " (data.batch_size sets the size of all)",
                number,
                max(map(_size, batches)),
            )

    def _sum_over_ranks(
        self, task: GradientTask, signal: int | None
    ) -> tuple[float, float, int | None]:
        """Sum the gradients of some batches over all ranks.

        The host waits for the device only once, for all figures together.

        :return: cost, norm of the gradient, and the stop signal that any rank received, or None.
        """
        self._clear()
        # the cost, then for each stop signal the number of ranks that received it
        figures = torch.zeros(1 + len(STOP_SIGNALS), device=self.device)
        figures[0] = self._add(task)
        if signal is not None:
            figures[1 + STOP_SIGNALS.index(signal)] = 1
        figures = self.process_group.all_reduce_gradients(self.model.parameters(), figures)
        norm = gradient_norm(self._tensors())
        cost, *counts, length = torch.cat([figures, norm.view(1)]).tolist()
        received = [number for number, count in zip(STOP_SIGNALS, counts, strict=True) if count]
        return cost, length, received[0] if received else None

    def _clear(self) -> None:
        """Forget the gradient of the last update."""
        if self._graphs is None:
            self.optimizer.zero_grad(set_to_none=True)
        else:
            self._graphs.clear()

    def scale(self, factor: float) -> None:
        """Multiply the gradient by a factor."""
        scale_gradients_(self._tensors(), factor)

    def _tensors(self) -> list[torch.Tensor]:
        return [p.grad for p in self.model.parameters() if p.grad is not None]


def word_sampler(config: TrainingConfig, vocabulary: Vocabulary) -> WordSampler | None:
    """Return the sampler of target words that the settings ask for, or None."""
    size = config.softmax_samples
    return WordSampler(vocabulary.counts, size) if size else None


def _loss_divisor(reduction: str, batches: list[Batch], tokens: int) -> float:
    """Return the number by which the summed loss is divided.

    :param tokens: target tokens of the batches.
    """
    if reduction == "batch-sum":
        return 1.0
    return float(tokens if reduction == "token-mean" else sum(batch.pairs for batch in batches))


def _size(batch: Batch) -> int:
    return len(batch.lines)
