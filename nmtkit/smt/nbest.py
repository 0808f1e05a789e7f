"""Moses's n-best lists, read as a stream and written back to the byte.

A line is one hypothesis:

    0 ||| Un homme lit  ||| LM0= -44.02 WordPenalty0= -3 TM0= -9.1 -12.6 ||| -4.40479

the number of its sentence, counted from 0; its words; its features, each a name that ends in `=`
and one value or several; the weighted sum of these, and what else there is (word alignments, or a
segmentation). The lines of a sentence follow each other, and sentences come in rising order.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.lines import STANDARD, read_lines
from nmtkit.io.safe_json import parse_natural

FIELDS = ("number of the sentence", "hypothesis", "features", "total")
"""What every line has."""

_BARS = re.compile(r"(?<![^ ])\|\|\|(?![^ ])")  # as a word of its own
_NAME = re.compile(r"[^\s=|]+")

_WHITE = " \t\r\v\f"

Features = dict[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list.

    fields: what stands between the bars, blanks and all: joined by them again it is the line.
    sentence: number of the source sentence, from 0.
    total: the weighted sum of the features, by which Moses orders a list.
    path, number: the file and the line, from 1, for messages.
    """

    fields: tuple[str, ...]
    sentence: int
    total: float
    path: str
    number: int

    @property
    def line(self) -> str:
        """The line as it is written, without its newline."""
        return "|||".join(self.fields)

    @property
    def hypothesis(self) -> str:
        """Its words with blanks between them.

        At its ends goes what is white space in ASCII, as in Moses; U+2028 there is of the line.
        """
        return self.fields[1].strip(_WHITE)

    @property
    def where(self) -> str:
        """File and line, for a message."""
        return f"{self.path}:{self.number}"

    @property
    def names(self) -> list[str]:
        """What the features are called, in order."""
        return [word[:-1] for word in self.fields[2].split() if word.endswith("=")]

    @property
    def features(self) -> Features:
        """The values of each feature by its name, in the order of the line.

        :raises DataError: there is no name before the first value, a name comes twice, or a value
            is no number.
        """
        found: dict[str, list[float]] = {}
        values: list[float] | None = None
        for word in self.fields[2].split():
            if word.endswith("="):
                if word[:-1] in found:
                    raise DataError(f"{self.where}: the feature '{word[:-1]}' is there twice")
                values = found[word[:-1]] = []
            elif values is None:
                raise DataError(
                    f"{self.where}: the features begin with '{word}', not with a name like 'LM0='"
                )
            else:
                values.append(_number(word, f"{self.where}: a value of the features"))
        return {name: tuple(numbers) for name, numbers in found.items()}

    def with_feature(self, name: str, value: float) -> "Entry":
        """The same line with one more feature behind the others, six digits after the point.

        :raises DataError: it has one of this name.
        """
        if name in self.names:
            raise DataError(
                f"{self.where}: has a feature '{name}' already; choose another name for the new one"
            )
        features = self.fields[2].rstrip(" ")
        behind = self.fields[2][len(features) :] if features else " "
        changed = f"{features} {name}= {value:.6f}{behind}"
        return replace(self, fields=(*self.fields[:2], changed, *self.fields[3:]))

    def with_total(self, total: float) -> "Entry":
        """The same line with another total, six digits after the point.

        Where it is the same to so many digits, it stays as it was written.
        """
        if f"{total:.6f}" == f"{self.total:.6f}":
            return self
        field = self.fields[3]
        behind = field[len(field.rstrip()) :]
        fields = (*self.fields[:3], f" {total:.6f}{behind}", *self.fields[4:])
        return replace(self, fields=fields, total=total)


def is_feature_name(name: str) -> bool:
    """Whether a feature can be called that: no blank, no `=`, no bar."""
    return _NAME.fullmatch(name) is not None


def read_nbest(path: str | Path) -> Iterator[Entry]:
    """The lines of a list, one after the other.

    :param path: a file, a gzip file whose name ends in `.gz`, or `-`.
    :raises DataError: the file cannot be read, or a line is not as it should be; it is named.
    """
    name = "stdin" if str(path) == STANDARD else str(path)
    for number, line in enumerate(read_lines(path), start=1):
        yield parse(line, name, number)


def parse(line: str, path: str = "the list", number: int = 1) -> Entry:
    """Take one line apart.

    :param path, number: where it stands, for messages.
    :raises DataError: it lacks a field, or its numbers are none.
    """
    where = f"{path}:{number}"
    fields = tuple(_BARS.split(line))
    if len(fields) < len(FIELDS):
        raise DataError(
            f"{where}: has {len(fields)} of the fields of an n-best list, which ' ||| ' parts:"
            f" {', '.join(FIELDS)}"
        )
    sentence = fields[0].strip()
    place = parse_natural(sentence)
    if place is None:
        raise DataError(
            f"{where}: begins with '{sentence}', not with the number of a sentence, from 0"
        )
    return Entry(fields, place, _number(fields[3].strip(), f"{where}: the total"), path, number)


def by_sentence(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """The entries of one sentence, then those of the next.

    :raises DataError: a sentence comes behind a later one.
    """
    last = -1
    for sentence, group in itertools.groupby(entries, key=lambda entry: entry.sentence):
        of_sentence = list(group)
        if sentence < last:
            raise DataError(
                f"{of_sentence[0].where}: sentence {sentence} comes behind sentence {last}; sort"
                " the list by the number of the sentence (sort -s -n)"
            )
        last = sentence
        yield of_sentence


def distinct(entries: Iterable[Entry]) -> list[str]:
    """The different hypotheses of a sentence, in the order in which they come."""
    return list(dict.fromkeys(entry.hypothesis for entry in entries))


def _number(word: str, what: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise DataError(f"{what} is '{word}', which is no number") from None
