"""Alignments of the translations that search returns, computed by forced decoding.

Search itself stores none: the alignments of all hypotheses that it considers would take gigabytes
for a line of 2,000 words. Decoding the n best again takes as many steps, but with n hypotheses per
sentence instead of a whole beam.
"""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from nmtkit.errors import ModelError
from nmtkit.models.base import TranslationModel
from nmtkit.models.search_state import EncodedSource, upload
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.search_settings import NO_ALIGNMENT
from nmtkit.special_symbols import BOS, EOS


def with_alignments(
    models: Sequence[TranslationModel],
    encoded: Sequence[EncodedSource],
    lengths: Tensor,
    hypotheses: Sequence[Sequence[Hypothesis]],
) -> list[list[Hypothesis]]:
    """Return the hypotheses with their alignments.

    :param models: models of the same source tokens; their alignments are averaged, and models
        without attention are left out.
    :param encoded: the source sentences, encoded by each model.
    :param lengths: T_x of each sentence, `</s>` counted. Shape: [B].
    :param hypotheses: at least one for each sentence.
    :raises ModelError: no model has an alignment.
    """
    pairs = zip(models, encoded, strict=True)
    by_model = [_alignments(model, source, lengths, hypotheses) for model, source in pairs]
    aligned = [alignments for alignments in by_model if alignments is not None]
    if not aligned:
        raise ModelError(NO_ALIGNMENT)
    return [
        [
            dataclasses.replace(h, alignment=torch.stack(matrices).mean(0))
            for h, *matrices in zip(*sentence, strict=True)
        ]
        for sentence in zip(hypotheses, *aligned, strict=True)
    ]


def _alignments(
    model: TranslationModel,
    encoded: EncodedSource,
    lengths: Tensor,
    hypotheses: Sequence[Sequence[Hypothesis]],
) -> list[list[Tensor]] | None:
    """Compute the alignment of each hypothesis [len(ids), T_x]; None if the model has none."""
    tokens = _pad_hypotheses(hypotheses).to(lengths.device, non_blocking=True)  # [B, n, T_y]
    steps: list[tuple[list[int], Tensor]] = []  # sentences, and their rows [b, n, T_x]
    prev = torch.full_like(tokens[:, :, 0], BOS)  # [B, n]
    state = model.initial_state(encoded).select_hypotheses(torch.zeros_like(prev))
    sentences = list(range(len(hypotheses)))
    for step in range(tokens.size(2)):
        active = [i for i, s in enumerate(sentences) if step < _max_length(hypotheses[s])]
        if len(active) < len(sentences):
            chosen = upload(active, lengths.device)
            sentences = [sentences[i] for i in active]
            encoded, state = encoded.select_sentences(chosen), state.select_sentences(chosen)
            prev, tokens = prev[chosen], tokens[chosen]
        _, state, alignment = model.step(prev, state, encoded)
        if alignment is None:
            return None
        steps.append((sentences, alignment))
        prev = tokens[:, :, step]
    return _matrices(steps, lengths, hypotheses)


def _matrices(
    steps: Sequence[tuple[list[int], Tensor]],
    lengths: Tensor,
    hypotheses: Sequence[Sequence[Hypothesis]],
) -> list[list[Tensor]]:
    """Return the alignment of each hypothesis [len(ids), T_x], in the host's memory.

    :param steps: the sentences of each step, and their rows of n hypotheses. Shape: [b, n, T_x].
    :param lengths: T_x of each sentence. Shape: [B].
    """
    widths: list[int] = lengths.tolist()
    rows: list[list[Tensor]] = [[] for _ in hypotheses]  # per sentence and step: [n, T_x]
    for sentences, alignment in steps:
        for sentence, matrix in zip(sentences, alignment.cpu(), strict=True):
            rows[sentence].append(matrix[:, : widths[sentence]])
    return [
        [torch.stack([row[n] for row in of_sentence[: len(h.ids)]]) for n, h in enumerate(sentence)]
        for sentence, of_sentence in zip(hypotheses, rows, strict=True)
    ]


def _max_length(hypotheses: Sequence[Hypothesis]) -> int:
    return max(len(h.ids) for h in hypotheses)


def _pad_hypotheses(hypotheses: Sequence[Sequence[Hypothesis]]) -> Tensor:
    """Return the tokens of all hypotheses, padded with `</s>`. Shape: [B, n, T_y], int64."""
    n = max(map(len, hypotheses))
    tokens = torch.full((len(hypotheses), n, max(map(_max_length, hypotheses))), EOS)
    for sentence, of_sentence in enumerate(hypotheses):
        for number, hypothesis in enumerate(of_sentence):
            tokens[sentence, number, : len(hypothesis.ids)] = torch.tensor(hypothesis.ids)
    return tokens
