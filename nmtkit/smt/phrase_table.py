"""Phrase tables of Moses in text form, read as a stream: one phrase pair per line.

    source phrase ||| target phrase ||| scores ||| alignment ||| counts ||| ...

Fields are separated by ` ||| `; the last is empty if the line ends with ` |||`. A line is kept as
the bytes of its fields, so that unchanged fields are written back byte for byte. Fields
after the scores are parsed only on request. Lines with the same source phrase are consecutive, as
Moses sorts its tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmtkit.errors import DataError, counted
from nmtkit.io.inputs import Source
from nmtkit.io.lines import decode_line, read_raw_lines
from nmtkit.smt.numbers import MAX_NUMBER

_BAR = b" ||| "
_REQUIRED = ("source phrase", "target phrase", "scores")
_FORMAT = "a line of a phrase table is 'source ||| target ||| scores ||| ...'"


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """One line of a phrase table.

    fields: bytes of the line split at ` ||| `; the last field ends with an additional blank.
    src, tgt: the phrases, words separated by blanks.
    path, number: file and line number, from 1, for messages.
    """

    fields: tuple[bytes, ...]
    src: str
    tgt: str
    path: str
    number: int

    @property
    def location(self) -> str:
        """FILE:LINE, for messages."""
        return f"{self.path}:{self.number}"

    @property
    def scores(self) -> list[bytes]:
        """Numbers of the third field, as text."""
        return self.fields[2].split()

    @property
    def counts(self) -> list[bytes]:
        """Numbers of the fifth field; empty if the line has no such field.

        They are Moses's counts of the target phrase, of the source phrase, and of the pair: without
        smoothing p(target | source) is the third divided by the second. The alignment before them
        can be empty, ` ||| ||| `; therefore the bars here need no blanks around them, as in Moses.
        """
        return self._field_after_scores(1)

    @property
    def links(self) -> list[bytes]:
        """Word alignment in the fourth field, such as `0-0 1-2`; may be empty."""
        return self._field_after_scores(0)

    def _field_after_scores(self, index: int) -> list[bytes]:
        rest = _BAR.join(self.fields[3:]).split(b"|||")
        return rest[index].split() if len(rest) > index else []

    def with_scores(self, values: Sequence[str]) -> bytes:
        """Return the line with more scores after its own."""
        scores = self.fields[2]
        end = len(scores.rstrip())
        more = " ".join(["", *values]).encode()
        fields = (*self.fields[:2], scores[:end] + more + scores[end:], *self.fields[3:])
        return _BAR.join(fields)[:-1]


def read_phrase_table(path: Source) -> Iterator[PhrasePair]:
    """Yield the phrase pairs of a table in order.

    :param path: a file, plain or compressed, or `-`.
    :raises DataError: the file cannot be read, or a line is not UTF-8 or lacks one of the first
        three fields.
    """
    for number, line in enumerate(read_raw_lines(path), start=1):
        yield parse(line, path, number)


def parse(line: bytes, path: Source = "the table", number: int = 1) -> PhrasePair:
    """Parse one line.

    :param path, number: file and line number, for messages.
    :raises DataError: the line is not UTF-8 or lacks one of the first three fields.
    """
    decode_line(line, path, number)
    fields = _fields(line, path, number)
    return PhrasePair(tuple(fields), fields[0].decode(), fields[1].decode(), str(path), number)


def read_phrase_blocks(
    size: int, path: Source, any_bytes: bool = False
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield the source phrases and the target phrases of `size` lines at a time.

    :param any_bytes: accept lines that are not UTF-8.
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


def _fields(line: bytes, path: Source, number: int) -> list[bytes]:
    """Split and check the fields of a line, see `PhrasePair`."""
    fields = (line + b" ").split(_BAR)  # ` |||` at the end of the line separates, too
    if len(fields) < len(_REQUIRED):
        raise DataError(
            f"{path}:{number}: {counted(len(fields), 'field')} between ' ||| ', but at least"
            f" {len(_REQUIRED)} are needed; {_FORMAT}"
        )
    for name, field in zip(_REQUIRED, fields, strict=False):
        if not field.strip() or field.startswith(b"|||"):  # two bars with nothing between them
            problem = "there are no scores" if name == "scores" else f"the {name} is empty"
            raise DataError(f"{path}:{number}: {problem}; {_FORMAT}")
    for score in fields[2].split():
        if not is_number(score):
            text = score.decode(errors="replace")
            raise DataError(
                f"{path}:{number}: the score '{text}' is not a number, or too large; {_FORMAT}"
            )
    return fields


def is_number(word: bytes) -> bool:
    """Return whether a word is a number, in Python's spelling."""
    try:
        return abs(float(word)) <= MAX_NUMBER
    except ValueError:
        return False
