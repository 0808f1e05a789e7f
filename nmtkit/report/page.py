"""A report on models, rendered as one self-contained HTML page.

Scores, charts and model cards are static HTML; the translations are JSON inside the page, which
`page.js` shows. Text from files is never executed: it is escaped here and inserted as text there,
and the page's Content-Security-Policy allows only its own script.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtkit.io.lines import STANDARD
from nmtkit.report.page_curves import bucket_charts, learning_curve_charts
from nmtkit.report.page_tables import details, score_tables, system_name, table
from nmtkit.report.risk_coverage import bad_below, risk_charts
from nmtkit.report.sentences import Packed, pack_sentences, script_json

if TYPE_CHECKING:
    from nmtkit.report.model_card import ModelCard
    from nmtkit.report.model_report import ModelReport


SECTIONS = {
    "scores": "Scores",
    "buckets": "Strengths and weaknesses",
    "confidence": "Confidence",
    "training": "Training",
    "systems": "Provenance",
    "translations": "Translations",
}


def render_page(report: "ModelReport", commands: Sequence[str]) -> str:
    """Return the HTML of a report; the same report gives the same page.

    :param commands: Commands that print the same figures, to show on the page.
    """
    style, script = _resource("page.css"), _resource("page.js")
    packed = pack_sentences(report)
    title = " · ".join(card.name for card in report.model_cards)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#translations">Skip to the translations</a>
<header class="top">
{_page_header(report)}
</header>
<main>
{_section("scores", score_tables(report, commands))}
{_section("buckets", bucket_charts(report))}
{_section("confidence", risk_charts(report))}
{_section("training", learning_curve_charts(report.model_cards))}
{_section("systems", _model_cards(report.model_cards))}
{_section("translations", _translations(report, packed))}
</main>
<footer><p>Made by nmtkit {escape(report.version)}.</p></footer>
<script type="application/json" id="about">{script_json(_script_settings(report))}</script>
<script type="application/json" id="sentences">{packed.text}</script>
<script>{script}</script>
</body>
</html>
"""


def _resource(file: str) -> str:
    return resources.files("nmtkit.report").joinpath(file).read_text(encoding="utf-8")


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
    names = " <span>and</span> ".join(
        system_name(index, card.name) for index, card in enumerate(report.model_cards)
    )
    file_names = ("stdin" if file == STANDARD else Path(file).name for file in report.files)
    files = " and ".join(f"<code>{escape(file)}</code>" for file in file_names)
    has_curves = any(card.curve for card in report.model_cards)
    missing = {"training"} if not has_curves else set()
    missing |= {"confidence"} if bad_below(report) is None else set()
    links = "".join(
        f'<li><a href="#{section}">{title}</a></li>'
        for section, title in SECTIONS.items()
        if section not in missing
    )
    checksums = table(["file", "SHA-256"], report.checksums.items(), "Checksums of the test set")
    return (
        f"<h1>{names}</h1>\n<p class='lead'>{len(report.sources):,} sentences, {src} to {tgt}:"
        f" {files}.</p>\n{details('Checksums of the test set', checksums)}\n"
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
    }


def _model_cards(model_cards: Sequence["ModelCard"]) -> Iterator[str]:
    """Yield the HTML of one card per system."""
    yield '<div class="cards">'
    for index, card in enumerate(model_cards):
        facts = "".join(
            f"<div><dt>{escape(label)}</dt><dd>{escape(fact)}</dd></div>"
            for label, fact in card.facts.items()
        )
        checksums = table(["file", "SHA-256"], card.checksums.items(), "Checksums")
        settings = f'<pre tabindex="0">{escape(card.settings)}</pre>' if card.settings else ""
        yield f'<article class="card"><h3>{system_name(index, card.name)}</h3><dl>{facts}</dl>'
        yield details("Data and parameters, with checksums", checksums)
        yield details("All settings", settings) + "</article>"
    yield "</div>"


def _translations(report: "ModelReport", packed: Packed) -> Iterator[str]:
    """Yield the HTML around the translations, which the script inserts into `#list`."""
    if packed.left_out:
        left_out = ", ".join(packed.left_out)
        yield f'<p class="note">To limit its size, this page leaves out {left_out}.</p>'
    cards = list(enumerate(report.model_cards))
    unaligned = [system_name(index, card.name) for index, card in cards if not card.aligns]
    if len(unaligned) < len(cards):
        yield (
            '<p class="hint">Point at a word, tap it, or move to it with Tab and the arrow keys'
            " to highlight the words aligned to it, stronger for larger weights. The matrix beside"
            " a translation shows its words from top to bottom and source words from left to"
            " right. Weights below 3 % are left out.</p>"
        )
    if unaligned:
        yield f'<p class="note">{" and ".join(unaligned)}: no alignments.</p>'
    yield (
        "<p>Words that are not in the reference have a <mark>dotted underline</mark>; words of the"
        " reference that are in none of the translations shown have a <mark class='missing'>dashed"
        " underline</mark>. chrF is computed per sentence.</p>"
    )
    yield _TOOLS
    yield '<p id="count" role="status"></p>'
    yield '<p id="announcement" class="visually-hidden" aria-live="polite"></p>'
    yield '<div id="list"></div>'
    yield _PAGER
    yield "<noscript><p>Enable JavaScript to see the translations.</p></noscript>"


_TOOLS = """<form class="tools" id="tools" role="search" aria-label="Translations">
<label class="grow">Search
<input type="search" id="query" autocomplete="off" spellcheck="false"></label>
<label>Sort by <select id="sort"></select></label>
<label class="check"><input type="checkbox" id="descending"> Largest first</label>
<fieldset id="shown"><legend>Show</legend></fieldset>
</form>"""

_PAGER = """<nav class="pager" aria-label="Pages of translations">
<button type="button" id="previous">Previous 50</button>
<button type="button" id="next">Next 50</button>
</nav>
<fieldset id="downloads"><legend>Save translations</legend></fieldset>"""
