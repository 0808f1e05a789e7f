"""Tables and other small elements of a report's page."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from nmtkit.evaluation.comparison import Figure, PairedDifference
from nmtkit.evaluation.metrics import METRICS, which_is_better
from nmtkit.report.chart import draw_legend_key
from nmtkit.report.verdict import format_p

if TYPE_CHECKING:
    from nmtkit.report.model_report import ModelReport

MINUS = "\N{MINUS SIGN}"


def system_name(index: int, text: str) -> str:
    """Return a system's name with its legend key before it."""
    return f'<span class="name">{draw_legend_key(index)}<bdi>{escape(text)}</bdi></span>'


def legend(systems: Iterable[tuple[int, str]]) -> str:
    """Return a list of systems with their keys, given their indices and names."""
    items = "".join(f"<li>{system_name(index, name)}</li>" for index, name in systems)
    return f'<ul class="legend">{items}</ul>'


def details(title: str, content: str) -> str:
    """Return content as a collapsed section, or an empty string for empty content."""
    if not content:
        return ""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table of plain texts; its first column has row headers. Empty without rows."""
    body = "".join(row(map(escape, cells)) for cells in rows)
    if not body:
        return ""
    return html_table([escape(cell) for cell in header], body, caption)


def link(address: str, text: str) -> str:
    """Return a link within the page."""
    return f'<a href="{escape(address)}">{escape(text)}</a>'


def html_table(header: Sequence[str], body: str, caption: str) -> str:
    """Return a table of HTML cells that scrolls sideways if it is wider than the page."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f'<caption class="visually-hidden">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def row(cells: Iterable[str], labels: Sequence[str] = ()) -> str:
    """Return a row of HTML cells.

    :param labels: of the cells after the first, for narrow screens, where they stand below each
        other.
    """
    first, *rest = cells
    names = [f' data-label="{escape(label)}"' for label in labels] or [""] * len(rest)
    columns = "".join(f"<td{name}>{cell}</td>" for name, cell in zip(names, rest, strict=True))
    return f'<tr><th scope="row">{first}</th>{columns}</tr>'


def format_figure(figure: Figure) -> str:
    """Return a figure and its interval, with the digits that `evaluate` prints."""
    value = f"<span class='figure'>{figure.value:.2f}</span>"
    if figure.interval is None:
        return value
    low, high = figure.interval.low, figure.interval.high
    return f"{value} <span class='interval'>[{low:.2f}, {high:.2f}]</span>"


def score_tables(report: "ModelReport", commands: Sequence[str]) -> Iterator[str]:
    """Yield the scores on the whole test set, differences with p-values, and commands."""
    comparison = report.comparison
    systems = list(comparison.scores)
    measures = list(comparison.whole.figures)
    body = "".join(
        row([escape(measure), *(format_figure(figures[system]) for system in systems)], systems)
        for measure, figures in comparison.whole.figures.items()
    )
    header = [system_name(index, system) for index, system in enumerate(systems)]
    yield html_table(["Metric", *header], body, "Scores on the whole test set, in percent")
    interval = (
        f" In brackets: 95 % interval from {report.samples:,} bootstrap samples."
        if report.samples
        else ""
    )
    better = f"In percent; {which_is_better(METRICS.values())}."
    yield f'<p class="note">{better}{interval}</p>'
    if comparison.whole.pairs:
        yield from _differences(comparison.whole.pairs, measures, report.samples)
    signatures = [
        (metric.name, metric.signature) for metric in next(iter(comparison.scores.values()))
    ]
    yield details("Signatures and commands", _signatures_and_commands(signatures, commands))


def _signatures_and_commands(signatures: Sequence[tuple[str, str]], commands: Sequence[str]) -> str:
    lines = escape("\n".join(commands))
    return (
        f"{table(['metric', 'signature'], signatures, 'Signatures of the metrics')}"
        "<p>These commands print the scores of this page. Save the files that they need with the"
        f" buttons below the translations.</p><pre tabindex='0' class='commands'>{lines}</pre>"
    )


def _differences(
    pairs: Sequence[PairedDifference], measures: Sequence[str], samples: int
) -> Iterator[str]:
    """Yield the differences of all pairs of systems with p-values."""
    rows = ""
    for first, second in dict.fromkeys((pair.first, pair.second) for pair in pairs):
        cells = [_difference(p, samples) for p in pairs if (p.first, p.second) == (first, second)]
        title = f"<bdi>{escape(second)}</bdi> {MINUS} <bdi>{escape(first)}</bdi>"
        rows += row([title, *cells], measures)
    yield "<h3>Differences</h3>"
    yield html_table(["Systems", *map(escape, measures)], rows, "Differences between systems")
    yield (
        '<p class="note">p: probability of a difference this large between equally good systems, by'
        " paired bootstrap. Bold differences (<strong>p &lt; 0.05</strong>) are significant; p is"
        f" not corrected for the number of comparisons. {samples:,} samples cannot show a p below"
        f" {1 / (samples + 1):.2g}.</p>"
    )


def _difference(pair: PairedDifference, samples: int) -> str:
    p = format_p(pair.p, samples)
    text = f"{pair.difference:+.2f} <span class='interval'>{p}</span>"
    text = text.replace("-", MINUS)
    return f"<strong>{text}</strong>" if pair.p < 0.05 else text
