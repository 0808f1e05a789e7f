"""Figures of alignment matrices, as figure 3 of Bahdanau et al. 2015."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

CELL_INCHES = 0.25  # side of a cell, unless the sentence is long
MAX_SIDE_INCHES = 20.0  # cells shrink to keep the figure below it
MAX_FONT_POINTS, MIN_FONT_POINTS = 11.0, 4.0
LEGEND_GAP_INCHES, LEGEND_WIDTH_INCHES, LEGEND_LENGTH_INCHES = 0.15, 0.12, 1.0
MIN_LEGEND_POINTS = 8.0


def plot_alignment(
    path: str | Path,
    src_words: Sequence[str],
    tgt_words: Sequence[str],
    matrix: ArrayLike,
    force: bool = False,
) -> None:
    """Write the figure of `draw_alignment` to a file, complete or not at all.

    The same words and weights give the same bytes.

    :param path: Output file; its suffix selects the format: `.png`, `.svg` or `.pdf`.
    :param src_words: Source words, with `</s>` if the matrix has it.
    :param tgt_words: Target words, with `</s>` if the matrix has it.
    :param matrix: Weights from 0 to 1. Shape: [tgt_words, src_words].
    :param force: Replace an existing file.
    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The suffix is unknown, or the file exists or cannot be written.
    :raises ValueError: The matrix has another shape.
    """
    words = (*src_words, *tgt_words)
    draw = partial(draw_alignment, src_words, tgt_words, matrix)
    title = f"Attention weights of the translation: {' '.join(tgt_words)}"
    description = _strongest_links(src_words, tgt_words, np.asarray(matrix, dtype=float))
    write_figure(Path(path), draw, words, force, title, description)


def _strongest_links(
    src_words: Sequence[str], tgt_words: Sequence[str], weights: NDArray[np.float64]
) -> str:
    """Return the source word with the highest weight of each target word, as text.

    :return: Empty without words, or if the shape of the matrix is another.
    """
    if weights.shape != (len(tgt_words), len(src_words)) or not weights.size:
        return ""
    links = (
        f"{word} from {src_words[best]}, {row[best]:.2f}"
        for word, row, best in zip(tgt_words, weights, weights.argmax(axis=1), strict=True)
    )
    return f"Highest weight of each word: {'; '.join(links)}."


def draw_alignment(
    src_words: Sequence[str], tgt_words: Sequence[str], matrix: ArrayLike
) -> "Figure":
    """Draw the attention weights of each target word (Bahdanau et al. 2015, figure 3).

    Source words are above the matrix, target words at its left, from top to bottom; 0 is black,
    1 is white, as a bar at the right shows. Words appear literally, also `$` and `_`. The figure
    grows with the sentence up to `MAX_SIDE_INCHES`; beyond that cells shrink and some words are
    omitted.

    :param src_words: Source words, with `</s>` if the matrix has it.
    :param tgt_words: Target words, with `</s>` if the matrix has it.
    :param matrix: Weights from 0 to 1. Shape: [tgt_words, src_words].
    :return: A figure with one pair of axes, not managed by pyplot.
    :raises NmtkitError: Matplotlib is not installed.
    :raises ValueError: The matrix has another shape.
    """
    weights = np.asarray(matrix, dtype=float)
    if weights.shape != (len(tgt_words), len(src_words)):
        raise ValueError(
            f"shape {weights.shape} for {len(tgt_words)} target and {len(src_words)} source words"
        )
    with default_style():
        cell = min(CELL_INCHES, MAX_SIDE_INCHES / max(1, *weights.shape))  # inches
        size = (max(1, len(src_words)) * cell, max(1, len(tgt_words)) * cell)
        figure = new_figure(size)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))  # labels lie outside; saving includes them
        if weights.size:
            axes.imshow(weights, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            _draw_legend(axes, size)
        _draw_words(axes, src_words, tgt_words, cell * 72)
    return figure


def _draw_legend(axes: "Axes", size: tuple[float, float]) -> None:
    """Draw a bar of the weights' greys at the right.

    :param size: Width and height of the matrix in inches.
    """
    width, height = size
    gap, length = LEGEND_GAP_INCHES / width, min(1.0, LEGEND_LENGTH_INCHES / height)
    bar = axes.inset_axes((1 + gap, 0, LEGEND_WIDTH_INCHES / width, length))
    greys = np.linspace(0, 1, 64).reshape(-1, 1)
    bar.imshow(
        greys, cmap="gray", vmin=0, vmax=1, aspect="auto", origin="lower", extent=(0, 1, 0, 1)
    )
    bar.set_xticks([])
    bar.set_yticks([0, 1], ["0", "1"], fontsize=MIN_LEGEND_POINTS, fontfamily=FONT)
    bar.yaxis.tick_right()
    bar.tick_params(length=0, pad=2)
    bar.set_ylabel("weight", fontsize=MIN_LEGEND_POINTS, fontfamily=FONT)
    bar.yaxis.set_label_position("right")


def _draw_words(
    axes: "Axes", src_words: Sequence[str], tgt_words: Sequence[str], cell: float
) -> None:
    """Label columns and rows.

    :param cell: Side of a cell in points.
    """
    size = min(max(cell * 0.8, MIN_FONT_POINTS), MAX_FONT_POINTS)
    label_step = math.ceil(MIN_FONT_POINTS / (cell * 0.8))
    fonts = font_families([*src_words, *tgt_words])
    font: dict[str, Any] = {"fontsize": size, "fontfamily": fonts, "parse_math": False}
    columns, rows = range(0, len(src_words), label_step), range(0, len(tgt_words), label_step)
    axes.set_xticks(columns, [shorten_label(src_words[i]) for i in columns], rotation=90, **font)
    axes.set_yticks(rows, [shorten_label(tgt_words[i]) for i in rows], **font)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=3)
