"""Figures of measurements: panels with one line per series."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timing import Spread, report_progress

from nmtkit.report.figure_text import describe_lines, label_svg
from nmtkit.report.styles import curve_style

PANEL_SIZE = (4.2, 3.4)  # inches
COLUMNS = 3
MOST_TICKS = 8
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "nmtkit", "font.size": 9}


@dataclass(frozen=True)
class Panel:
    """One plot.

    lines: points (x, y) by name; expected: the points predicted for each name, drawn as a dotted
    line in the same colour; ticks: values that a logarithmic x axis shows beside the measured ones.
    """

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Sequence[tuple[float, Spread]]]
    expected: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    logarithmic: str = ""  # axes: "x", "xy" or none
    ticks: Sequence[float] = ()


def draw(path: Path, panels: Sequence[Panel], title: str) -> None:
    """Write the panels, `COLUMNS` per row, in the format of the path's suffix.

    Without matplotlib, log that and write nothing.

    :param title: What the figure shows; screen readers read it aloud from SVG.
    """
    try:
        import matplotlib
    except ImportError:
        report_progress(f"{path} is skipped: matplotlib is not installed")
        return
    with matplotlib.rc_context(SETTINGS):
        figure = figure_of(panels)
        path.parent.mkdir(parents=True, exist_ok=True)
        is_svg = path.suffix == ".svg"
        metadata = {"Date": None, "Creator": None} if is_svg else None
        figure.savefig(path, metadata=metadata)
    if is_svg:
        path.write_bytes(label_svg(path.read_bytes(), title, describe_lines(figure)))


def figure_of(panels: Sequence[Panel]) -> Any:
    """Return a matplotlib figure of the panels, with one legend."""
    from matplotlib.figure import Figure

    columns = min(COLUMNS if len(panels) != 4 else 2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(PANEL_SIZE[0] * columns, PANEL_SIZE[1] * rows), layout="constrained")
    systems = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    for number, panel in enumerate(panels, start=1):
        _fill(figure.add_subplot(rows, columns, number), panel, systems)
    _add_legend(figure)
    return figure


def _fill(axes: Any, panel: Panel, systems: Sequence[str]) -> None:
    """Draw the panel; a system has the style of its place among all `systems`."""
    for name, points in panel.lines.items():
        across = [x for x, _ in points]
        spreads = [spread for _, spread in points]
        style = curve_style(systems.index(name), len(points))
        axes.plot(across, [spread.median for spread in spreads], **style, label=name)
        ends = [spread.low for spread in spreads], [spread.high for spread in spreads]
        axes.fill_between(across, *ends, color=style["color"], alpha=0.15, linewidth=0)
        dotted = panel.expected.get(name, ())
        axes.plot([x for x, _ in dotted], [y for _, y in dotted], ":", color=style["color"])
    for axis, scale, limit in (
        ("x", axes.set_xscale, axes.set_xlim),
        ("y", axes.set_yscale, axes.set_ylim),
    ):
        if axis in panel.logarithmic:
            scale("log")
            (axes.xaxis if axis == "x" else axes.yaxis).set_major_formatter(_plain_number)
            _label_few_values(axes, axis, panel)
        else:
            limit(0, 1.05 * (axes.dataLim.x1 if axis == "x" else axes.dataLim.y1) or 1)
            axes.locator_params(axis=axis, nbins=6)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _add_legend(figure: Any) -> None:
    """Name the systems of all panels once, below them."""
    lines: dict[str, Any] = {}
    for axes in figure.axes:
        lines.update(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if len(lines) > 1:
        columns = 2 if len(lines) > 4 else len(lines)
        figure.legend(
            lines.values(), lines, loc="outside lower center", ncols=columns, frameon=False
        )


def _label_few_values(axes: Any, axis: str, panel: Panel) -> None:
    """Put the ticks of a logarithmic x axis at the measured values, if these are few."""
    values = sorted({x for points in panel.lines.values() for x, _ in points} | set(panel.ticks))
    if axis == "x" and len(values) <= MOST_TICKS:
        axes.set_xticks(values)
        axes.minorticks_off()
        axes.set_xlim(values[0] / 1.15, values[-1] * 1.15)


def _plain_number(value: float, _: int) -> str:
    """Return the label of a tick as text without exponents, which can be searched and read."""
    return f"{value:,.10g}"
