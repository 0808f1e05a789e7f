"""Alignment matrices as text with block characters, for a terminal."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtkit.columns import columns

SHADES = " ░▒▓█"
CELLS_PER_WORD = 2  # terminal cells of a column: square blocks, and room for a wide character
MAX_WORD_CELLS = 24  # cells of a target word, characters of a (vertical) source word


def render_alignment(
    src_words: Sequence[str],
    tgt_words: Sequence[str],
    matrix: ArrayLike,
    width: int | None = None,
) -> str:
    """Return an alignment matrix as text: a row per target word, a column per source word.

    Source words are written vertically above their columns. Darker blocks are larger weights:
    blank below 1/8, then one shade per quarter. Accents and wide characters do not break the
    columns.

    :param src_words: Source words, with `</s>` if the matrix has it.
    :param tgt_words: Target words, with `</s>` if the matrix has it.
    :param matrix: Weights from 0 to 1. Shape: [tgt_words, src_words].
    :param width: Width of the terminal in cells. A wider matrix is split into several, one
        below the other, each with the next source words. None: do not split.
    :return: Lines without a final newline; empty if either side has no words.
    :raises ValueError: The matrix does not have one row per target word and one column per
        source word.
    """
    weights = np.asarray(matrix, dtype=float)
    if weights.shape != (len(tgt_words), len(src_words)):
        raise ValueError(
            f"shape {weights.shape} for {len(tgt_words)} target and {len(src_words)} source words"
        )
    if not weights.size:
        return ""
    labels = _labels(
        tgt_words, MAX_WORD_CELLS if width is None else min(MAX_WORD_CELLS, max(4, width // 2))
    )
    step = len(src_words)
    if width is not None:
        step = max(1, (width - columns(labels[0]) - 2) // CELLS_PER_WORD)
    blocks = [
        _block(src_words[i : i + step], labels, weights[:, i : i + step])
        for i in range(0, len(src_words), step)
    ]
    return "\n\n".join(blocks)


def _block(src_words: Sequence[str], labels: Sequence[str], weights: NDArray[np.float64]) -> str:
    margin = " " * columns(labels[0])
    edge = "─" * (CELLS_PER_WORD * len(src_words))
    rows = [
        f"{label}│{''.join(_shade(weight) * CELLS_PER_WORD for weight in row)}│"
        for label, row in zip(labels, weights, strict=True)
    ]
    header = [f"{margin} {line}".rstrip() for line in _vertical_words(src_words)]
    return "\n".join([*header, f"{margin}┌{edge}┐", *rows, f"{margin}└{edge}┘"])


def _labels(words: Sequence[str], max_cells: int) -> list[str]:
    """Return the target words right-aligned to equal width, cut to `max_cells`."""
    texts = [_truncate(_characters(word), max_cells) for word in words]
    widest = max(columns(text) for text in texts)
    return [" " * (widest - columns(text)) + text for text in texts]


def _truncate(characters: Sequence[str], max_cells: int) -> str:
    if sum(map(columns, characters)) <= max_cells:
        return "".join(characters)
    shortened = list(characters)
    while sum(map(columns, shortened)) > max_cells - 1:
        shortened.pop()
    return "".join([*shortened, "…"])


def _vertical_words(words: Sequence[str]) -> list[str]:
    """Return lines that spell the source words vertically, aligned at the bottom."""
    spelled = [_characters(word) for word in words]
    height = max(map(len, spelled))
    spelled = [[" "] * (height - len(characters)) + characters for characters in spelled]
    return [
        "".join(character + " " * (CELLS_PER_WORD - columns(character)) for character in line)
        for line in zip(*spelled, strict=True)
    ]


def _characters(word: str) -> list[str]:
    """Split a word into characters of one or two cells, each with its combining accents.

    Characters that break the layout (line ends, control characters) become U+FFFD; characters
    without width that do not combine (soft hyphens, direction marks) are removed.
    """
    pieces: list[str] = []
    for character in word:
        category = unicodedata.category(character)
        if category in ("Cc", "Cs", "Zl", "Zp"):
            pieces.append("\N{REPLACEMENT CHARACTER}")
        elif category != "Cf" and columns(character):
            pieces.append(character)
        elif category != "Cf" and pieces:
            pieces[-1] += character
    return pieces if len(pieces) <= MAX_WORD_CELLS else [*pieces[: MAX_WORD_CELLS - 1], "…"]


def _shade(weight: float) -> str:
    return SHADES[round(min(max(weight, 0.0), 1.0) * (len(SHADES) - 1))]
