"""Validation: cost, BLEU and chrF of a model on the dev set."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from nmtkit.config import Config
from nmtkit.data.batch import Batch
from nmtkit.data.batching import validation_batches
from nmtkit.data.corpus import Corpus
from nmtkit.errors import DataError
from nmtkit.io.parameters import Parameters, copy_parameters
from nmtkit.models import Model
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.progress_bar import ProgressBar
from nmtkit.search.beam import beam_search
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.dev_metrics import DevMetrics, DevScores

VALIDATION_BATCH_SIZE = 64  # sentences


@dataclass(frozen=True)
class Validation:
    """Figures of the dev set.

    cost_per_token, cost_per_sentence: mean -log p, natural log, `</s>` counted, without label
        smoothing.
    bleu, chrf: of the translated dev set, in percent, or None if not measured.
    """

    cost_per_token: float
    cost_per_sentence: float
    bleu: float | None
    chrf: float | None = None


@contextlib.contextmanager
def swapped_parameters(module: nn.Module, values: Parameters) -> Iterator[None]:
    """Replace a module's parameters by `values` while the block runs."""
    original = {name: p.detach().clone() for name, p in module.named_parameters()}
    try:
        copy_parameters(module, values)
        yield
    finally:
        copy_parameters(module, original)


@torch.inference_mode()
def validate(
    model: Model,
    batches: Iterable[Batch],
    device: torch.device,
    dev_scores: Callable[[], DevScores] | None,
    process_group: ProcessGroup = SINGLE_PROCESS,
    bar: ProgressBar | None = None,
) -> Validation:
    """Measure a model on the dev set, without dropout; its training mode is restored.

    :param batches: this rank's part of the dev set.
    :param dev_scores: returns the scores of the translated dev set; None: do not translate it. A
        model whose cost is not finite cannot translate.
    :param bar: shows how far the cost is; None: nothing is shown.
    """
    was_training = model.training
    model.eval()
    cost, tokens, sentences = 0.0, 0, 0
    bar = bar or ProgressBar("validate", "sentences", shown=False)
    for batch in batches:
        src, src_mask, tgt, tgt_mask = batch.to(device)[:4]  # [B, T_x], [B, T_y]
        cost += float(model.loss(src, src_mask, tgt, tgt_mask))
        tokens += int(tgt_mask.sum())
        sentences += len(batch.lines)
        bar.update(len(batch.lines))
    cost, tokens, sentences = map(
        sum, zip(*process_group.all_gather((cost, tokens, sentences)), strict=True)
    )
    scores = dev_scores() if dev_scores and math.isfinite(cost) else DevScores()
    model.train(was_training)
    return Validation(cost / tokens, cost / sentences, scores.bleu, scores.chrf)


def build_validation(
    data: Path,
    dev: Corpus,
    tgt_vocab: Vocabulary,
    config: Config,
    device: torch.device,
    process_group: ProcessGroup,
) -> Callable[[Model], Validation]:
    """Return a function that measures a model on the dev set, each rank on a part of it.

    :param data: the prepared folder.
    :raises DataError: the dev set is empty.
    """
    if not len(dev):
        raise DataError(
            f"{data}/dev.src: the dev set is empty; prepare again with --dev or --held-out"
        )
    metrics = DevMetrics.load(data, config)
    batches = list(validation_batches(dev, VALIDATION_BATCH_SIZE))[
        process_group.rank :: process_group.size
    ]
    search = dataclasses.replace(config.search, beam=config.training.dev_beam)

    sentences = sum(len(batch.lines) for batch in batches)

    def dev_scores(model: Model, bar: ProgressBar) -> DevScores:
        bar.begin("validate, translate", sentences)
        translations: dict[int, list[str]] = {}  # tokens by line number
        inference_model = model.for_inference()
        for batch in batches:
            src, src_mask = batch.to(device)[:2]
            n_best_lists = beam_search([inference_model], src, src_mask, search, n_best=1)
            for line, n_best in zip(batch.lines, n_best_lists, strict=True):
                translations[line] = tgt_vocab.tokens(n_best[0].words)
            bar.update(len(batch.lines))
        for part in process_group.all_gather(translations):
            translations |= part
        return metrics.scores([translations[line + 1] for line in range(len(dev))])

    def validation(model: Model) -> Validation:
        shown = process_group.is_main
        with ProgressBar("validate, cost", "sentences", sentences, shown=shown) as bar:
            scores = (lambda: dev_scores(model, bar)) if metrics.needed else None
            return validate(model, batches, device, scores, process_group, bar)

    return validation
