"""Files of vectors: one text and its vector per line, separated by tabs.

    house<TAB>0.125<TAB>-1.5<TAB>0.0625

There is no header. Numbers have seven significant digits, the precision of float32. A tab in a text
is replaced by a blank.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.io.lines import read_lines

_LINE_FORMAT = "a line is a text and numbers, separated by tabs"

MAX_NUMBER = 1e15
"""Maximum absolute value of a number, so that squared distances are exact enough in float32."""

Vectors = NDArray[np.float64]
"""One row for each text. Shape: [texts, size]."""


def write_vectors(file: TextIO, vectors: Iterable[tuple[str, Sequence[float]]]) -> int:
    """Write texts with their vectors; return the number of lines."""
    count = 0
    for text, numbers in vectors:
        fields = [text.replace("\t", " "), *(f"{number:.7g}" for number in numbers)]
        file.write("\t".join(fields) + "\n")
        count += 1
    return count


def read_vectors(path: str | Path) -> tuple[list[str], Vectors]:
    """Read the texts and the vectors of a file.

    :param path: a file, plain or compressed, or `-`.
    :raises DataError: the file cannot be read or is empty, or a vector has values that are not
        finite numbers, or another size than the first.
    """
    texts: list[str] = []
    rows: list[NDArray[np.float64]] = []
    for number, line in enumerate(read_lines(path), start=1):
        text, *fields = line.split("\t")
        row = _parse_vector(fields, f"{path}:{number}")
        if rows and len(row) != len(rows[0]):
            raise DataError(
                f"{path}:{number}: a vector of {len(row)} numbers, but the first has"
                f" {len(rows[0])}; use vectors of one model"
            )
        texts.append(text)
        rows.append(row)
    if not rows:
        raise DataError(f"{path}: has no vectors; 'nmtkit embed' writes them")
    return texts, np.stack(rows)


def _parse_vector(fields: Sequence[str], where: str) -> NDArray[np.float64]:
    try:
        row = np.array([float(field) for field in fields])
    except ValueError as error:
        raise DataError(f"{where}: {error}; {_LINE_FORMAT}") from error
    if not len(row):
        raise DataError(f"{where}: no numbers; {_LINE_FORMAT}")
    if not (np.abs(row) <= MAX_NUMBER).all():
        raise DataError(
            f"{where}: a number that is not finite, or above {MAX_NUMBER:g}; the model's training"
            " diverged"
        )
    return row
