"""Tables and other small parts of a report's page."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from nmtkit.evaluation.comparison import Figure, PairedDifference
from nmtkit.evaluation.metrics import METRICS, which_is_better
from nmtkit.report.chart import key

if TYPE_CHECKING:
    from nmtkit.report.model_report import ModelReport

MINUS = "\N{MINUS SIGN}"


def name(number: int, text: str) -> str:
    """A system's name, with its mark before it."""
    return f'<span class="name">{key(number)}<bdi>{escape(text)}</bdi></span>'


def details(title: str, content: str) -> str:
    """Something that is opened on request; nothing where there is nothing."""
    if not content:
        return ""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table of texts, the first column its rows' headers; nothing where it has no rows."""
    body = "".join(_row([escape(cell) for cell in row]) for row in rows)
    if not body:
        return ""
    return html_table([escape(cell) for cell in header], body, caption)


def html_table(header: Sequence[str], body: str, caption: str) -> str:
    """A table of HTML, which may be moved sideways where it is wider than the page."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f'<caption class="unseen">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def figure(found: Figure) -> str:
    """A figure and its interval, with the digits that `evaluate` prints."""
    both = f"<span class='figure'>{found.value:.2f}</span>"
    if found.interval is None:
        return both
    return f"{both} <span class='ends'>[{found.interval.low:.2f}, {found.interval.high:.2f}]</span>"


def scores(report: "ModelReport", commands: Sequence[str]) -> Iterator[str]:
    """The figures of the whole test set, and what may be concluded of them."""
    comparison = report.comparison
    systems = list(comparison.scores)
    measures = list(comparison.whole.figures)
    body = "".join(
        _row([escape(measure), *(figure(of[system]) for system in systems)])
        for measure, of in comparison.whole.figures.items()
    )
    named = [name(number, system) for number, system in enumerate(systems)]
    yield html_table(["", *named], body, "Figures of the whole test set, in percent")
    interval = (
        f" In brackets the 95 % interval, of {report.samples:,} bootstrap samples."
        if report.samples
        else ""
    )
    better = f"In percent; {which_is_better(METRICS.values())}."
    yield f'<p class="note">{better}{interval}</p>'
    if comparison.whole.pairs:
        yield from _pairs(comparison.whole.pairs, measures)
    signatures = [(found.name, found.signature) for found in next(iter(comparison.scores.values()))]
    yield details("How they were measured", _how(signatures, commands))


def _how(signatures: Sequence[tuple[str, str]], commands: Sequence[str]) -> str:
    lines = escape("\n".join(commands))
    return (
        f"{table(['measure', 'signature'], signatures, 'Signatures of the measures')}"
        "<p>These commands print the figures of this page; the files that they need are below the"
        f" translations, to be saved.</p><pre tabindex='0' class='commands'>{lines}</pre>"
    )


def _pairs(pairs: Sequence[PairedDifference], measures: Sequence[str]) -> Iterator[str]:
    """Differences of every two systems, and how likely chance makes such."""
    rows = ""
    for both in dict.fromkeys((pair.first, pair.second) for pair in pairs):
        found = [pair for pair in pairs if (pair.first, pair.second) == both]
        rows += _row(
            [
                f"<bdi>{escape(both[1])}</bdi> {MINUS} <bdi>{escape(both[0])}</bdi>",
                *map(_pair, found),
            ]
        )
    yield "<h3>Differences</h3>"
    yield html_table(["", *map(escape, measures)], rows, "Differences between systems")
    yield (
        '<p class="note">p: how probable a difference as large is where both are equally good, by'
        " paired bootstrap. A small one (<strong>p &lt; 0.05</strong>) is more than chance; it is"
        " not corrected for the number of comparisons.</p>"
    )


def _pair(pair: PairedDifference) -> str:
    told = f"{pair.difference:+.2f} <span class='ends'>p = {pair.p:.3f}</span>".replace("-", MINUS)
    return f"<strong>{told}</strong>" if pair.p < 0.05 else told
