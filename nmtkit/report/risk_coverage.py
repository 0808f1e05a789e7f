"""Risk against coverage: how bad translations are if only the most confident ones are kept.

As El-Yaniv and Wiener 2010 draw it for classifiers. A line that falls to the left says that
confidences find bad translations; a level one, that they do not.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from nmtkit.evaluation.calibration_metrics import RiskPoint, risk_area, risk_coverage
from nmtkit.report.chart import Axes, Series, draw_chart
from nmtkit.report.page_tables import details, html_table, legend, system_name

if TYPE_CHECKING:
    from nmtkit.report.model_report import ModelReport

CAPTION = "Risk against coverage"

Curves = Mapping[int, list[RiskPoint]]
"""The curve of each system that has confidences, by its index."""


def risk_charts(report: "ModelReport") -> Iterator[str]:
    """Yield the chart, its table and a note; nothing if no system has confidences."""
    threshold = bad_below(report)
    if threshold is None:
        return
    curves = risk_curves(report, threshold)
    names = [card.name for card in report.model_cards]
    series = [
        Series(n, names[n], tuple((100 * p.coverage, 100 * p.risk) for p in points))
        for n, points in curves.items()
    ]
    axes = Axes(CAPTION, "Translations kept, %", "Bad ones among them, %", from_zero=True)
    yield legend((n, names[n]) for n in curves)
    yield f'<div class="charts"><figure><figcaption>{CAPTION}</figcaption>'
    yield draw_chart(axes, series)
    yield details("Show as a table", _table(curves, names)) + "</figure></div>"
    areas = ", ".join(f"{escape(names[n])} {100 * risk_area(c):.1f} %" for n, c in curves.items())
    yield (
        f'<p class="note">Translations are kept in the order of their confidence. Bad ones have a'
        f" chrF below {threshold:.1f}, the median of {escape(names[next(iter(curves))])} on this"
        f" test set. Mean over all shares: {areas}; 50 % would be chance if half are bad.</p>"
    )


def bad_below(report: "ModelReport") -> float | None:
    """Return the median chrF of the first system with confidences; None if there is none."""
    for number, card in enumerate(report.model_cards):
        if _confidences(report, number):
            return float(np.median(report.sentence_scores[card.name]))
    return None


def risk_curves(report: "ModelReport", threshold: float) -> Curves:
    """Return the curve of each system that has confidences.

    :param threshold: translations with a chrF below it, in percent, are bad.
    """
    curves = {}
    for number, card in enumerate(report.model_cards):
        confidences = _confidences(report, number)
        if confidences:
            scores = report.sentence_scores[card.name]
            curves[number] = risk_coverage(confidences, scores, threshold)
    return curves


def _confidences(report: "ModelReport", number: int) -> list[float]:
    """Return the confidences of a system's translations; nothing if one has none."""
    outputs = report.outputs[report.model_cards[number].name]
    found = [None if output.best is None else output.best.confidence for output in outputs]
    confidences = [confidence for confidence in found if confidence is not None]
    return confidences if len(confidences) == len(found) else []


def _table(curves: Curves, names: list[str]) -> str:
    rows = [
        f'<tr><th scope="row">{system_name(number, names[number])}</th>'
        f"<td>{100 * point.coverage:.0f} %</td><td>{point.threshold:.2f}</td>"
        f"<td>{100 * point.risk:.1f} %</td><td>{point.quality:.1f}</td></tr>"
        for number, points in curves.items()
        for point in points
    ]
    header = ["System", "Kept", "Least confidence", "Bad", "Mean chrF"]
    return html_table(header, "".join(rows), CAPTION)
