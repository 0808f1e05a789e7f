"""Colours, line styles and markers of curves, and their legend.

Each system has its own colour, line style and marker, to be distinguishable in grey print and for
colour-blind readers. Colours are those of Okabe & Ito (2008), without yellow, darkened to a
contrast of 3:1 on paper and more. They are those of the HTML report (`--system-0` in page.css).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nmtkit.report.figure_io import font_families, shorten_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

COLOURS = ("#0072b2", "#c04a00", "#00795a", "#a8518a", "#1f1f1d", "#3a7ea8", "#8a6200")
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MAX_MARKERS = 12  # maximum number of markers on a curve
MAX_LEGEND_CHARACTERS = 60  # maximum width of a row of the legend


def curve_style(system: int, points: int) -> dict[str, Any]:
    """Return the keyword arguments for matplotlib's `plot` of a curve.

    :param system: Index of the system, from 0.
    :param points: Number of points of the curve; at most `MAX_MARKERS` have a marker.
    """
    return {
        "color": COLOURS[system % len(COLOURS)],
        "linestyle": LINE_STYLES[system % len(LINE_STYLES)],
        "marker": MARKERS[system % len(MARKERS)],
        "markersize": 4,
        "linewidth": 1.5,
        "markevery": max(1, math.ceil(points / MAX_MARKERS)),
    }


def style_axes(axes: "Axes") -> None:
    """Draw a light grid behind the curves, and no frame above and at the right."""
    axes.grid(visible=True, color="0.85", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def draw_legend(
    axes: "Axes", names: Sequence[str], handles: Sequence["Line2D"], above: float = 0.0
) -> None:
    """Draw a legend above the axes in as many columns as fit; none for a single curve.

    :param handles: One line for each name.
    :param above: Distance from the axes, as a share of their height.
    """
    if len(names) < 2:
        return
    labels = [shorten_label(name) for name in names]
    legend = axes.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0 + above),
        ncols=min(len(names), max(1, MAX_LEGEND_CHARACTERS // (max(map(len, labels)) + 8))),
        frameon=False,
        handlelength=3.5,
        fontsize=9,
    )
    fonts = font_families(names)
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_fontfamily(fonts)
