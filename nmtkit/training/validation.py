"""The dev set's cost, and BLEU by a translating function that is handed in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from nmtkit.data.batch import Batch
from nmtkit.models import Model
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup


@dataclass(frozen=True)
class Validation:
    """Figures of the dev set.

    cost_per_token, cost_per_sentence: mean -log p, natural log, `</s>` counted; no smoothing.
    bleu: of its translation, in percent, or None where it was not asked for.
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
    """Measure the dev set, dropout off; the model is left in the mode in which it was.

    :param batches: the part of the dev set that this rank is to measure.
    :param dev_bleu: gives the BLEU of all parts together.
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
