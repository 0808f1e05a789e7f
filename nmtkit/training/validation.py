"""Validation: cost and BLEU of a model on the dev set."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from nmtkit.data.batch import Batch
from nmtkit.models import Model
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup


@dataclass(frozen=True)
class Validation:
    """Figures of the dev set.

    cost_per_token, cost_per_sentence: mean -log p, natural log, `</s>` counted, without label
        smoothing.
    bleu: BLEU of the translated dev set, in percent, or None if not measured.
    """

    cost_per_token: float
    cost_per_sentence: float
    bleu: float | None


@torch.inference_mode()
def validate(
    model: Model,
    batches: Iterable[Batch],
    device: torch.device,
    dev_bleu: Callable[[], float] | None,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Validation:
    """Measure a model on the dev set, without dropout; its training mode is restored.

    :param batches: this rank's part of the dev set.
    :param dev_bleu: returns the BLEU of the whole dev set; None: do not measure it.
    """
    was_training = model.training
    model.eval()
    cost, tokens, sentences = 0.0, 0, 0
    for batch in batches:
        src, src_mask, tgt, tgt_mask = batch.to(device)[:4]
        cost += float(model.loss(src, src_mask, tgt, tgt_mask))
        tokens += int(tgt_mask.sum())
        sentences += len(batch.lines)
    cost, tokens, sentences = map(
        sum, zip(*process_group.all_gather((cost, tokens, sentences)), strict=True)
    )
    bleu = dev_bleu() if dev_bleu else None
    model.train(was_training)
    return Validation(cost / tokens, cost / sentences, bleu)
