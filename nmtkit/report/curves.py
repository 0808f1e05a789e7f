"""Learning curves: what trainings told of themselves, drawn side by side and as a table.

Above stands the cost of a target token, of the dev set with marks, of the training data thin and
without; below, where it was measured, BLEU on the dev set.

The cost of training is the mean over the updates since the report before, of what the optimizer
minimises: with dropout, and smoothed where labels are. So it may lie above the dev cost.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmtkit.errors import DataError
from nmtkit.report.figure_io import (
    DOTS_PER_INCH,
    FONT,
    label,
    plain_settings,
    write_picture,
)
from nmtkit.report.styles import name_curves, style_of
from nmtkit.training.learning_curve import Curve, TrainingPoint, ValidationPoint, read_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Along = Literal["updates", "epochs", "seconds"]
Point = TrainingPoint | ValidationPoint

WIDTH, COST_HEIGHT, BLEU_HEIGHT = 6.0, 3.0, 2.2  # inches
COST = "cost per token\n(marked: dev, thin: training)"
UNITS = ((7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))  # from so many seconds on
HEADER = ("model", "kind", "update", "epoch", "seconds", "cost_per_token", "bleu", "best")


def read_curves(folders: Sequence[str | Path]) -> dict[str, Curve]:
    """The curves of model folders, by the folders' names, or their paths where two are named alike.

    :raises ModelError: a folder has none.
    :raises DataError: one is damaged, has no figures yet, or is given twice.
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
            raise DataError(f"{name}: its training has told nothing yet; let it go on")
    return curves


def table_of(curves: Mapping[str, Curve]) -> Iterator[str]:
    """The points of all curves as lines with tabs between the cells, a header first; of each model
    in the order of updates. Costs are natural log; what was not measured is empty."""
    yield "\t".join(HEADER)
    for name, curve in curves.items():
        points: list[Point] = [*curve.training, *curve.validation]
        for point in sorted(points, key=lambda point: point.update):
            yield "\t".join((name.replace("\t", " "), *_cells(point)))


def _cells(point: Point) -> Iterator[str]:
    validation = isinstance(point, ValidationPoint)
    yield "validation" if validation else "training"
    yield from (f"{point.update}", f"{point.epoch:g}", f"{point.seconds:g}")
    yield f"{point.cost_per_token:g}"
    yield f"{point.bleu:g}" if isinstance(point, ValidationPoint) and point.bleu is not None else ""
    yield str(int(point.best)) if isinstance(point, ValidationPoint) else ""


def plot_curves(
    path: str | Path, curves: Mapping[str, Curve], along: Along, force: bool = False
) -> None:
    """Write the picture of `curves_figure` to a file: whole, or not at all.

    :param path: its ending says which kind of picture: `.png`, `.svg` or `.pdf`.
    :raises NmtkitError: matplotlib is not installed.
    :raises OutputError: the ending is another, the file exists or cannot be written.
    """
    write_picture(Path(path), lambda: curves_figure(curves, along), list(curves), force)


def curves_figure(curves: Mapping[str, Curve], along: Along) -> "Figure":
    """Draw the learning curves of several models.

    :param along: what stands along x.
    :return: a figure with axes for the cost and, where any model has it, for BLEU below.
    """
    measured = any(point.bleu is not None for c in curves.values() for point in c.validation)
    heights = [COST_HEIGHT, BLEU_HEIGHT] if measured else [COST_HEIGHT]
    with plain_settings():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, sum(heights)), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        grid = {"height_ratios": heights, "hspace": 0.08}
        panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw=grid)
        cost, lowest = panels[0, 0], panels[-1, 0]
        unit, name = _unit(curves, along)
        for number, (model, curve) in enumerate(curves.items()):
            _draw_cost(cost, number, model, curve, along, unit)
            if measured:
                _draw_bleu(lowest, number, curve, along, unit)
        _describe(cost, COST)
        if measured:
            _describe(lowest, "dev BLEU, %")
        lowest.set_xlabel(name, fontfamily=FONT)
        name_curves(cost, list(curves), cost.get_lines()[::2])
    return figure


def _draw_cost(
    axes: "Axes", number: int, model: str, curve: Curve, along: Along, unit: float
) -> None:
    """Both lines, the first also where it has no points: it is the one that the legend shows."""
    style = style_of(number, len(curve.validation))
    thin = {**style, "marker": "", "linewidth": 0.7}
    axes.plot(*_xy(curve.validation, along, unit), **style, label=label(model))
    axes.plot(*_xy(curve.training, along, unit), **thin)


def _xy(points: Sequence[Point], along: Along, unit: float) -> tuple[list[float], list[float]]:
    return [_place(point, along) / unit for point in points], [p.cost_per_token for p in points]


def _draw_bleu(axes: "Axes", number: int, curve: Curve, along: Along, unit: float) -> None:
    points = [(point, point.bleu) for point in curve.validation if point.bleu is not None]
    xs = [_place(point, along) / unit for point, _ in points]
    axes.plot(xs, [bleu for _, bleu in points], **style_of(number, len(points)))


def _describe(axes: "Axes", name: str) -> None:
    axes.set_ylabel(name, fontfamily=FONT)
    axes.grid(visible=True, color="0.85", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _place(point: Point, along: Along) -> float:
    return {"updates": point.update, "epochs": point.epoch, "seconds": point.seconds}[along]


def _unit(curves: Mapping[str, Curve], along: Along) -> tuple[float, str]:
    """What one along x is, in what the points have, and what it is called."""
    if along != "seconds":
        return 1.0, along
    longest = max(
        point.seconds
        for c in curves.values()
        for points in (c.training, c.validation)
        for point in points
    )
    for least, unit, name in UNITS:
        if longest >= least:
            return unit, f"time in updates ({name})"
    return 1.0, "time in updates (seconds)"
