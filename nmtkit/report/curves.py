"""Learning curves of several models, as a figure and as a table.

The upper panel shows the cost per target token: on the dev set with markers, on training data as
a thin line. The lower panel shows BLEU or chrF on the dev set, if measured.

The training cost is the mean of the training loss since the previous point, with dropout and label
smoothing, so that it may exceed the dev cost.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmtkit.errors import DataError
from nmtkit.report.figure_io import FONT, default_style, new_figure, shorten_label, write_figure
from nmtkit.report.styles import curve_style, draw_legend, style_axes
from nmtkit.training.learning_curve import Curve, TrainingPoint, ValidationPoint, read_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

XAxis = Literal["updates", "epochs", "seconds"]
Point = TrainingPoint | ValidationPoint
Value = str | int | float | bool | None

WIDTH_INCHES, COST_HEIGHT_INCHES, BLEU_HEIGHT_INCHES = 6.0, 3.0, 2.2  # inches
COST_LABEL = "cost per token\n(marked: dev, thin: training)"
TIME_UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))
"""Units of the time axis: shortest training in seconds to use it for, seconds per unit, name."""
SCORES = {"chrf": "chrF", "bleu": "BLEU"}
"""Scores of the dev set, the one that is preferred first, with their titles."""

HEADER = ("model", "kind", "update", "epoch", "seconds", "cost_per_token", "bleu", "best", "chrf")


def read_curves(folders: Sequence[str | Path]) -> dict[str, Curve]:
    """Return the learning curves of model folders by folder name.

    If two folders have the same name, the keys are the paths.

    :raises ModelError: A folder has no metrics.
    :raises DataError: Metrics are damaged or empty, or a folder is given twice.
    """
    paths = [Path(folder) for folder in folders]
    names = [os.path.basename(os.path.abspath(path)) for path in paths]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    curves = {name: read_curve(path) for name, path in zip(names, paths, strict=True)}
    if len(curves) < len(paths):
        raise DataError("a model folder is given twice; name each once")
    for name, curve in curves.items():
        if not curve.training and not curve.validation:
            raise DataError(
                f"{name}: training has logged no metrics yet in metrics.jsonl; wait for the first"
                " ones"
            )
    return curves


def format_table(curves: Mapping[str, Curve]) -> Iterator[str]:
    """Yield the points of all curves as tab-separated lines, with a header.

    The points of each model are sorted by update. Costs are natural logarithms; cells without a
    measurement are empty.
    """
    yield "\t".join(HEADER)
    for row in _rows(curves):
        yield "\t".join(map(_cell, row))


def records_of(curves: Mapping[str, Curve]) -> list[dict[str, Value]]:
    """Return the rows of `format_table` as records for JSON; unmeasured figures are None."""
    return [dict(zip(HEADER, row, strict=True)) for row in _rows(curves)]


def _rows(curves: Mapping[str, Curve]) -> Iterator[tuple[Value, ...]]:
    """Yield the values of `HEADER` for each point."""
    for name, curve in curves.items():
        points: list[Point] = [*curve.training, *curve.validation]
        for point in sorted(points, key=lambda point: point.update):
            common = point.update, point.epoch, point.seconds, point.cost_per_token
            if isinstance(point, ValidationPoint):
                yield name, "validation", *common, point.bleu, point.best, point.chrf
            else:
                yield name, "training", *common, None, None, None


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.replace("\t", " ")
    return f"{value:g}" if isinstance(value, float) else str(int(value))


def plot_curves(
    path: str | Path, curves: Mapping[str, Curve], x_axis: XAxis, force: bool = False
) -> None:
    """Write the figure of `draw_curves` to a file, complete or not at all.

    :param path: Output file; its suffix selects the format: `.png`, `.svg` or `.pdf`.
    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The suffix is unknown, or the file exists or cannot be written.
    """
    title = f"Learning curves of {', '.join(curves)}"
    write_figure(Path(path), lambda: draw_curves(curves, x_axis), list(curves), force, title)


def draw_curves(curves: Mapping[str, Curve], x_axis: XAxis) -> "Figure":
    """Draw the learning curves of several models.

    :return: A figure with axes for the cost and, if any model has it, for BLEU below; for chrF if
        all of these models have chrF, too.
    """
    score = _panel_score(curves)
    heights = [COST_HEIGHT_INCHES, BLEU_HEIGHT_INCHES] if score else [COST_HEIGHT_INCHES]
    with default_style():
        figure = new_figure((WIDTH_INCHES, sum(heights)))
        grid = {"height_ratios": heights, "hspace": 0.08}
        panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw=grid)
        cost, lowest = panels[0, 0], panels[-1, 0]
        unit, name = _x_unit(curves, x_axis)
        for number, (model, curve) in enumerate(curves.items()):
            _draw_cost(cost, number, model, curve, x_axis, unit)
            if score:
                _draw_score(lowest, number, model, curve, score, x_axis, unit)
        cost.set_ylabel(COST_LABEL, fontfamily=FONT)
        if score:
            lowest.set_ylabel(f"dev {SCORES[score]}, %", fontfamily=FONT)
        for panel in panels[:, 0]:
            style_axes(panel)
        lowest.set_xlabel(name, fontfamily=FONT)
        draw_legend(cost, list(curves), cost.get_lines()[::2])
    return figure


def _draw_cost(
    axes: "Axes", number: int, model: str, curve: Curve, x_axis: XAxis, unit: float
) -> None:
    """Draw dev and training cost; the legend shows the dev line, so draw it even if empty."""
    style = curve_style(number, len(curve.validation))
    thin = {**style, "marker": "", "linewidth": 0.7}
    axes.plot(*_xy(curve.validation, x_axis, unit), **style, label=shorten_label(model))
    axes.plot(*_xy(curve.training, x_axis, unit), **thin)


def _xy(points: Sequence[Point], x_axis: XAxis, unit: float) -> tuple[list[float], list[float]]:
    return [_x_of(point, x_axis) / unit for point in points], [p.cost_per_token for p in points]


def _panel_score(curves: Mapping[str, Curve]) -> str:
    """Return the score of the lower panel; empty if no model was measured by any."""
    measured = [
        {name for name in SCORES for p in curve.validation if getattr(p, name) is not None}
        for curve in curves.values()
    ]
    names = set.intersection(*filter(None, measured)) if any(measured) else set[str]()
    return next((name for name in SCORES if name in names), "bleu" if any(measured) else "")


def _draw_score(
    axes: "Axes", number: int, model: str, curve: Curve, score: str, x_axis: XAxis, unit: float
) -> None:
    points = [point for point in curve.validation if getattr(point, score) is not None]
    xs = [_x_of(point, x_axis) / unit for point in points]
    figures = [getattr(point, score) for point in points]
    axes.plot(xs, figures, **curve_style(number, len(points)), label=shorten_label(model))


def _x_of(point: Point, x_axis: XAxis) -> float:
    return {"updates": point.update, "epochs": point.epoch, "seconds": point.seconds}[x_axis]


def _x_unit(curves: Mapping[str, Curve], x_axis: XAxis) -> tuple[float, str]:
    """Return the divisor that scales x values, and the label of the x axis."""
    if x_axis != "seconds":
        return 1.0, x_axis
    longest = max(
        point.seconds
        for c in curves.values()
        for points in (c.training, c.validation)
        for point in points
    )
    for min_seconds, unit, name in TIME_UNITS:
        if longest >= min_seconds:
            return unit, f"time of the training ({name})"
    return 1.0, "time of the training (seconds)"
