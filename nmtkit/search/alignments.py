"""The alignments of translations that search has found, by letting the model write them again.

Search itself keeps none: it would have to keep those of every hypothesis that it ever looked at,
which for a line of 2,000 words are gigabytes. Writing the n best again costs as many steps, but
n hypotheses a sentence instead of a whole beam.
"""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from nmtkit.errors import ModelError
from nmtkit.models.base import TranslationModel
from nmtkit.models.search_state import EncodedSource
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.special_symbols import BOS, EOS


def with_alignments(
    models: Sequence[TranslationModel],
    encoded: Sequence[EncodedSource],
    lengths: Tensor,
    found: Sequence[Sequence[Hypothesis]],
) -> list[list[Hypothesis]]:
    """The same hypotheses with their alignments.

    :param models: which read the same tokens; the mean of their alignments is given, as far as
        they have one.
    :param encoded: what each model's `encode` gave of the sentences.
    :param lengths: T_x of each sentence, `</s>` counted. Shape: [B].
    :param found: hypotheses of each sentence, at least one.
    :raises ModelError: no model has an alignment.
    """
    pairs = zip(models, encoded, strict=True)
    given = [_alignments(model, read, lengths, found) for model, read in pairs]
    having = [of_model for of_model in given if of_model is not None]
    if not having:
        raise ModelError(
            "this model has no alignment, which --alignments, --replace-unk and --coverage-penalty"
            " ask for; leave them out"
        )
    return [
        [
            dataclasses.replace(h, alignment=torch.stack(matrices).mean(0))
            for h, *matrices in zip(*of_sentence, strict=True)
        ]
        for of_sentence in zip(found, *having, strict=True)
    ]


def _alignments(
    model: TranslationModel,
    encoded: EncodedSource,
    lengths: Tensor,
    found: Sequence[Sequence[Hypothesis]],
) -> list[list[Tensor]] | None:
    """The alignment of each hypothesis [len(ids), T_x]; None where the model has none."""
    words = _joined(found).to(lengths.device)  # [B, n, T_y]
    rows: list[list[Tensor]] = [[] for _ in found]  # per sentence and step: [n, T_x]
    widths: list[int] = lengths.tolist()
    prev = torch.full_like(words[:, :, 0], BOS)
    state = model.initial_state(encoded).select_hypotheses(torch.zeros_like(prev))
    sentences = list(range(len(found)))
    for step in range(words.size(2)):
        staying = [i for i, s in enumerate(sentences) if step < _longest(found[s])]
        if len(staying) < len(sentences):
            chosen = torch.tensor(staying, device=lengths.device)
            sentences = [sentences[i] for i in staying]
            encoded, state = encoded.select_sentences(chosen), state.select_sentences(chosen)
            prev, words = prev[chosen], words[chosen]
        _, state, alignment = model.step(prev, state, encoded)
        if alignment is None:
            return None
        for sentence, matrix in zip(sentences, alignment.cpu(), strict=True):
            rows[sentence].append(matrix[:, : widths[sentence]])
        prev = words[:, :, step]
    return [
        [torch.stack([row[n] for row in steps[: len(h.ids)]]) for n, h in enumerate(of_sentence)]
        for of_sentence, steps in zip(found, rows, strict=True)
    ]


def _longest(hypotheses: Sequence[Hypothesis]) -> int:
    return max(len(h.ids) for h in hypotheses)


def _joined(found: Sequence[Sequence[Hypothesis]]) -> Tensor:
    """The words of all hypotheses, `</s>` where there is none. Shape: [B, n, T_y], int64."""
    most = max(len(of_sentence) for of_sentence in found)
    words = torch.full((len(found), most, max(map(_longest, found))), EOS)
    for sentence, of_sentence in enumerate(found):
        for number, hypothesis in enumerate(of_sentence):
            words[sentence, number, : len(hypothesis.ids)] = torch.tensor(hypothesis.ids)
    return words
