"""Source lines with translations instead of terms, for models that were trained with such lines."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.inference.ensemble import Ensemble, SourceTokens
from nmtkit.search.hypothesis import Hypothesis


class AnnotatedSource(NamedTuple):
    """A source line whose terms are annotated.

    tokens: those of the line, with the words of translations instead of terms.
    origins: for each token of these, the token of the line that its attention counts for.
    length: number of tokens of the line.
    """

    tokens: list[str]
    origins: list[int]
    length: int

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

    def evidence_on_line(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis whose evidence, if it has some, is with the tokens of the line."""
        values, attention = hypothesis.evidence or (None, None)
        if values is None or attention is None:
            return hypothesis
        return dataclasses.replace(hypothesis, evidence=(values, self._fold(attention)))

    def _fold(self, alignment: Tensor) -> Tensor:
        columns = torch.tensor([*self.origins, self.length])
        folded = alignment.new_zeros(len(alignment), self.length + 1)
        return folded.index_add_(1, columns, alignment)


def annotate(
    tokens: Sequence[str], spans: Sequence[Sequence[int]], translations: Sequence[Sequence[str]]
) -> AnnotatedSource:
    """Write the words of translations instead of terms.

    :param tokens: of the line.
    :param spans: positions of the tokens of each term, in the order of the line; one without
        tokens, or that begins in the one before, is not annotated.
    :param translations: the source words that stand for the translation of each term.
    """
    parts: list[str] = []
    origins: list[int] = []
    done = 0
    for span, words in zip(spans, translations, strict=True):
        if not span or span[0] < done:
            continue
        end = span[-1] + 1
        parts += [*tokens[done : span[0]], *words]
        origins += range(done, span[0])
        # The words of the translation count for those of the term, in their order.
        origins += [span[0] + (end - span[0]) * k // len(words) for k in range(len(words))]
        done = end
    origins += range(done, len(tokens))
    return AnnotatedSource([*parts, *tokens[done:]], origins, len(tokens))


def annotated_sources(
    ensemble: Ensemble,
    sources: Sequence[SourceTokens],
    annotated: Sequence[AnnotatedSource | None],
) -> list[SourceTokens]:
    """Return the tokens of lines for each model, annotated for those that know annotations.

    A model that splits a line otherwise than the first one reads it as it is.

    :param annotated: each line for the first model, None as it is.
    """
    know = [member.term_words is not None for member in ensemble.members]
    return [
        tokens if line is None else _annotated(tokens, line, know)
        for tokens, line in zip(sources, annotated, strict=True)
    ]


def _annotated(tokens: SourceTokens, line: AnnotatedSource, know: Sequence[bool]) -> SourceTokens:
    pairs = zip(tokens, know, strict=True)
    return [line.tokens if known and own == tokens[0] else own for own, known in pairs]
