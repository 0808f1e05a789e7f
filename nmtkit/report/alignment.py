"""Pictures of alignments, drawn as figure 3 of Bahdanau et al. 2015."""

import contextlib
import io
import logging
import math
import os
import secrets
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

import numpy as np
from numpy.typing import ArrayLike

from nmtkit.errors import NmtkitError, OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

log = logging.getLogger("nmtkit")

FONT = "DejaVu Sans"  # comes with matplotlib: the same picture on every machine, with accents
CELL = 0.25  # inches, while the sentence is short
LONGEST_SIDE = 20.0  # inches; cells shrink beyond it
LARGEST_FONT, SMALLEST_FONT = 11.0, 4.0  # points
LONGEST_WORD = 40  # characters shown of a word
DOTS_PER_INCH = 150

# Nothing that changes from day to day or from run to run may enter a file.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
SETTINGS = {"svg.hashsalt": "nmtkit", "svg.fonttype": "path", "pdf.fonttype": 42}
NO_GLYPH = "Glyph .* missing from"


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
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in METADATA:
        raise OutputError(f"{path}: pictures are .png, .svg or .pdf; give a name that ends so")
    if path.exists() and not force:
        raise OutputError(f"{path}: exists already; use --force to replace it")
    figure = alignment_figure(src_words, tgt_words, matrix)
    _log_missing_glyphs([_label(word) for word in (*src_words, *tgt_words)])
    _write_whole(path, _rendered(figure, suffix))


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
    with _plain_settings():
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
    font: dict[str, Any] = {"fontsize": size, "fontfamily": FONT, "parse_math": False}
    columns, rows = range(0, len(src_words), every), range(0, len(tgt_words), every)
    axes.set_xticks(columns, [_label(src_words[i]) for i in columns], rotation=90, **font)
    axes.set_yticks(rows, [_label(tgt_words[i]) for i in rows], **font)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=3)


def _label(word: str) -> str:
    """The word, cut when very long; a control character, which no SVG may hold, is replaced."""
    word = "".join("\N{REPLACEMENT CHARACTER}" if category(c) == "Cc" else c for c in word)
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


@contextlib.contextmanager
def _plain_settings() -> Iterator[None]:
    """Matplotlib as it comes, whatever the user's matplotlibrc says, and only for this block."""
    try:
        import matplotlib.style
    except ImportError as error:
        raise NmtkitError(
            'pictures need matplotlib, which is not installed; run pip install "nmtkit[plots]"'
        ) from error
    with matplotlib.style.context(["default", SETTINGS]):
        yield


def _rendered(figure: "Figure", suffix: str) -> bytes:
    picture = io.BytesIO()
    with _plain_settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)  # said once, in our words
        figure.savefig(
            picture,
            format=suffix[1:],
            dpi=DOTS_PER_INCH,
            bbox_inches="tight",
            pad_inches=0.1,
            metadata=METADATA[suffix],
        )
    return picture.getvalue()


def _log_missing_glyphs(words: Sequence[str]) -> None:
    """Say which characters the font lacks, which the picture shows as boxes."""
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(FONT)).get_charmap()
    missing = sorted({c for word in words for c in word if ord(c) not in known})
    if missing:
        log.warning("the font %s has no picture of %s", FONT, " ".join(map(ascii, missing)))


def _write_whole(path: Path, content: bytes) -> None:
    """Write beside the name, then rename: what stands under the name is whole."""
    target = path.resolve()  # a symbolic link is written through, not replaced
    written = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(written, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(written, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        written.unlink(missing_ok=True)
