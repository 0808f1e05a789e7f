"""The pieces that a side of the training data has, in subword-nmt's format of vocabularies.

File: one `piece count` per line, by falling count. A subword model that is limited to them splits
every other piece again. So a model learned on both sides together produces no piece that a side
never had.
"""

from collections.abc import Mapping
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import open_output, read_lines
from nmtkit.io.safe_json import parse_natural


def read_pieces(path: str | Path) -> frozenset[str]:
    """Read a list of pieces.

    :raises DataError: the file cannot be read, or a line is not a piece and a count; the message
        names the line.
    """
    pieces = set()
    for number, line in enumerate(read_lines(VerbatimFile(path)), start=1):
        piece, _, count = line.rpartition(" ")
        if not piece or piece.split(" ") != [piece] or parse_natural(count) is None:
            raise DataError(f"{path}:{number}: expected a piece, a blank and a count, not {line!r}")
        pieces.add(piece)
    return frozenset(pieces)


def write_pieces(path: str | Path, counts: Mapping[str, int], threshold: int) -> None:
    """Write the list of the pieces that occur often enough.

    :param threshold: minimum count.
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    with open_output(path) as output:
        for piece, count in ranked:
            if count >= threshold:
                output.write(f"{piece} {count}\n")
