"""The cost of batches, and its gradient, on the model's device."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmtkit.config import TrainingConfig
from nmtkit.data.batch import Batch
from nmtkit.models import Model
from nmtkit.models.attention_guide import AttentionGuide
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.training.part_gradients import GradientTask


class Teacher(NamedTuple):
    """A model whose predictions are learned.

    weight: of the divergence from them, beside the cost of words.
    """

    model: Model
    weight: float


class CostGradient:
    """Adds the gradient of the cost of batches to that of a model's parameters.

    sampler: draws the words of each batch's softmax; None: all words. guide: links for attention.
    teacher: what is learned from batches that are rehearsed; None: there are none.
    """

    sampler: WordSampler | None = None
    guide: AttentionGuide | None = None
    teacher: Teacher | None = None

    def __init__(self, model: Model, config: TrainingConfig) -> None:
        """Add nothing yet."""
        self.model = model
        self.device = next(model.parameters()).device
        self.config = config

    def __call__(self, task: GradientTask) -> torch.Tensor:
        """Add the gradient of some batches to that of the parameters; return their cost."""
        cost = torch.zeros([], device=self.device)
        scale = torch.full([], task.scale, device=self.device)
        for batch in task.batches:
            if batch.lines:
                loss = self._loss(batch, task)
                loss.backward(scale)  # type: ignore[no-untyped-call]
                cost += loss.detach()
        return cost

    def _loss(self, batch: Batch, task: GradientTask) -> torch.Tensor:
        """Return the cost of a batch, of drawn words and with guided attention if it is due."""
        self.model.train(batch.dropout)  # which decides about dropout alone
        if batch.rehearsed:
            return self.divergence(batch.to(self.device)[:4])
        sampler = self.sampler if task.samples_words else None
        guide = self.guide._replace(weight=task.guidance) if self.guide and task.guidance else None
        return self.loss(batch.to(self.device)[:4], sampler, guide)

    def divergence(self, pairs: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return how far the predictions for some pairs are from the teacher's, weighted.

        :param pairs: as in `loss`.
        """
        assert self.teacher is not None
        src, src_mask, tgt, tgt_mask = pairs
        teacher, weight = self.teacher
        with self._autocast():
            return weight * self.model.divergence(src, src_mask, tgt, tgt_mask, teacher)

    def _autocast(self) -> torch.autocast:
        bfloat16 = self.config.precision == "bfloat16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=bfloat16)

    def loss(
        self,
        pairs: Sequence[torch.Tensor],
        sampler: WordSampler | None = None,
        guide: AttentionGuide | None = None,
    ) -> torch.Tensor:
        """Return the cost of some pairs, with matrix products in the type `precision`.

        :param pairs: words and masks of both sides, as the first four fields of a batch.
        """
        src, src_mask, tgt, tgt_mask = pairs  # [B, T_x], [B, T_y]
        with self._autocast():
            smoothing = self.config.label_smoothing
            return self.model.loss(src, src_mask, tgt, tgt_mask, smoothing, sampler, guide)
