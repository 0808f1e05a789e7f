"""How curves are told apart.

Every system has its colour, its kind of line and its marks, so that it is found in grey print and
by the colour-blind, too; the colours are those of Okabe & Ito (2008), without the yellow, which
paper swallows.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nmtkit.report.figure_io import families, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
MARKED = 12  # places of a curve that have a mark
NARROW = 60  # characters in a row of the legend


def style_of(system: int, places: int) -> dict[str, Any]:
    """What matplotlib's `plot` is told of a curve.

    :param system: its number, from 0.
    :param places: points of the curve; about a dozen are marked.
    """
    return {
        "color": COLOURS[system % len(COLOURS)],
        "linestyle": LINES[system % len(LINES)],
        "marker": MARKS[system % len(MARKS)],
        "markersize": 4,
        "linewidth": 1.5,
        "markevery": max(1, math.ceil(places / MARKED)),
    }


def name_curves(
    axes: "Axes", names: Sequence[str], handles: Sequence["Line2D"], above: float = 0.0
) -> None:
    """A legend above the axes, where it hides no curve, in as many columns as fit; none for a
    single curve.

    :param handles: a line of each curve that is named.
    :param above: how far, as a share of the height of the axes.
    """
    if len(names) < 2:
        return
    shown = [label(name) for name in names]
    legend = axes.legend(
        handles,
        shown,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0 + above),
        ncols=min(len(names), max(1, NARROW // (max(map(len, shown)) + 8))),
        frameon=False,
        handlelength=3.5,
        fontsize=9,
    )
    fonts = families(names)
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_fontfamily(fonts)
