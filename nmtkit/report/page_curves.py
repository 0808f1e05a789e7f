"""Charts of a report's page: learning curves, and a metric by bucket."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

from nmtkit.errors import counted
from nmtkit.evaluation.comparison import BucketResult
from nmtkit.report.addresses import selection_address
from nmtkit.report.bucket_figures import AXIS_LABELS, MIN_BUCKET_SENTENCES
from nmtkit.report.chart import Axes, Series, draw_chart
from nmtkit.report.page_tables import (
    details,
    format_figure,
    html_table,
    legend,
    link,
    row,
    system_name,
    table,
)
from nmtkit.report.page_words import bucket_phrase

if TYPE_CHECKING:
    from nmtkit.report.model_card import ModelCard
    from nmtkit.report.model_report import ModelReport

TITLES = {
    "length": "By length",
    "unknown": "By unknown words allowed",
    "rank": "By word frequency",
}


def bucket_charts(report: "ModelReport") -> Iterator[str]:
    """Yield a chart and a table for each property that the source sentences are divided by."""
    (measure,) = report.by_bucket.whole.figures
    yield legend(enumerate(report.by_bucket.scores))
    yield '<div class="charts">'
    ends = _extremes(report.by_bucket.buckets, measure)
    for by in dict.fromkeys(entry.bucketing.by for entry in report.by_bucket.buckets):
        buckets = [entry for entry in report.by_bucket.buckets if entry.bucketing.by == by]
        yield f"<figure><figcaption>{TITLES[by]}</figcaption>"
        yield _bucket_chart(buckets, list(report.by_bucket.scores), measure, ends)
        yield details("Show as a table", _bucket_table(buckets, report, measure)) + "</figure>"
    yield "</div>"
    bars = " Bars are 95 % intervals." if report.samples else ""
    left_out = " ".join(report.left_out)
    yield (
        f'<p class="note">{escape(measure)}.{bars} Buckets with fewer than {MIN_BUCKET_SENTENCES}'
        " sentences are only in the tables. Words and ranks are those of the source; unknown words"
        f" are those outside the shortlist of {escape(report.model_cards[0].name)}."
        f" {escape(left_out)}</p>"
    )


def _extremes(buckets: Sequence[BucketResult], measure: str) -> tuple[float, ...]:
    """Return the lowest and highest value of all charts, so that they share an axis."""
    figures = [
        figure
        for entry in buckets
        if entry.result.sentences >= MIN_BUCKET_SENTENCES
        for figure in entry.result.figures[measure].values()
    ]
    ends = [end for f in figures if f.interval for end in (f.interval.low, f.interval.high)]
    values = [*(figure.value for figure in figures), *ends]
    return (min(values), max(values)) if values else ()


def _bucket_chart(
    buckets: Sequence[BucketResult], systems: Sequence[str], measure: str, ends: tuple[float, ...]
) -> str:
    numbered = [(n, e) for n, e in enumerate(buckets) if e.result.sentences >= MIN_BUCKET_SENTENCES]
    large_enough = [entry for _, entry in numbered]
    links = tuple(
        (
            _bucket_address(entry, number),
            f"{counted(entry.result.sentences, 'sentence')} {bucket_phrase(entry)}",
        )
        for number, entry in numbered
    )
    series = []
    for number, system in enumerate(systems):
        figures = [entry.result.figures[measure][system] for entry in large_enough]
        points = [(x.bucket.position, f.value) for x, f in zip(large_enough, figures, strict=True)]
        intervals = [(f.interval.low, f.interval.high) if f.interval else None for f in figures]
        series.append(Series(number, system, tuple(points), tuple(intervals), links=links))
    by = buckets[0].bucketing.by
    ranks = by == "rank"
    title = f"{measure}: {TITLES[by].lower()}"
    axes = Axes(
        title,
        AXIS_LABELS[by],
        f"{measure}, %",
        logarithmic=ranks,
        integers=not ranks,
        y_range=ends,
    )
    note = f"Fewer than two buckets have {MIN_BUCKET_SENTENCES} sentences, so there is no chart."
    return draw_chart(axes, series) or f'<p class="note">{note}</p>'


def _bucket_address(entry: BucketResult, number: int) -> str:
    return selection_address(bucket=f"{entry.bucketing.by}:{number}")


def _bucket_table(buckets: Sequence[BucketResult], report: "ModelReport", measure: str) -> str:
    rows = []
    systems = list(report.by_bucket.scores)
    for number, entry in enumerate(buckets):
        figures = entry.result.figures.get(measure, {})
        cells = [format_figure(figures[system]) if figures else "–" for system in systems]
        text = entry.label("–")
        has_sentences = entry.result.sentences > 0
        label = link(_bucket_address(entry, number), text) if has_sentences else escape(text)
        sentences = f"{entry.result.sentences:,}"
        rows.append(row([label, sentences, *cells], ["Sentences", *systems]))
    header = [AXIS_LABELS[buckets[0].bucketing.by], "Sentences"]
    names = [system_name(index, system) for index, system in enumerate(systems)]
    title = TITLES[buckets[0].bucketing.by]
    return html_table([*header, *names], "".join(rows), f"{measure} {title.lower()}")


def learning_curve_charts(model_cards: Sequence["ModelCard"]) -> Iterator[str]:
    """Yield charts of cost, dev chrF and dev BLEU for the systems with learning curves."""
    with_curves = [(n, card) for n, card in enumerate(model_cards) if card.curve]
    if not with_curves:
        return
    yield legend((n, card.name) for n, card in with_curves)
    yield '<div class="charts">'
    cost = "Cost per token, natural logarithm"
    curves = [card.curve for _, card in with_curves if card.curve]
    epochs = [p.epoch for curve in curves for p in curve.training]
    epochs += [p.epoch for curve in curves for p in curve.validation]
    left_out = []
    for title, y, series in (
        ("Cost on the dev set (thin: training)", cost, _cost_series(with_curves)),
        ("chrF on the dev set", "Dev chrF, %", _score_series(with_curves, "chrf")),
        ("BLEU on the dev set", "Dev BLEU, %", _score_series(with_curves, "bleu")),
    ):
        axes = Axes(title, "Epochs", y, from_zero=True, x_range=tuple(epochs))
        if chart := draw_chart(axes, series):
            yield f"<figure><figcaption>{title}</figcaption>{chart}</figure>"
        elif any(curve.points for curve in series):
            left_out.append(title)
    yield "</div>"
    yield f'<p class="note">{_training_note(with_curves, left_out)}</p>'
    yield details("Validations as a table", _validations(with_curves))


def _training_note(with_curves: Sequence[tuple[int, "ModelCard"]], left_out: Sequence[str]) -> str:
    """Say why training costs lie above those of the dev set, if they do, and what is not drawn."""
    curves = [card.curve for _, card in with_curves if card.curve]
    above = any(
        curve.training
        and curve.validation
        and curve.training[-1].cost_per_token > curve.validation[-1].cost_per_token
        for curve in curves
    )
    why = (
        "The cost on training data is the mean since the point before, with dropout, label"
        " smoothing and the other things that make training harder than translating, so it may lie"
        " above that on the dev set, which is measured without them."
    )
    missing = "".join(f" {title}: measured once, see the table." for title in left_out)
    return (why if above else "") + missing


def _cost_series(with_curves: Sequence[tuple[int, "ModelCard"]]) -> list[Series]:
    series = []
    for number, card in with_curves:
        assert card.curve
        training = tuple((p.epoch, p.cost_per_token) for p in card.curve.training)
        dev = tuple((p.epoch, p.cost_per_token) for p in card.curve.validation)
        series += [
            Series(number, card.name, training, faint=True),
            Series(number, card.name, dev),
        ]
    return series


def _score_series(
    with_curves: Sequence[tuple[int, "ModelCard"]], score: Literal["bleu", "chrf"]
) -> list[Series]:
    series = []
    for number, card in with_curves:
        assert card.curve
        figures = [(p.epoch, getattr(p, score)) for p in card.curve.validation]
        points = tuple((epoch, figure) for epoch, figure in figures if figure is not None)
        series.append(Series(number, card.name, points))
    return series


def _validations(with_curves: Sequence[tuple[int, "ModelCard"]]) -> str:
    validations = [p for _, card in with_curves if card.curve for p in card.curve.validation]
    has_chrf = any(p.chrf is not None for p in validations)
    rows = [
        (
            card.name,
            f"{p.update:,}",
            f"{p.epoch:.2f}",
            f"{p.seconds / 60:.1f}",
            f"{p.cost_per_token:.4f}",
            *(["–" if p.chrf is None else f"{p.chrf:.2f}"] if has_chrf else []),
            "–" if p.bleu is None else f"{p.bleu:.2f}",
            "yes" if p.best else "",
        )
        for _, card in with_curves
        for p in (card.curve.validation if card.curve else ())
    ]
    scores = ["Dev chrF", "Dev BLEU"] if has_chrf else ["Dev BLEU"]
    header = ["System", "Update", "Epoch", "Minutes", "Dev cost", *scores, "Best so far"]
    return table(header, rows, "Validations")
