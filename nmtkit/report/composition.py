"""Pictures of what a grConv model makes of a sentence, drawn as figure 6 of Cho et al. 2014b."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtkit.report.figure_io import DOTS_PER_INCH, families, label, plain_settings, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Coefficients = Sequence[Sequence[Sequence[float]]]
"""Of each level from the lowest, of each node from the left: w_c, w_l, w_r."""

APART = 0.6  # inches between words
RISE = 0.45  # inches between levels
LONGEST_SIDE = 20.0  # inches; distances shrink beyond it
LEAST = 0.1  # what no edge is drawn for (the paper's)


def plot_structure(
    path: str | Path, words: Sequence[str], levels: Coefficients, force: bool = False
) -> None:
    """Write the picture of `structure_figure` to a file: whole, or not at all.

    :param path: the picture; its ending says which kind: `.png`, `.svg` or `.pdf`.
    :param force: replace a file that exists.
    :raises NmtkitError: matplotlib is not installed.
    :raises OutputError: the ending is another, the file exists or cannot be written.
    """
    write_picture(Path(path), lambda: structure_figure(words, levels), words, force)


def structure_figure(words: Sequence[str], levels: Coefficients) -> "Figure":
    """Draw the pyramid over a sentence.

    Each node stands above the middle of its two children. A line to a child shows how much of the
    node is that child, a disc how much is new, made of both; darker is more, and what is not above
    0.1 is not drawn.

    :param words: `</s>` among them.
    :param levels: one fewer than words.
    """
    with plain_settings():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        shrunk = min(1.0, LONGEST_SIDE / max(1.0, len(words) * APART))
        width, rise = len(words) * APART * shrunk, RISE * shrunk
        figure = Figure(figsize=(width, max(1, len(levels)) * rise), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        for level, nodes in enumerate(levels, start=1):
            for number, (new, left, right) in enumerate(nodes):
                x = number + level / 2
                for share, child in ((left, number), (right, number + 1)):
                    if share > LEAST:
                        below = child + (level - 1) / 2
                        axes.plot([below, x], [level - 1, level], color=_grey(share), linewidth=1.5)
                if new > LEAST:
                    axes.plot([x], [level], "o", color=_grey(new), markersize=5 * shrunk)
        font: dict[str, Any] = {"fontsize": 10 * shrunk, "fontfamily": families(words)}
        for place, word in enumerate(words):
            axes.text(
                place,
                -0.3,
                label(word),
                rotation=45,
                ha="right",
                va="top",
                parse_math=False,
                **font,
            )
        axes.set_xlim(-0.5, len(words) - 0.5)
        axes.set_ylim(-0.2, len(levels) + 0.2)
        axes.set_axis_off()
    return figure


def _grey(share: float) -> str:
    """From nearly white at `LEAST` to black at 1, as matplotlib names it."""
    return f"{0.9 * (1 - min(1.0, (share - LEAST) / (1 - LEAST))):.3f}"
