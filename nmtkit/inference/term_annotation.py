"""Annotation of the terms of source lines, for models that were trained with annotated terms."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.inference.ensemble import Ensemble, SourceTokens
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.text.term_words import TERM_MARKER, TermWords


class AnnotatedSource(NamedTuple):
    """A source line with annotations.

    tokens: those of the line, with markers and translations of terms among them.
    origins: for each token of these, the token of the line that its attention counts for.
    """

    tokens: list[str]
    origins: list[int]

    def positions(self, span: Sequence[int]) -> tuple[int, ...]:
        """Return the positions that belong to some tokens of the line."""
        wanted = set(span)
        return tuple(i for i, origin in enumerate(self.origins) if origin in wanted)

    def on_line(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis whose alignment, if it has one, is with the tokens of the line.

        Alignment has a column for `</s>`, too. Shape: [T_y, T_x + 1].
        """
        if hypothesis.alignment is None:
            return hypothesis
        return dataclasses.replace(hypothesis, alignment=self._fold(hypothesis.alignment))

    def _fold(self, alignment: Tensor) -> Tensor:
        end = max(self.origins, default=-1) + 1
        columns = torch.tensor([*self.origins, end])
        return alignment.new_zeros(len(alignment), end + 1).index_add_(1, columns, alignment)


def annotate(
    tokens: Sequence[str], spans: Sequence[Sequence[int]], translations: Sequence[Sequence[str]]
) -> AnnotatedSource:
    """Put markers before terms, and the words of their translations behind them.

    :param tokens: of the line.
    :param spans: positions of the tokens of each term, in the order of the line; one without
        tokens, or that begins in the one before, is not annotated.
    :param translations: the source words that stand for the translation of each term.
    """
    parts, origins, done = [], [], 0
    for span, words in zip(spans, translations, strict=True):
        if not span or span[0] < done:
            continue
        end = span[-1] + 1
        parts += [*tokens[done : span[0]], TERM_MARKER, *tokens[span[0] : end], *words]
        origins += [*range(done, span[0]), span[0], *range(span[0], end)]
        # The words of the translation count for those of the term, in their order.
        origins += [span[0] + (end - span[0]) * k // len(words) for k in range(len(words))]
        done = end
    return AnnotatedSource([*parts, *tokens[done:]], [*origins, *range(done, len(tokens))])


def annotated_sources(
    ensemble: Ensemble,
    sources: Sequence[SourceTokens],
    annotated: Sequence[AnnotatedSource | None],
) -> list[SourceTokens]:
    """Return the tokens of lines for each model, annotated for those that know annotations.

    A model that splits a line otherwise than the first one reads it as it is.

    :param annotated: each line for the first model, None as it is.
    """
    members = ensemble.members
    know = [TermWords.of(member.src_vocab, member.tgt_vocab) is not None for member in members]
    return [
        tokens if line is None else _annotated(tokens, line, know)
        for tokens, line in zip(sources, annotated, strict=True)
    ]


def _annotated(tokens: SourceTokens, line: AnnotatedSource, know: Sequence[bool]) -> SourceTokens:
    pairs = zip(tokens, know, strict=True)
    return [line.tokens if known and own == tokens[0] else own for own, known in pairs]
