"""A report on models, rendered as one self-contained HTML page.

Scores, charts and model cards are static HTML; the translations are JSON inside the page, which
the files in `script` show. Text from files is never executed: it is escaped here and inserted as
text there, and the page's Content-Security-Policy allows only its own script.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtkit.errors import NAME_ERRORS, counted
from nmtkit.evaluation.translation_errors import KINDS
from nmtkit.io.text_content import shown_name
from nmtkit.report.output_errors import count_by_system
from nmtkit.report.page_curves import bucket_charts, learning_curve_charts
from nmtkit.report.page_errors import difference_histograms, error_table
from nmtkit.report.page_provenance import provenance
from nmtkit.report.page_resources import page_script, page_style
from nmtkit.report.page_sentences import SENTENCES_WITHOUT_SCRIPT, plain_sentences
from nmtkit.report.page_tables import details, score_tables, system_name
from nmtkit.report.page_verdict import verdict_rows
from nmtkit.report.page_words import ERROR_TITLES, bucket_phrase, listed
from nmtkit.report.risk_coverage import bad_below, risk_charts
from nmtkit.report.sentences import DIGITS, Packed, pack_sentences, script_json
from nmtkit.report.verdict import Verdict, judge

if TYPE_CHECKING:
    from nmtkit.report.model_report import ModelReport


SECTIONS = {
    "verdict": "Verdict",
    "scores": "Scores",
    "errors": "Errors",
    "buckets": "Strengths and weaknesses",
    "confidence": "Confidence",
    "training": "Training",
    "systems": "Provenance",
    "translations": "Translations",
}


MAX_PAGE_BYTES = 5_000_000
"""Largest size of a page, so that it can be sent by mail."""

MAX_NOTE_BYTES = 500
"""Room for the note that says which translations were left out."""

SENTENCES_MARK, NOTE_MARK = "<!--sentences-->", "<!--left out-->"
"""Places of the sentences and the note in a page; no text from files has a `<`."""


def render_page(report: "ModelReport", commands: Sequence[str]) -> str:
    """Return the HTML of a report; the same report gives the same page.

    The translations get what the rest of the page leaves of `MAX_PAGE_BYTES`.

    :param commands: Commands that print the same figures, to show on the page.
    """
    page = _page_around_sentences(report, commands)
    packed = pack_sentences(
        report, MAX_PAGE_BYTES - len(page.encode("utf-8", NAME_ERRORS)) - MAX_NOTE_BYTES
    )
    page = page.replace(NOTE_MARK, _left_out_note(packed), 1)
    return page.replace(SENTENCES_MARK, packed.text, 1)


def _page_around_sentences(report: "ModelReport", commands: Sequence[str]) -> str:
    """Return the page with marks in the places of the sentences and the note."""
    style, script = page_style(), page_script()
    verdict = judge(report)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(_title(report, verdict))}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#translations">Skip to the translations</a>
<header class="top">
{_page_header(report)}
</header>
<main>
{_section("verdict", verdict_rows(report, verdict))}
{_section("scores", score_tables(report, commands))}
{_section("errors", chain(error_table(report), difference_histograms(report)))}
{_section("buckets", bucket_charts(report))}
{_section("confidence", risk_charts(report))}
{_section("training", learning_curve_charts(report.model_cards))}
{_section("systems", provenance(report))}
{_section("translations", _translations(report))}
</main>
<footer><p>Made by nmtkit {escape(report.version)}.</p></footer>
<script type="application/json" id="about">{script_json(_script_settings(report))}</script>
<script type="application/json" id="sentences">{SENTENCES_MARK}</script>
<script>{script}</script>
</body>
</html>
"""


def _title(report: "ModelReport", verdict: Verdict) -> str:
    """Return the title of the tab: the systems with their figures, the best first, and the test."""
    order = [verdict.leader, *(lead.other for lead in verdict.leads)]
    figures = ", ".join(
        f"{report.model_cards[index].name} {verdict.figures[index].value:.1f}" for index in order
    )
    measure = verdict.measure.split(" (")[0]
    return f"{figures} {measure} · {'–'.join(_languages(report))} translation report"


