"""The first sentences of a report as plain HTML, for browsers without scripts."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from nmtkit.evaluation.translation_errors import ADDED, REPEATED, SentenceErrors
from nmtkit.evaluation.word_matching import DIFFERENT, UNMATCHED
from nmtkit.report.page_tables import system_name
from nmtkit.report.sentences import positions_without_space

if TYPE_CHECKING:
    from nmtkit.report.lines import TokenizedLine
    from nmtkit.report.model_report import ModelReport

SENTENCES_WITHOUT_SCRIPT = 50

TRANSLATION_MARKS = {DIFFERENT: "different", ADDED: "added", REPEATED: "repeated"}
"""Classes of the page's style sheet for the states of words of a translation."""


def plain_sentences(report: "ModelReport") -> str:
    """Return the first sentences as HTML, in the form in which the script shows them."""
    count = min(SENTENCES_WITHOUT_SCRIPT, len(report.sources))
    return "".join(_sentence(report, number) for number in range(count))


def _sentence(report: "ModelReport", number: int) -> str:
    source, reference = report.sources[number], report.references[number]
    from_language, to_language = report.text.src_language, report.text.tgt_language
    errors = [report.errors[card.name][number] for card in report.model_cards]
    missing = [max(states) for states in zip(*(e.reference for e in errors), strict=True)]
    uncovered = [
        max(states) for states in zip(*(e.source for e in errors if e.source), strict=True)
    ]
    gaps = {UNMATCHED: "missing"}
    rows = [
        _row("source", "Source", _text(source, uncovered, gaps), from_language),
        _row("reference", "Reference", _text(reference, missing, gaps), to_language),
    ]
    for index, card in enumerate(report.model_cards):
        line = report.outputs[card.name][number].line
        score = report.sentence_scores[card.name][number]
        label = f'{system_name(index, card.name)} <span class="quality">chrF {score:.1f}</span>'
        text = _text(line, errors[index].translation, TRANSLATION_MARKS)
        omitted = "".join(_omissions(errors[index], source, reference))
        rows.append(_row("output", label, text, to_language, omitted))
    title = f'<h3><a href="#sentence-{number + 1}">Sentence {number + 1:,}</a></h3>'
    return (
        f'<article class="sentence" id="sentence-{number + 1}"><header>{title}</header>'
        f"{''.join(rows)}</article>"
    )


def _row(kind: str, label: str, text: str, language: str, below: str = "") -> str:
    return (
        f'<div class="row {kind}"><div class="label">{label}</div><div class="body">'
        f'<p class="text" dir="auto" lang="{escape(language)}">{text}</p>{below}</div></div>'
    )


def _text(line: "TokenizedLine", states: Sequence[int], classes: dict[int, str]) -> str:
    """Return a line with its words marked by their states."""
    joined = set(positions_without_space(line.text, line.words) or ())
    parts = []
    for index, word in enumerate(line.words):
        space = "" if index in joined or not index else " "
        name = classes.get(states[index]) if states else None
        text = escape(word)
        parts.append(space + (f'<mark class="{name}">{text}</mark>' if name else text))
    return "".join(parts)


def _omissions(
    errors: SentenceErrors, source: "TokenizedLine", reference: "TokenizedLine"
) -> Iterator[str]:
    """Yield what a translation leaves out of the reference and of the source."""
    for title, line, states in (
        ("Missing", reference, errors.reference),
        ("Source words without attention", source, errors.source),
    ):
        runs = [escape(run) for run in _unmatched_runs(line, states)]
        if runs:
            yield f'<p class="omitted">{title}: <bdi>{"</bdi> · <bdi>".join(runs)}</bdi></p>'


def _unmatched_runs(line: "TokenizedLine", states: Sequence[int]) -> Iterator[str]:
    """Yield sequences of unmatched words, without punctuation marks."""
    joined = set(positions_without_space(line.text, line.words) or ())
    words = enumerate(zip(line.words, states, strict=False))
    for state, run in groupby(words, key=lambda entry: entry[1][1]):
        named = [(place, word) for place, (word, _) in run if any(map(str.isalnum, word))]
        if state == UNMATCHED and named:
            yield "".join(("" if at in joined else " ") + word for at, word in named).strip()
