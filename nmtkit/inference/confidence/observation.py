"""What models predict where the tokens of found translations stand: one pass, not a search.

The pass is by teacher forcing with the float parameters, so that confidences do not depend on
--quantize and --candidates except by the translations that these find.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nmtkit.data.batch import pad
from nmtkit.inference.confidence.features import AttentionSummary, Observation
from nmtkit.inference.ensemble import Ensemble, SourceTokens
from nmtkit.inference.stream_batching import Batches
from nmtkit.models.base import Evidence
from nmtkit.models.search_state import upload
from nmtkit.search.hypothesis import Hypothesis

NBest = list[Hypothesis]


def with_evidence(
    ensemble: Ensemble, sources: Sequence[SourceTokens], batches: Batches, found: Sequence[NBest]
) -> list[NBest]:
    """Return the hypotheses with `Hypothesis.evidence`.

    :param sources: tokens of the lines. batches: indices of lines.
    :param found: the n best of each line, in the order of the batches.
    """
    remaining = iter(found)
    result: list[NBest] = []
    for batch in batches:
        n_best = list(itertools.islice(remaining, len(batch)))
        size = max(1, len(batch) // max(map(len, n_best)))  # each hypothesis is a row
        for start in range(0, len(batch), size):
            part = slice(start, start + size)
            result += _of_batch(ensemble, [sources[number] for number in batch[part]], n_best[part])
    return result


def _of_batch(
    ensemble: Ensemble, sources: Sequence[SourceTokens], found: Sequence[NBest]
) -> Iterator[NBest]:
    """Yield the hypotheses of the lines of a batch with their evidence."""
    targets = [hypothesis.ids for n_best in found for hypothesis in n_best]
    tgt, tgt_mask = pad(targets)  # [N, T_y], N hypotheses
    device = ensemble.first.device
    tgt = tgt.to(device, non_blocking=True)
    rows = [row for row, n_best in enumerate(found) for _ in n_best]
    shared = upload(rows, device) if len(rows) > len(found) else None
    with torch.inference_mode():
        by_model: list[Evidence] = [
            model.evidence(*ensemble.source_batch(sources, number), tgt, tgt_mask, shared)
            for number, model in enumerate(ensemble.models)
        ]
        log_probs = torch.stack([one.log_probs for one in by_model])  # [models, N, T_y]
        columns = (
            ensemble.averaging(list(log_probs)),
            torch.stack([one.rivals for one in by_model]).mean(0),
            torch.stack([one.entropies for one in by_model]).mean(0),
            log_probs.std(0, unbiased=False),
        )
        values = torch.stack(columns, 2).cpu()  # [N, T_y, 4]
        attention = by_model[0].alignment
        attention = None if attention is None else attention.cpu()
    number = itertools.count()
    for source, n_best in zip(sources, found, strict=True):
        width = len(source[0]) + 1
        yield [
            replace(one, evidence=_of_row(values, attention, next(number), len(one.ids), width))
            for one in n_best
        ]


def _of_row(
    values: Tensor, attention: Tensor | None, row: int, length: int, width: int
) -> tuple[Tensor, Tensor | None]:
    """Return copies of the evidence in a row: a view would be pickled with its whole batch."""
    weights = None if attention is None else attention[row, :length, :width].clone()
    return values[row, :length].clone(), weights


def observation_of(hypothesis: Hypothesis) -> Observation:
    """Return the evidence of a hypothesis as the features need it."""
    assert hypothesis.evidence is not None
    values, attention = hypothesis.evidence
    log_probs, rivals, entropies, spread = values.double().numpy().T
    summary = None if attention is None else AttentionSummary.of(attention.numpy())
    return Observation(log_probs, rivals, entropies, spread, summary)
