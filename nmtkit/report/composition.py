"""Figures of a grConv model's gates over a sentence, as figure 6 of Cho et al. 2014b."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtkit.report.figure_io import (
    FONT,
    default_style,
    font_families,
    new_figure,
    shorten_label,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GatingCoefficients = Sequence[Sequence[Sequence[float]]]
"""For each level from the lowest, each node from the left: w_c, w_l, w_r."""

WORD_SPACING_INCHES = 0.6
LEVEL_HEIGHT_INCHES = 0.45
MAX_WIDTH_INCHES = 20.0  # larger figures are scaled down
LEGEND_WEIGHTS = (0.2, 0.6, 1.0)
LEGEND_GAP_INCHES, LEGEND_POINTS = 0.1, 8.0
MIN_DRAWN_WEIGHT = 0.1  # smaller coefficients are not drawn (as in the paper)
DESCRIPTION = (
    "A pyramid of nodes over the words, each above the middle of its two children. The darker a"
    " line, the more a node takes from that child; the darker a disc, the more is new."
)


def plot_composition(
    path: str | Path, words: Sequence[str], levels: GatingCoefficients, force: bool = False
) -> None:
    """Write the figure of `draw_composition` to a file, complete or not at all.

    :param path: Output file; its suffix selects the format: `.png`, `.svg` or `.pdf`.
    :param force: Replace an existing file.
    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The suffix is unknown, or the file exists or cannot be written.
    """
    title = f"Gates of a grConv model over the sentence: {' '.join(words)}"
    write_figure(
        Path(path), lambda: draw_composition(words, levels), words, force, title, DESCRIPTION
    )


def draw_composition(words: Sequence[str], levels: GatingCoefficients) -> "Figure":
    """Draw the pyramid of nodes over a sentence.

    Each node stands above the middle of its two children. A line to a child shows the weight of
    that child (w_l, w_r), a disc the weight of the new activation (w_c). Darker is larger; weights
    up to `MIN_DRAWN_WEIGHT` are not drawn. A legend above says so.

    :param words: Words of the sentence, with `</s>`.
    :param levels: One level fewer than words.
    """
    with default_style():
        scale = min(1.0, MAX_WIDTH_INCHES / max(1.0, len(words) * WORD_SPACING_INCHES))
        width = len(words) * WORD_SPACING_INCHES * scale
        height = max(1, len(levels)) * (LEVEL_HEIGHT_INCHES * scale)
        figure = new_figure((width, height))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        for level, nodes in enumerate(levels, start=1):
            for index, weights in enumerate(nodes):
                _draw_node(axes, level, index, weights, scale)
        _draw_words(axes, words, scale)
        _draw_legend(axes, (width, height))
        axes.set_xlim(-0.5, len(words) - 0.5)
        axes.set_ylim(-0.2, len(levels) + 0.2)
        axes.set_axis_off()
    return figure


def _draw_node(
    axes: "Axes", level: int, index: int, weights: Sequence[float], scale: float
) -> None:
    """Draw a node and the lines to its children on the level below."""
    new_weight, left, right = weights
    x = index + level / 2
    for weight, child in ((left, index), (right, index + 1)):
        if weight > MIN_DRAWN_WEIGHT:
            child_x = child + (level - 1) / 2
            axes.plot([child_x, x], [level - 1, level], color=_grey(weight), linewidth=1.5)
    if new_weight > MIN_DRAWN_WEIGHT:
        axes.plot([x], [level], "o", color=_grey(new_weight), markersize=5 * scale)


def _draw_words(axes: "Axes", words: Sequence[str], scale: float) -> None:
    """Write the words below the pyramid."""
    font: dict[str, Any] = {"fontsize": 10 * scale, "fontfamily": font_families(words)}
    style: dict[str, Any] = {"rotation": 45, "ha": "right", "va": "top", "parse_math": False}
    for x, word in enumerate(words):
        axes.text(x, -0.3, shorten_label(word), **style, **font)


def _draw_legend(axes: "Axes", size: tuple[float, float]) -> None:
    """Draw the greys of three weights above the pyramid, as lines and as discs.

    :param size: Width and height of the pyramid in inches.
    """
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_grey(weight), marker="o", markersize=5, linewidth=1.5)
        for weight in LEGEND_WEIGHTS
    ]
    legend = axes.legend(
        handles,
        [f"{weight:g}" for weight in LEGEND_WEIGHTS],
        title="line: share of a child, disc: of the new activation",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0 + LEGEND_GAP_INCHES / size[1]),
        ncols=len(LEGEND_WEIGHTS),
        frameon=False,
        borderaxespad=0,
        prop={"family": FONT, "size": LEGEND_POINTS},
        title_fontproperties={"family": FONT, "size": LEGEND_POINTS},
        alignment="left",
    )
    legend.set_zorder(0)


def _grey(weight: float) -> str:
    """Return matplotlib's name of a grey: almost white at `MIN_DRAWN_WEIGHT`, black at 1."""
    share = (weight - MIN_DRAWN_WEIGHT) / (1 - MIN_DRAWN_WEIGHT)
    return f"{0.9 * (1 - min(1.0, share)):.3f}"
