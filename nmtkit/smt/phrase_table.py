"""Moses's phrase tables as text, read as a stream: one phrase pair a line, of any number of lines.

    source phrase ||| target phrase ||| scores ||| alignment ||| counts ||| ...

Fields stand between ` ||| `; the last may be empty, when the line ends with ` |||`. A line is kept
as the bytes of its fields, so that it can be written again, changed or not, with every other byte
as it was. What comes after the scores is looked at by those alone who ask for it. Lines with the
same source phrase stand together, as Moses sorts its tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.lines import decode_line, read_raw_lines

_BAR = b" ||| "
_NEEDED = ("source phrase", "target phrase", "scores")
_FORM = "a line of a phrase table is 'source ||| target ||| scores ||| ...'"


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """One line of a phrase table.

    fields: its bytes, cut at ` ||| `; that after the last field is a blank which the line lacks.
    src, tgt: the phrases as text, words with blanks between them.
    path, number: the file and the line, from 1, for messages.
    """

    fields: tuple[bytes, ...]
    src: str
    tgt: str
    path: str
    number: int

    @property
    def where(self) -> str:
        """File and line, for a message."""
        return f"{self.path}:{self.number}"

    @property
    def scores(self) -> list[bytes]:
        """The numbers of the third field, as they are written."""
        return self.fields[2].split()

    @property
    def counts(self) -> list[bytes]:
        """The numbers of the fifth field; none where the line has no such field.

        Moses writes how often it extracted the target phrase, the source phrase, and both together:
        without smoothing p(target | source) is the third over the second. The alignment before them
        may be empty, ` ||| ||| `, so that here, as in Moses, bars need no blanks.
        """
        rest = _BAR.join(self.fields[3:]).split(b"|||")
        return rest[1].split() if len(rest) > 1 else []

    def line(self) -> bytes:
        """The line as it was read, without its newline."""
        return _BAR.join(self.fields)[:-1]

    def with_scores(self, values: Sequence[str]) -> bytes:
        """The line with more scores behind those that it has."""
        scores = self.fields[2]
        end = len(scores.rstrip())
        more = " ".join(["", *values]).encode()
        fields = (*self.fields[:2], scores[:end] + more + scores[end:], *self.fields[3:])
        return _BAR.join(fields)[:-1]


def read_phrase_table(path: str | Path) -> Iterator[PhrasePair]:
    """The phrase pairs of a table, in its order.

    :param path: a file, a gzip file whose name ends in `.gz`, or `-`.
    :raises DataError: it cannot be read, or a line is not UTF-8 or lacks one of the first three
        fields.
    """
    name = str(path)
    for number, line in enumerate(read_raw_lines(path), start=1):
        decode_line(line, path, number)
        fields = _fields(line, path, number)
        yield PhrasePair(tuple(fields), fields[0].decode(), fields[1].decode(), name, number)


def read_phrase_blocks(
    size: int, path: str | Path, any_bytes: bool = False
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The next `size` source phrases and their target phrases, then the next, until the last.

    :param any_bytes: lines that are not UTF-8 are given, too.
    :raises DataError: as `read_phrase_table`.
    """
    sources: list[bytes] = []
    targets: list[bytes] = []
    for number, line in enumerate(read_raw_lines(path), start=1):
        if not any_bytes:
            decode_line(line, path, number)
        source, target, *_ = _fields(line, path, number)
        sources.append(source)
        targets.append(target)
        if len(sources) == size:
            yield sources, targets
            sources, targets = [], []
    if sources:
        yield sources, targets


def _fields(line: bytes, path: str | Path, number: int) -> list[bytes]:
    """The fields of a line; see `PhrasePair`."""
    fields = (line + b" ").split(_BAR)  # so that ` |||` at the end of a line ends a field, too
    if len(fields) < len(_NEEDED):
        raise DataError(
            f"{path}:{number}: {len(fields)} fields between ' ||| ', but at least"
            f" {len(_NEEDED)} are needed; {_FORM}"
        )
    for name, field in zip(_NEEDED, fields, strict=False):
        if not field.strip() or field.startswith(b"|||"):  # a bar that follows another at once
            told = "there are no scores" if name == "scores" else f"the {name} is empty"
            raise DataError(f"{path}:{number}: {told}; {_FORM}")
    for score in fields[2].split():
        if not _is_number(score):
            text = score.decode(errors="replace")
            raise DataError(f"{path}:{number}: the score '{text}' is no number; {_FORM}")
    return fields


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