def _policy(script: str) -> str:
    """Return a Content-Security-Policy that forbids fetching, and all scripts but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _section(section: str, parts: Iterator[str]) -> str:
    content = "\n".join(parts)
    if not content:
        return ""
    return (
        f'<section id="{section}" aria-labelledby="{section}-title">\n'
        f'<h2 id="{section}-title">{SECTIONS[section]}</h2>\n{content}\n</section>'
    )


def _page_header(report: "ModelReport") -> str:
    src, tgt = (escape(language) for language in _languages(report))
    systems = (system_name(index, card.name) for index, card in enumerate(report.model_cards))
    names = listed(systems, "<span>and</span>")
    file_names = (Path(shown_name(file)).name for file in report.files)
    files = " and ".join(f"<code>{escape(file)}</code>" for file in file_names)
    has_curves = any(card.curve for card in report.model_cards)
    missing = {"training"} if not has_curves else set()
    missing |= {"confidence"} if bad_below(report) is None else set()
    links = "".join(
        f'<li><a href="#{section}">{title}</a></li>'
        for section, title in SECTIONS.items()
        if section not in missing
    )
    return (
        f"<h1>{names}</h1>\n<p class='lead'>"
        f"{counted(len(report.sources), 'sentence')}, {src} to {tgt}:"
        f" {files}.</p>\n"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>'
    )


def _languages(report: "ModelReport") -> tuple[str, str]:
    return report.text.src_language, report.text.tgt_language


def _script_settings(report: "ModelReport") -> dict[str, Any]:
    """Return the JSON object that the script needs besides the sentences."""
    return {
        "languages": _languages(report),
        "sentences": len(report.sources),
        "systems": [
            {"name": card.name, "aligns": card.aligns, "model": bool(card.settings)}
            for card in report.model_cards
        ],
        "kinds": [[kind, ERROR_TITLES[kind]] for kind in KINDS],
        "counts": {
            kind: [by_system[card.name].count for card in report.model_cards]
            for kind, by_system in count_by_system(report).items()
        },
        "buckets": {by: _bucket_members(report, by) for by in _criteria(report)},
    }


def _criteria(report: "ModelReport") -> list[str]:
    """Return what the buckets of a report are by."""
    return list(dict.fromkeys(entry.bucketing.by for entry in report.by_bucket.buckets))


def _bucket_members(report: "ModelReport", by: str) -> dict[str, Any]:
    """Return the names of buckets, and the first bucket of each sentence, one digit each.

    Buckets by unknown words hold those before them.
    """
    buckets = [entry for entry in report.by_bucket.buckets if entry.bucketing.by == by]
    digits = ["."] * len(report.sources)
    for number, entry in reversed(list(enumerate(buckets))):
        for sentence in entry.bucket.sentences:
            digits[sentence] = DIGITS[number]
    return {
        "names": [bucket_phrase(entry) for entry in buckets],
        "sentences": "".join(digits),
        "cumulative": by == "unknown",
    }


def _left_out_note(packed: Packed) -> str:
    """Return the note that says what was left out; empty if nothing was."""
    if not packed.left_out:
        return ""
    left_out = ", ".join(packed.left_out)
    return f'<p class="note">To limit its size, this page leaves out {left_out}.</p>\n'


def _translations(report: "ModelReport") -> Iterator[str]:
    """Yield the HTML around the translations, and the first ones.

    The script replaces them in `#list` by the same ones, with all that reacts.
    """
    yield NOTE_MARK
    cards = list(enumerate(report.model_cards))
    unaligned = [system_name(index, card.name) for index, card in cards if not card.aligns]
    if unaligned:
        yield f'<p class="note">{listed(unaligned)}: no alignments.</p>'
    yield details("How to read the translations", _legend(len(unaligned) < len(cards)))
    yield _TOOLS
    yield '<p id="selection" hidden></p>'
    yield '<p id="count" role="status"></p>'
    yield '<p id="announcement" class="visually-hidden" aria-live="polite"></p>'
    yield f'<div id="list">{plain_sentences(report)}</div>'
    yield _PAGER
    if len(report.sources) > SENTENCES_WITHOUT_SCRIPT:
        yield (
            f"<noscript><p>These are the first {SENTENCES_WITHOUT_SCRIPT} sentences. Enable"
            " JavaScript for the others, for search and for alignments.</p></noscript>"
        )


def _legend(aligned: bool) -> str:
    """Return what the marks mean, and how to use alignments."""
    alignments = (
        "<p>Point at a word, tap it, or move to it with Tab and the arrow keys to highlight the"
        " words aligned to it, stronger for larger weights. The matrix beside a translation shows"
        " its words from top to bottom and source words from left to right; the darker a cell, the"
        " larger the weight. Weights below 3 % are left out.</p>"
        if aligned
        else ""
    )
    return f"""<ul class="marks">
<li><mark class="different">dotted</mark>: the reference has another word, or another form</li>
<li><mark class="added">double</mark>: added, with nothing in the reference in its place</li>
<li><mark class="repeated">wavy</mark>: repeated</li>
<li><mark class="missing">dashed</mark>, in source and reference: a translation that is shown leaves
it out; which one is written below each translation</li>
</ul>{alignments}<p>chrF is computed per sentence.</p>"""


_TOOLS = """<form class="tools" id="tools" role="search" aria-label="Translations" hidden>
<label class="grow">Search
<input type="search" id="query" autocomplete="off" spellcheck="false"></label>
<label>as <select id="how"><option value="part">part of a text</option>
<option value="word">whole words</option><option value="regex">regular expression</option>
</select></label>
<label>Only <select id="only"><option value="">all sentences</option></select></label>
<label>Sort by <select id="sort"></select></label>
<label class="check"><input type="checkbox" id="largest"> Largest first</label>
<label id="against-label">Compare with <select id="against"><option value="">the reference</option>
</select></label>
<label class="check" id="columns-label"><input type="checkbox" id="columns"> Side by side</label>
<fieldset id="shown"><legend>Show</legend></fieldset>
</form>"""

_PAGER = """<nav class="pager" aria-label="Pages of translations" hidden>
<button type="button" id="previous">Previous 50</button>
<button type="button" id="next">Next 50</button>
</nav>
<fieldset id="downloads" hidden><legend>Save translations</legend></fieldset>"""
