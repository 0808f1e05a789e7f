"""A report on models as one page of HTML, which needs no network, no server, and no other file.

Figures, curves and what the models are stand in the page as it is written; the translations are
data within it, which `page.js` shows. Whatever the texts hold, it is shown and never run: text is
escaped here, put in as text there, and the page's own policy lets nothing run but its one script.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtkit.io.lines import STANDARD
from nmtkit.report.page_curves import learning_curves, strata_curves
from nmtkit.report.page_tables import details, name, scores, table
from nmtkit.report.sentences import Packed, pack, to_json

if TYPE_CHECKING:
    from nmtkit.report.model_card import ModelCard
    from nmtkit.report.model_report import ModelReport


SECTIONS = {
    "scores": "Scores",
    "parts": "Strengths and weaknesses",
    "training": "Training",
    "systems": "Provenance",
    "translations": "Translations",
}


def page(report: "ModelReport", commands: Sequence[str]) -> str:
    """The HTML of a report; the same report gives the same page.

    :param commands: that print the same figures.
    """
    style, script = _part("page.css"), _part("page.js")
    packed = pack(report)
    title = " · ".join(account.name for account in report.accounts)
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
{_head(report)}
</header>
<main>
{_section("scores", scores(report, commands))}
{_section("parts", strata_curves(report))}
{_section("training", learning_curves(report.accounts))}
{_section("systems", _systems(report.accounts))}
{_section("translations", _translations(report, packed))}
</main>
<footer><p>Made by nmtkit {escape(report.version)}.</p></footer>
<script type="application/json" id="about">{to_json(_about(report))}</script>
<script type="application/json" id="sentences">{packed.text}</script>
<script>{script}</script>
</body>
</html>
"""


def _part(file: str) -> str:
    return resources.files("nmtkit.report").joinpath(file).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Nothing may be fetched, and nothing run but this script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _section(mark: str, parts: Iterator[str]) -> str:
    content = "\n".join(parts)
    if not content:
        return ""
    return (
        f'<section id="{mark}" aria-labelledby="{mark}-title">\n'
        f'<h2 id="{mark}-title">{SECTIONS[mark]}</h2>\n{content}\n</section>'
    )


def _head(report: "ModelReport") -> str:
    src, tgt = (escape(language) for language in _languages(report))
    names = " <span>and</span> ".join(
        name(number, account.name) for number, account in enumerate(report.accounts)
    )
    spoken = ("stdin" if file == STANDARD else Path(file).name for file in report.files)
    files = " and ".join(f"<code>{escape(file)}</code>" for file in spoken)
    having = [account for account in report.accounts if account.curve]
    links = "".join(
        f'<li><a href="#{mark}">{title}</a></li>'
        for mark, title in SECTIONS.items()
        if mark != "training" or having
    )
    checksums = table(["file", "SHA-256"], report.checksums.items(), "The test set's checksums")
    return (
        f"<h1>{names}</h1>\n<p class='lead'>{len(report.sources):,} sentences, {src} to {tgt}:"
        f" {files}.</p>\n{details('Checksums of the test set', checksums)}\n"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>'
    )


def _languages(report: "ModelReport") -> tuple[str, str]:
    return report.text.src_language, report.text.tgt_language


def _about(report: "ModelReport") -> dict[str, Any]:
    """What the script needs to know besides the sentences."""
    return {
        "languages": _languages(report),
        "sentences": len(report.sources),
        "systems": [
            {"name": account.name, "aligns": account.aligns, "model": bool(account.settings)}
            for account in report.accounts
        ],
    }


def _systems(accounts: Sequence["ModelCard"]) -> Iterator[str]:
    """One card for each system."""
    yield '<div class="cards">'
    for number, account in enumerate(accounts):
        facts = "".join(
            f"<div><dt>{escape(label)}</dt><dd>{escape(fact)}</dd></div>"
            for label, fact in account.facts.items()
        )
        checksums = table(["file", "SHA-256"], account.checksums.items(), "Checksums")
        settings = f'<pre tabindex="0">{escape(account.settings)}</pre>' if account.settings else ""
        yield f'<article class="card"><h3>{name(number, account.name)}</h3><dl>{facts}</dl>'
        yield details("Data and parameters, with checksums", checksums)
        yield details("All settings", settings) + "</article>"
    yield "</div>"


def _translations(report: "ModelReport", packed: Packed) -> Iterator[str]:
    """What stands around the translations, which the script puts into `#list`."""
    if packed.left_out:
        told = ", ".join(packed.left_out)
        yield f'<p class="note">To stay small, this page leaves out {told}.</p>'
    without = [name(n, a.name) for n, a in enumerate(report.accounts) if not a.aligns]
    with_ = len(without) < len(report.accounts)
    if with_:
        yield (
            '<p class="hint">Point at a word, tap it, or move to it with Tab and the arrow keys:'
            " what belongs to it lights up, the more the heavier its alignment. The matrix beside a"
            " translation has its words from top to bottom, those of the source from left to"
            " right. Weights below 3 % are left out.</p>"
        )
    if without:
        who = " and ".join(without)
        yield f'<p class="note">{who}: no alignments, so there is nothing to light up.</p>'
    yield (
        "<p>Words that the reference lacks are <mark>underlined by dots</mark>; words of the"
        " reference that no translation shown has are <mark class='missed'>dashed</mark>. chrF"
        " is of the sentence alone.</p>"
    )
    yield _TOOLS
    yield '<p id="count" role="status"></p>'
    yield '<p id="spoken" class="unseen" aria-live="polite"></p>'
    yield '<div id="list"></div>'
    yield _PAGER
    yield "<noscript><p>A script shows the translations; it is switched off.</p></noscript>"


_TOOLS = """<form class="tools" id="tools" role="search" aria-label="Translations">
<label class="grow">Search
<input type="search" id="query" autocomplete="off" spellcheck="false"></label>
<label>Sort by <select id="sort"></select></label>
<label class="check"><input type="checkbox" id="descending"> Largest first</label>
<fieldset id="shown"><legend>Show</legend></fieldset>
</form>"""

_PAGER = """<nav class="pager" aria-label="Pages of translations">
<button type="button" id="earlier">Previous 50</button>
<button type="button" id="later">Next 50</button>
</nav>
<fieldset id="saved"><legend>Save translations</legend></fieldset>"""
