"""Files of references: one, several, or the numbered files that Moses's scripts read.

multi-bleu.perl and mert-moses.pl take `ref` for `ref0`, `ref1` and so on if there is no file `ref`.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.evaluation.metrics import References, reference_sets
from nmtkit.io.lines import read_parallel

log = logging.getLogger("nmtkit")


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


def _numbered(path: str) -> Iterator[str]:
    files = []
    if path != "-" and not Path(path).exists():
        numbered = (f"{path}{number}" for number in count())
        files = list(takewhile(lambda file: Path(file).is_file(), numbered))
    if files:
        log.info("%s: reading %s", path, ", ".join(files))
    yield from files or [path]
