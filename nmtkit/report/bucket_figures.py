"""Figures of a metric by sentence length, unknown words or word-frequency rank.

As figures 4 and 5 of Cho et al. 2014b (SSST-8), figure 2 of Bahdanau et al. 2015 and figure 3 of
Sutskever et al. 2014: BLEU by sentence length, by the number of unknown words allowed, and by the
mean frequency rank of the words.

If a system is drawn by source, reference and both, these lines are solid, dotted and dashed, as
in the paper. Error bars are 95 % intervals. Buckets with fewer than 10 sentences are not drawn,
because chance dominates them.

Departures and readings: the axis shows lengths and ranks; in Sutskever's figure it shows the
index of the sentences in sorted order.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtkit.errors import counted
from nmtkit.evaluation.comparison import BucketResult, Comparison, Figure
from nmtkit.report.figure_io import (
    default_style,
    font_families,
    new_figure,
    shorten_label,
    write_figure,
)
from nmtkit.report.styles import curve_style, draw_legend, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

log = logging.getLogger("nmtkit")

FIGURE_INCHES = (6.0, 3.6)  # the width of one and a half columns
SIDE_LINE_STYLES = {"source": "-", "reference": ":", "both": "--"}
MIN_BUCKET_SENTENCES = 10  # smaller buckets are not drawn
LEGEND_ROW_HEIGHT = 0.07  # as a share of the height of the axes
AXIS_LABELS = {
    "length": "Sentence length (words)",
    "unknown": "Max. number of unknown words",
    "rank": "Mean word-frequency rank",
}


@dataclass(frozen=True)
class BucketCurve:
    """One system, with buckets by one side of the test set.

    system: index of its colour and marker, from 0.
    side: "source", "reference" or "both".
    xs: positions along x; `figures` are the metric at each, in percent.
    """

    system: int
    name: str
    side: str
    xs: tuple[float, ...]
    figures: tuple[Figure, ...]


def plot_buckets(
    path: str | Path, comparison: Comparison, measure: str, force: bool = False
) -> None:
    """Write the figure of `draw_buckets` to a file, complete or not at all.

    :param path: Output file; its suffix selects the format: `.png`, `.svg` or `.pdf`.
    :param measure: Name of the metric to draw.
    :param force: Replace an existing file.
    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The suffix is unknown, or the file exists or cannot be written.
    """
    names = [*comparison.scores, measure]
    _log_small_buckets(comparison.buckets)
    by = AXIS_LABELS[comparison.buckets[0].bucketing.by].lower()
    title = f"{measure} by {by}: {', '.join(comparison.scores)}"
    write_figure(Path(path), lambda: draw_buckets(comparison, measure), names, force, title)


def _log_small_buckets(buckets: Sequence[BucketResult]) -> None:
    small = sum(0 < entry.result.sentences < MIN_BUCKET_SENTENCES for entry in buckets)
    if small:
        log.warning(
            "not drawn: %s with fewer than %d sentences",
            counted(small, "bucket"),
            MIN_BUCKET_SENTENCES,
        )


def draw_buckets(comparison: Comparison, measure: str) -> "Canvas":
    """Draw one metric of every system over the buckets of one property.

    All buckets must be by the same property.

    :return: A figure with one pair of axes, not managed by pyplot.
    :raises NmtkitError: Matplotlib is not installed.
    """
    curves = bucket_curves(comparison, measure)
    with default_style():
        canvas = new_figure(FIGURE_INCHES)
        axes = canvas.add_subplot()
        sides = {curve.side for curve in curves}
        for curve in curves:
            _draw_curve(axes, curve, several=len(sides) > 1)
        _label_axes(axes, comparison.buckets, measure)
        _draw_legends(axes, curves)
    return canvas


def bucket_curves(comparison: Comparison, measure: str) -> list[BucketCurve]:
    """Return a curve for each system and side, ordered by system, then by side."""
    bucketings = list(dict.fromkeys(entry.bucketing for entry in comparison.buckets))
    return [
        _curve(number, name, [x for x in comparison.buckets if x.bucketing == bucketing], measure)
        for number, name in enumerate(comparison.scores)
        for bucketing in bucketings
    ]


def _curve(number: int, name: str, buckets: Sequence[BucketResult], measure: str) -> BucketCurve:
    large_enough = [entry for entry in buckets if entry.result.sentences >= MIN_BUCKET_SENTENCES]
    return BucketCurve(
        system=number,
        name=name,
        side=buckets[0].bucketing.of,
        xs=tuple(entry.bucket.position for entry in large_enough),
        figures=tuple(entry.result.figures[measure][name] for entry in large_enough),
    )


def _draw_curve(axes: "Axes", curve: BucketCurve, several: bool) -> None:
    """Draw one curve, with error bars if it has intervals."""
    style = curve_style(curve.system, len(curve.xs))
    style["label"] = shorten_label(f"{curve.name}, {curve.side}" if several else curve.name)
    if several:
        style["linestyle"] = SIDE_LINE_STYLES[curve.side]
    values = [figure.value for figure in curve.figures]
    axes.plot(curve.xs, values, **style)
    for x, figure in zip(curve.xs, curve.figures, strict=True):
        if figure.interval:
            ends = (figure.interval.low, figure.interval.high)
            axes.vlines(x, *ends, colors=style["color"], linewidth=0.8)


def _draw_legends(axes: "Axes", curves: Sequence[BucketCurve]) -> None:
    """Draw the legend of the systems and, if there are several sides, that of the sides below."""
    from matplotlib.lines import Line2D

    lines: dict[int, Line2D] = {}
    for curve, line in zip(curves, axes.get_lines(), strict=True):
        lines.setdefault(curve.system, line)
    names = {curve.system: curve.name for curve in curves}
    sides = list(dict.fromkeys(curve.side for curve in curves))
    if len(sides) > 1:
        styles: list[Any] = [SIDE_LINE_STYLES[side] for side in sides]
        handles = [Line2D([], [], color="black", linestyle=style) for style in styles]
        draw_legend(axes, [f"by {side}" for side in sides], handles)
    if len(sides) > 1 and len(names) > 1:
        side_legend = axes.get_legend()
        assert side_legend is not None
        axes.add_artist(side_legend)  # otherwise the next legend replaces it
    above = LEGEND_ROW_HEIGHT if len(sides) > 1 else 0.0
    draw_legend(axes, list(names.values()), list(lines.values()), above)


def _label_axes(axes: "Axes", buckets: Sequence[BucketResult], measure: str) -> None:
    by = buckets[0].bucketing.by
    sides = list(dict.fromkeys(entry.bucketing.of for entry in buckets))
    side = f", {sides[0]}" if len(sides) == 1 else ""
    font: Mapping[str, Any] = {"fontfamily": font_families([measure]), "parse_math": False}
    axes.set_xlabel(AXIS_LABELS[by] + side, **font)
    axes.set_ylabel(f"{measure}, %", **font)
    style_axes(axes)
    axes.locator_params(axis="x", integer=True)
