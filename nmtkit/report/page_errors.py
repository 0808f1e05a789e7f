"""Errors of translations on a report's page: counts by system, and histograms of differences."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING

from nmtkit.errors import counted
from nmtkit.evaluation.translation_errors import KINDS, MIN_ATTENTION, ErrorCount
from nmtkit.report.addresses import selection_address
from nmtkit.report.histogram import draw_histogram, histogram_of
from nmtkit.report.output_errors import count_by_system, score_differences
from nmtkit.report.page_tables import MINUS, html_table, link, row, system_name
from nmtkit.report.page_words import ERROR_TITLES, listed, percent

if TYPE_CHECKING:
    from nmtkit.report.model_report import ModelReport

MAX_HISTOGRAMS = 6
"""Pairs of systems with a histogram; of more pairs the first ones."""


def error_table(report: "ModelReport") -> Iterator[str]:
    """Yield the number of sentences with each kind of error, by system, linked to them."""
    counts = count_by_system(report)
    systems = [card.name for card in report.model_cards]
    rows = ""
    for kind, by_system in counts.items():
        cells = [_error_cell(by_system[name], kind, n) for n, name in enumerate(systems)]
        rows += row([ERROR_TITLES[kind].capitalize(), *cells], systems)
    if not rows:
        yield "<p>No error of these kinds was found.</p>"
    else:
        header = [system_name(index, name) for index, name in enumerate(systems)]
        yield html_table(["Sentences with", *header], rows, "Sentences with errors")
    yield f'<p class="note">{_definitions(report, [k for k in KINDS if k not in counts])}</p>'


def _error_cell(count: ErrorCount, kind: str, system: int) -> str:
    if count.count is None:
        return "–"
    address = selection_address(only=f"{kind}:{system}")
    number = link(address, f"{count.count:,}") if count.count else "0"
    return f"<span class='figure'>{number}</span> <span class='interval'>{percent(count)}</span>"


def _definitions(report: "ModelReport", absent: Sequence[str]) -> str:
    unaligned = [escape(card.name) for card in report.model_cards if not card.aligns]
    without = ""
    if unaligned:
        has = "has" if len(unaligned) == 1 else "have"
        without = f"; {listed(unaligned)} {has} no alignments, so their omissions show by the"
        without += " reference alone"
    none = ", ".join(ERROR_TITLES[kind] for kind in absent)
    return (
        "Sentences, with 95 % intervals (Wilson). Missing words are content words of the reference"
        " in whose place a translation has nothing; a good paraphrase may lack them, too."
        f" Source words count as without attention below {MIN_ATTENTION:g} in sum"
        f"{without}.{f' Not found: {none}.' if none else ''}"
    )


def difference_histograms(report: "ModelReport") -> Iterator[str]:
    """Yield a histogram of the differences in chrF for each pair of systems."""
    names = [card.name for card in report.model_cards]
    pairs = list(combinations(range(len(names)), 2))[:MAX_HISTOGRAMS]
    if not pairs:
        return
    values = {(a, b): score_differences(report, a, b) for a, b in pairs}
    ends = [end for v in values.values() for end in (min(v), max(v))]
    histograms = {pair: histogram_of(differences, ends) for pair, differences in values.items()}
    yield "<h3>Differences of single sentences</h3>"
    yield (
        '<p class="note">chrF of single sentences. <span class="hint">Choose a bar to see its'
        " sentences; drag over several bars, or hold Shift, for a range.</span></p>"
    )
    yield '<div class="charts">'
    largest = max(max(histogram.counts) for histogram in histograms.values())
    for (a, b), differences in values.items():
        title = f"{names[b]} {MINUS} {names[a]}"
        equal = differences.count(0.0)
        is_flat = equal == len(differences)
        chart = "" if is_flat else draw_histogram(title, (a, b), histograms[a, b], largest)
        caption = f"{system_name(b, names[b])} {MINUS} {system_name(a, names[a])}"
        address = selection_address(difference=f"{a}:{b}:0:0")
        ties = link(address, counted(equal, "sentence")) if equal else "No sentence"
        note = f'<p class="note">{ties} with the same chrF, not drawn.</p>'
        yield f"<figure><figcaption>{caption}</figcaption>{chart}{note}</figure>"
    yield "</div>"
