"""Alignments drawn with block characters, for a terminal."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

SHADES = " ░▒▓█"
COLUMN = 2  # cells of a source word: as wide as high, and room for a wide character
LONGEST = 24  # characters shown of a word that stands upright, cells of one that lies


def draw_alignment(
    src_words: Sequence[str],
    tgt_words: Sequence[str],
    matrix: ArrayLike,
    width: int | None = None,
) -> str:
    """Draw how much each target word (a row) owes to each source word (a column).

    Source words stand upright above their columns. The darker the block, the greater the
    weight: nothing below 1/8, then a shade for each quarter. Columns stay in line whatever
    accents or wide characters the words have.

    :param src_words: Words of the source, `</s>` among them where the matrix has it.
    :param tgt_words: Words of the target, likewise.
    :param matrix: Weights from 0 to 1. Shape: [tgt_words, src_words].
    :param width: Cells of a terminal line. A drawing that is wider is cut into several, one
        below the other, each with the next source words. None: as wide as it is.
    :return: Lines without a final newline; empty where either side has no words.
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
    labels = _labels(tgt_words, LONGEST if width is None else min(LONGEST, max(4, width // 2)))
    step = len(src_words)
    if width is not None:
        step = max(1, (width - _cells(labels[0]) - 2) // COLUMN)
    blocks = [
        _block(src_words[i : i + step], labels, weights[:, i : i + step])
        for i in range(0, len(src_words), step)
    ]
    return "\n\n".join(blocks)


def _block(src_words: Sequence[str], labels: Sequence[str], weights: NDArray[np.float64]) -> str:
    margin = " " * _cells(labels[0])
    edge = "─" * (COLUMN * len(src_words))
    rows = [
        f"{label}│{''.join(_shade(weight) * COLUMN for weight in row)}│"
        for label, row in zip(labels, weights, strict=True)
    ]
    header = [f"{margin} {line}".rstrip() for line in _upright(src_words)]
    return "\n".join([*header, f"{margin}┌{edge}┐", *rows, f"{margin}└{edge}┘"])


def _labels(words: Sequence[str], room: int) -> list[str]:
    """The target words, filled with spaces on the left to the same number of cells, cut to `room`
    of these."""
    texts = [_cut(_characters(word), room) for word in words]
    widest = max(_cells(text) for text in texts)
    return [" " * (widest - _cells(text)) + text for text in texts]


def _cut(characters: Sequence[str], room: int) -> str:
    if sum(map(_cells, characters)) <= room:
        return "".join(characters)
    kept = list(characters)
    while sum(map(_cells, kept)) > room - 1:
        kept.pop()
    return "".join([*kept, "…"])


def _upright(words: Sequence[str]) -> list[str]:
    """The source words from top to bottom, their last characters on the last line."""
    columns = [_characters(word) for word in words]
    height = max(len(column) for column in columns)
    columns = [[" "] * (height - len(column)) + column for column in columns]
    return [
        "".join(character + " " * (COLUMN - _cells(character)) for character in line)
        for line in zip(*columns, strict=True)
    ]


def _characters(word: str) -> list[str]:
    """What fills one or two cells each: a character with the accents that combine with it.

    What would break the drawing (line ends, escape sequences) is replaced, what has no width and
    does not combine (soft hyphens, marks of direction) left out.
    """
    found: list[str] = []
    for character in word:
        category = unicodedata.category(character)
        if category in ("Mn", "Me") and found:
            found[-1] += character
        elif category in ("Cc", "Cs", "Zl", "Zp"):
            found.append("\N{REPLACEMENT CHARACTER}")
        elif category not in ("Cf", "Mn", "Me"):
            found.append(character)
    return found if len(found) <= LONGEST else [*found[: LONGEST - 1], "…"]


def _cells(text: str) -> int:
    """The width in a terminal of text that `_characters` let through."""
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me")
        else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _shade(weight: float) -> str:
    return SHADES[round(min(max(weight, 0.0), 1.0) * (len(SHADES) - 1))]
