"""References of a test set: one per sentence or several, and their files.

multi-bleu.perl and mert-moses.pl take `ref` for `ref0`, `ref1` and so on if there is no file `ref`.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import cast

from nmtkit.errors import DataError, counted, refuse_string
from nmtkit.io.lines import read_parallel

log = logging.getLogger("nmtkit")

Lines = Sequence[str]
References = Lines | Sequence[Lines]
"""One line per sentence, or several lists of such lines, as sacreBLEU takes them."""

FILE_NAMES = ("the hypotheses", "the references")
"""Names of the two texts in error messages where the caller gives none."""


def reference_files(paths: Sequence[str]) -> list[str]:
    """Return the files of all references; `ref` stands for ref0, ref1, ... if it does not exist."""
    return [file for path in paths for file in _numbered(path)]


def read_references(paths: Sequence[str]) -> list[list[str]]:
    """Read all references: a list of lines for each file that `reference_files` finds.

    :raises DataError: a file cannot be read, or the files differ in length.
    """
    files = reference_files(paths)
    columns = list(zip(*read_parallel(*files), strict=True)) or [()] * len(files)
    return [list(column) for column in columns]


def references_by_sentence(references: References) -> list[tuple[str, ...]]:
    """Return the references of each sentence.

    :param references: one line per sentence, or several lists of lines.
    :raises DataError: the lists differ in length.
    """
    sets = reference_sets(references)
    if len({len(lines) for lines in sets}) > 1:
        counts = ", ".join(str(len(lines)) for lines in sets)
        raise DataError(
            f"the references have {counts} lines; give each sentence a line in all of them"
        )
    return list(zip(*sets, strict=True))


def reference_sets(references: References) -> tuple[Lines, ...]:
    """Return the lists of references: the given ones, or the only one.

    :raises TypeError: a string stands where a list of lines is expected.
    """
    refuse_string(references, "references")
    if len(references) == 0 or isinstance(references[0], str):  # also arrays of numpy
        return (cast(Lines, references),)
    for lines in references:
        refuse_string(lines, "references")
    return tuple(references)


def check_line_counts(
    hypotheses: Lines, references: References, names: Sequence[str] = FILE_NAMES
) -> None:
    """Check that every hypothesis has its references and that there is at least one.

    :param names: of the hypotheses and of each list of references.
    :raises DataError: there are no lines, or the numbers of lines differ.
    """
    sets = reference_sets(references)
    for number, lines in enumerate(sets, start=1):
        if len(hypotheses) != len(lines):
            name = names[number] if number < len(names) else f"{names[-1]} (list {number})"
            raise DataError(
                f"{counted(len(hypotheses), 'line')} in {names[0]} but {len(lines):,} in {name};"
                " give one hypothesis for each reference, in the same order"
            )
    if len(hypotheses) == 0:
        raise DataError(f"no lines in {' and '.join(names)}; give at least one")


def _numbered(path: str) -> Iterator[str]:
    files = []
    if path != "-" and not Path(path).exists():
        numbered = (f"{path}{number}" for number in count())
        files = list(takewhile(lambda file: Path(file).is_file(), numbered))
    if files:
        log.info("%s: reading %s", path, ", ".join(files))
    yield from files or [path]
