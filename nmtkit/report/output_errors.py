"""Errors of a report's translations, and their counts by system."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nmtkit.evaluation.translation_errors import (
    KINDS,
    ErrorCount,
    SentenceErrors,
    error_counts,
    find_errors,
)

if TYPE_CHECKING:
    from nmtkit.report.lines import TokenizedLine
    from nmtkit.report.model_card import ModelCard
    from nmtkit.report.model_report import ModelReport, SystemOutput

NEEDS_ALIGNMENT, NEEDS_MODEL = {"uncovered"}, {"unfinished"}
"""Kinds of errors that only show with alignments, and with a model."""


def output_errors(
    sources: Sequence["TokenizedLine"],
    references: Sequence["TokenizedLine"],
    outputs: Sequence["SystemOutput"],
) -> list[SentenceErrors]:
    """Return the errors of each translation of a system."""
    return [
        find_errors(
            source.words,
            reference.words,
            output.line.words,
            _attention(output, source),
            unknown=output.unknown,
            finished=output.best is None or output.best.finished,
        )
        for source, reference, output in zip(sources, references, outputs, strict=True)
    ]


def _attention(output: "SystemOutput", source: "TokenizedLine") -> list[float] | None:
    """Return the attention mass of each source word, if the alignment has the same words."""
    alignment, words = output.alignment, output.line.words
    if alignment is None or len(alignment.columns) != len(source.words) + 1:
        return None
    mass: list[float] = alignment.matrix[: len(words), :-1].sum(0).tolist()
    return mass


def applicable_kinds(card: "ModelCard") -> list[str]:
    """Return the kinds of errors that can be found in a system's translations."""
    hidden = (set() if card.aligns else NEEDS_ALIGNMENT) | (set() if card.settings else NEEDS_MODEL)
    return [kind for kind in KINDS if kind not in hidden]


def score_differences(report: "ModelReport", first: int, second: int) -> list[float]:
    """Return the second system's chrF of each sentence minus the first's, as the page shows them.

    :param first, second: indices of the systems.
    """
    scores = [report.sentence_scores[report.model_cards[index].name] for index in (first, second)]
    return [round(b, 2) - round(a, 2) for a, b in zip(*scores, strict=True)]


def count_by_system(report: "ModelReport") -> Mapping[str, Mapping[str, ErrorCount]]:
    """Return the counts of each kind of error, by kind, then by system."""
    applicable = {card.name: applicable_kinds(card) for card in report.model_cards}
    return error_counts(report.errors, applicable)
