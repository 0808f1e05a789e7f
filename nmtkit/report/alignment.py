"""Pictures of alignments, drawn as figure 3 of Bahdanau et al. 2015."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nmtkit.report.figure_io import DOTS_PER_INCH, families, label, plain_settings, write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.25  # inches, while the sentence is short
LONGEST_SIDE = 20.0  # inches; cells shrink beyond it
LARGEST_FONT, SMALLEST_FONT = 11.0, 4.0  # points


def plot_alignment(
    path: str | Path,
    src_words: Sequence[str],
    tgt_words: Sequence[str],
    matrix: ArrayLike,
    force: bool = False,
) -> None:
    """Write the picture of `alignment_figure` to a file: whole, or not at all.

    The same words and weights give the same bytes.

    :param path: The picture; its ending says which kind: `.png`, `.svg` or `.pdf`.
    :param src_words: Words of the source, `</s>` among them where the matrix has it.
    :param tgt_words: Words of the target, likewise.
    :param matrix: Weights from 0 to 1. Shape: [tgt_words, src_words].
    :param force: Replace a file that exists.
    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The ending is another, the file exists or cannot be written.
    :raises ValueError: The matrix has another shape.
    """
    words = (*src_words, *tgt_words)
    write_picture(Path(path), lambda: alignment_figure(src_words, tgt_words, matrix), words, force)


def alignment_figure(
    src_words: Sequence[str], tgt_words: Sequence[str], matrix: ArrayLike
) -> "Figure":
    """Draw how much each target word owes to each source word (Bahdanau et al. 2015, figure 3).

    Source words stand along x, above the matrix, target words along y from top to bottom; a
    weight of 0 is black, 1 is white. Words are shown letter for letter, `$` and `_` as well.
    Sides grow with the sentence up to a bound, beyond which cells shrink, and then not every
    word is written.

    :param src_words: Words of the source, `</s>` among them where the matrix has it.
    :param tgt_words: Words of the target, likewise.
    :param matrix: Weights from 0 to 1. Shape: [tgt_words, src_words].
    :return: A figure with one pair of axes, which no other part of matplotlib knows of.
    :raises NmtkitError: Matplotlib is not installed.
    :raises ValueError: The matrix has another shape.
    """
    weights = np.asarray(matrix, dtype=float)
    if weights.shape != (len(tgt_words), len(src_words)):
        raise ValueError(
            f"shape {weights.shape} for {len(tgt_words)} target and {len(src_words)} source words"
        )
    with plain_settings():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        cell = min(CELL, LONGEST_SIDE / max(1, *weights.shape))  # inches
        size = (max(1, len(src_words)) * cell, max(1, len(tgt_words)) * cell)
        figure = Figure(figsize=size, dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))  # words stand outside: saved with them
        if weights.size:
            axes.imshow(weights, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        _write_words(axes, src_words, tgt_words, cell * 72)
    return figure


def _write_words(
    axes: "Axes", src_words: Sequence[str], tgt_words: Sequence[str], cell: float
) -> None:
    """Label the columns and rows; `cell` is their height and width in points."""
    size = min(max(cell * 0.8, SMALLEST_FONT), LARGEST_FONT)
    every = math.ceil(SMALLEST_FONT / (cell * 0.8))
    fonts = families([*src_words, *tgt_words])
    font: dict[str, Any] = {"fontsize": size, "fontfamily": fonts, "parse_math": False}
    columns, rows = range(0, len(src_words), every), range(0, len(tgt_words), every)
    axes.set_xticks(columns, [label(src_words[i]) for i in columns], rotation=90, **font)
    axes.set_yticks(rows, [label(tgt_words[i]) for i in rows], **font)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=3)
