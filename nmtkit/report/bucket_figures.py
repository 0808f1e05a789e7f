"""Pictures of figures against what makes sentences hard: length, unknown words, rare words.

As figures 4 and 5 of Cho et al. 2014b (SSST-8), figure 2 of Bahdanau et al. 2015 and figure 3 of
Sutskever et al. 2014, which are of BLEU against the length of sentences, against the unknown words
that are allowed, and against the mean rank of words by frequency.

Where a system is drawn by source, reference and both, these are solid, dotted and
dashed, as in the paper. Error bars are 95 % intervals. What rests on fewer than 10 sentences is not
drawn: chance would rule the picture.

Departures and readings: the axis shows lengths and ranks themselves, where Sutskever's figure shows
the places of the sentences in their order.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtkit.evaluation.comparison import BucketResult, Comparison, Figure
from nmtkit.report.figure_io import DOTS_PER_INCH, families, label, plain_settings, write_picture
from nmtkit.report.styles import name_curves, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

log = logging.getLogger("nmtkit")

SIZE = (6.0, 3.6)  # inches: the width of a column and a half
SIDES = {"source": "-", "reference": ":", "both": "--"}
LEAST = 10  # sentences of a stratum that is drawn
ROW = 0.07  # height of a row of the legend, as a share of that of the axes
AXES = {
    "length": "Sentence length (words)",
    "unknown": "Max. number of unknown words",
    "rank": "Mean word-frequency rank",
}


@dataclass(frozen=True)
class Curve:
    """One system by one side.

    system: the number of its colour and mark, from 0.
    places: along x; `figures` beside them, in percent.
    """

    system: int
    name: str
    of: str
    places: tuple[float, ...]
    figures: tuple[Figure, ...]


def plot_strata(
    path: str | Path, comparison: Comparison, measure: str, force: bool = False
) -> None:
    """Write the picture of `strata_figure` to a file: whole, or not at all.

    :param path: the picture; its ending says which kind: `.png`, `.svg` or `.pdf`.
    :param measure: the name of the measure that is drawn.
    :param force: replace a file that exists.
    :raises NmtkitError: matplotlib is not installed.
    :raises OutputError: the ending is another, the file exists or cannot be written.
    """
    names = [*comparison.scores, measure]
    _log_what_is_not_drawn(comparison.buckets)
    write_picture(Path(path), lambda: strata_figure(comparison, measure), names, force)


def _log_what_is_not_drawn(levels: Sequence[BucketResult]) -> None:
    few = sum(0 < level.result.sentences < LEAST for level in levels)
    if few:
        log.warning("%d parts of fewer than %d sentences are not drawn", few, LEAST)


def strata_figure(comparison: Comparison, measure: str) -> "Canvas":
    """Draw one measure of every system against what the strata were made by.

    All strata must be made by the same thing.

    :return: a figure with one pair of axes, which no other part of matplotlib knows of.
    :raises NmtkitError: matplotlib is not installed.
    """
    drawn = curves(comparison, measure)
    with plain_settings():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=SIZE, dpi=DOTS_PER_INCH)
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        sides = {curve.of for curve in drawn}
        for curve in drawn:
            _draw(axes, curve, several=len(sides) > 1)
        _describe(axes, comparison.buckets, measure)
        _name(axes, drawn)
    return canvas


def curves(comparison: Comparison, measure: str) -> list[Curve]:
    """What is drawn: a curve for every system and every side, in the order of both."""
    divisions = list(dict.fromkeys(level.bucketing for level in comparison.buckets))
    return [
        _curve(number, name, [x for x in comparison.buckets if x.bucketing == division], measure)
        for number, name in enumerate(comparison.scores)
        for division in divisions
    ]


def _curve(number: int, name: str, levels: Sequence[BucketResult], measure: str) -> Curve:
    filled = [level for level in levels if level.result.sentences >= LEAST]
    return Curve(
        system=number,
        name=name,
        of=levels[0].bucketing.of,
        places=tuple(level.bucket.position for level in filled),
        figures=tuple(level.result.figures[measure][name] for level in filled),
    )


def _draw(axes: "Axes", curve: Curve, several: bool) -> None:
    """One curve, with its error bars where there are intervals."""
    style = style_of(curve.system, len(curve.places))
    style["label"] = label(f"{curve.name}, {curve.of}" if several else curve.name)
    if several:
        style["linestyle"] = SIDES[curve.of]
    values = [figure.value for figure in curve.figures]
    axes.plot(curve.places, values, **style)
    for place, figure in zip(curve.places, curve.figures, strict=True):
        if figure.interval:
            ends = (figure.interval.low, figure.interval.high)
            axes.vlines(place, *ends, colors=style["color"], linewidth=0.8)


def _name(axes: "Axes", drawn: Sequence[Curve]) -> None:
    """The systems; and below them the sides, where there are several, which have lines alone."""
    from matplotlib.lines import Line2D

    lines: dict[int, Line2D] = {}
    for curve, line in zip(drawn, axes.get_lines(), strict=True):
        lines.setdefault(curve.system, line)
    names = {curve.system: curve.name for curve in drawn}
    sides = list(dict.fromkeys(curve.of for curve in drawn))
    if len(sides) > 1:
        styles: list[Any] = [SIDES[side] for side in sides]
        handles = [Line2D([], [], color="black", linestyle=style) for style in styles]
        name_curves(axes, [f"by {side}" for side in sides], handles)
        of_sides = axes.get_legend()
        assert of_sides is not None
        axes.add_artist(of_sides)  # the next one would take its place
    above = ROW if len(sides) > 1 else 0.0
    name_curves(axes, list(names.values()), list(lines.values()), above)


def _describe(axes: "Axes", levels: Sequence[BucketResult], measure: str) -> None:
    by = levels[0].bucketing.by
    sides = list(dict.fromkeys(level.bucketing.of for level in levels))
    of = f", {sides[0]}" if len(sides) == 1 else ""
    font: Mapping[str, Any] = {"fontfamily": families([measure]), "parse_math": False}
    axes.set_xlabel(AXES[by] + of, **font)
    axes.set_ylabel(f"{measure}, %", **font)
    axes.grid(visible=True, color="0.85", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.locator_params(axis="x", integer=True)
