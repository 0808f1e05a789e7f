"""Curves of a report's page: the course of trainings, and figures of the parts of a test set."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from nmtkit.evaluation.comparison import BucketResult
from nmtkit.report.bucket_figures import AXES, LEAST
from nmtkit.report.chart import Axes, Series, chart
from nmtkit.report.page_tables import details, figure, html_table, name, table

if TYPE_CHECKING:
    from nmtkit.report.model_card import ModelCard
    from nmtkit.report.model_report import ModelReport

TITLES = {
    "length": "By length",
    "unknown": "By unknown words allowed",
    "rank": "By how rare the words are",
}


def strata_curves(report: "ModelReport") -> Iterator[str]:
    """A curve and a table for each thing that sentences are divided by, of the source."""
    (measure,) = report.parts.whole.figures
    yield _legend(list(report.parts.scores))
    yield '<div class="charts">'
    for by in dict.fromkeys(level.bucketing.by for level in report.parts.buckets):
        levels = [level for level in report.parts.buckets if level.bucketing.by == by]
        yield f"<figure><figcaption>{TITLES[by]}</figcaption>"
        yield _chart_of(levels, list(report.parts.scores), measure)
        yield details("The same as a table", _table_of(levels, report, measure)) + "</figure>"
    yield "</div>"
    bars = " Bars are 95 % intervals." if report.samples else ""
    told = " ".join(report.left_out)
    yield (
        f'<p class="note">{escape(measure)}.{bars} Parts of fewer than {LEAST} sentences are in'
        f" the tables alone. Words and ranks are of the source; words that"
        f" {escape(report.accounts[0].name)} does not know count as unknown. {escape(told)}</p>"
    )


def _legend(systems: Sequence[str]) -> str:
    items = "".join(f"<li>{name(number, system)}</li>" for number, system in enumerate(systems))
    return f'<ul class="legend">{items}</ul>'


def _chart_of(levels: Sequence[BucketResult], systems: Sequence[str], measure: str) -> str:
    filled = [level for level in levels if level.result.sentences >= LEAST]
    series = []
    for number, system in enumerate(systems):
        figures = [level.result.figures[measure][system] for level in filled]
        points = [(x.bucket.position, f.value) for x, f in zip(filled, figures, strict=True)]
        ends = [(f.interval.low, f.interval.high) if f.interval else None for f in figures]
        series.append(Series(number, system, tuple(points), tuple(ends)))
    by = levels[0].bucketing.by
    ranks = by == "rank"
    title = f"{measure}: {TITLES[by].lower()}"
    axes = Axes(title, AXES[by], f"{measure}, %", logarithmic=ranks, whole=not ranks)
    return chart(axes, series) or '<p class="note">All parts are too small to be drawn.</p>'


def _table_of(levels: Sequence[BucketResult], report: "ModelReport", measure: str) -> str:
    rows = []
    systems = list(report.parts.scores)
    for level in levels:
        figures = level.result.figures.get(measure, {})
        cells = [figure(figures[system]) if figures else "–" for system in systems]
        cells = [f"<td>{cell}</td>" for cell in (f"{level.result.sentences:,}", *cells)]
        rows.append(f'<tr><th scope="row">{_label(level)}</th>{"".join(cells)}</tr>')
    header = [AXES[levels[0].bucketing.by], "Sentences"]
    named = [name(number, system) for number, system in enumerate(systems)]
    title = TITLES[levels[0].bucketing.by]
    return html_table([*header, *named], "".join(rows), f"{measure} {title.lower()}")


def _label(level: BucketResult) -> str:
    """What a part holds."""
    low, high = level.bucket.low, level.bucket.high
    if level.bucketing.by == "unknown":
        return f"{high:g}"
    if math.isinf(low):
        return f"to {high:g}"
    if math.isinf(high):
        return f"over {low:g}"
    return f"{low + 1:g}–{high:g}" if level.bucketing.by == "length" else f"{low:g}–{high:g}"


def learning_curves(accounts: Sequence["ModelCard"]) -> Iterator[str]:
    """Costs and dev BLEU of those systems that have a curve."""
    having = [(n, account) for n, account in enumerate(accounts) if account.curve]
    if not having:
        return
    yield (
        '<ul class="legend">' + "".join(f"<li>{name(n, a.name)}</li>" for n, a in having) + "</ul>"
    )
    yield '<div class="charts">'
    cost = "Cost per token, natural logarithm"
    for title, y, series in (
        ("Cost of the dev set; thin: of the training data", cost, _costs(having)),
        ("BLEU of the dev set", "Dev BLEU, %", _bleus(having)),
    ):
        if picture := chart(Axes(title, "Epochs", y, from_zero=True), series):
            yield f"<figure><figcaption>{title}</figcaption>{picture}</figure>"
    yield "</div>"
    yield details("Validations as a table", _validations(having))


def _costs(having: Sequence[tuple[int, "ModelCard"]]) -> list[Series]:
    series = []
    for number, account in having:
        assert account.curve
        training = tuple((p.epoch, p.cost_per_token) for p in account.curve.training)
        dev = tuple((p.epoch, p.cost_per_token) for p in account.curve.validation)
        series += [
            Series(number, account.name, training, faint=True),
            Series(number, account.name, dev),
        ]
    return series


def _bleus(having: Sequence[tuple[int, "ModelCard"]]) -> list[Series]:
    series = []
    for number, account in having:
        assert account.curve
        found = [(p.epoch, p.bleu) for p in account.curve.validation if p.bleu is not None]
        series.append(Series(number, account.name, tuple(found)))
    return series


def _validations(having: Sequence[tuple[int, "ModelCard"]]) -> str:
    rows = [
        (
            account.name,
            f"{p.update:,}",
            f"{p.epoch:.2f}",
            f"{p.seconds / 60:.1f}",
            f"{p.cost_per_token:.4f}",
            "–" if p.bleu is None else f"{p.bleu:.2f}",
            "yes" if p.best else "",
        )
        for _, account in having
        for p in (account.curve.validation if account.curve else ())
    ]
    header = ["System", "Update", "Epoch", "Minutes", "Dev cost", "Dev BLEU", "Best so far"]
    return table(header, rows, "Validations")
