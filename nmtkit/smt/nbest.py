"""N-best lists of Moses and Marian, read as a stream and written back byte for byte.

Each line is one hypothesis:

    0 ||| Un homme lit  ||| LM0= -44.02 WordPenalty0= -3 TM0= -9.1 -12.6 ||| -4.40479

The fields are the number of its sentence, from 0; its words; its features, each a name that ends in
`=` and one or more values; their weighted sum; and optional further fields (word alignments or a
segmentation). Marian writes alignments and scores of words before the features:

    0 ||| Un homme lit ||| 0-0 1-1 2-2 ||| WordScores= -0.1 -0.2 -0.3 ||| F0= -1.5 ||| -0.5

Older versions of Moses, those of the papers' time, end the names of features in a colon:

    0 ||| Un homme lit  ||| d: 0 -1.2 lm: -44.02 tm: -9.1 -12.6 w: -3 ||| -4.40479

So the total is the first number from the fourth field on, and the features stand before it. Other
fields are kept. The lines of a sentence are consecutive, and
sentence numbers rise.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nmtkit.errors import DataError
from nmtkit.io.lines import read_lines
from nmtkit.io.safe_json import parse_natural
from nmtkit.io.text_content import shown_name
from nmtkit.smt.numbers import parse_number

FIELDS = ("number of the sentence", "hypothesis", "features", "total")
"""Fields of every line."""

MOSES_TOTAL = 3
"""Index of the total in Moses's lists; in Marian's it is this or a later one."""

_BARS = re.compile(r"(?<![^ ])\|\|\|(?![^ ])")  # as a separate word
_NAME = re.compile(r"[^\s=|#]+")

_WHITE = " \t\r\v\f"

_NAME_ENDS = ("=", ":")

Features = dict[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list.

    fields: text between the bars, including blanks; joined by bars they equal the line.
    sentence: number of the source sentence, from 0.
    total: weighted sum of the features, by which Moses sorts a list.
    total_index: index of its field; the features stand in the field before.
    path, number: file and line number, from 1, for messages.
    """

    fields: tuple[str, ...]
    sentence: int
    total: float
    total_index: int
    path: str
    number: int

    @property
    def line(self) -> str:
        """The line without its newline."""
        return "|||".join(self.fields)

    @property
    def hypothesis(self) -> str:
        """Its words with blanks between them.

        ASCII white space at the ends is removed, as in Moses; U+2028 there is kept.
        """
        return self.fields[1].strip(_WHITE)

    @property
    def feature_field(self) -> str:
        """The field of the features."""
        return self.fields[self.total_index - 1]

    @property
    def location(self) -> str:
        """FILE:LINE, for messages."""
        return f"{self.path}:{self.number}"

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order."""
        return [word[:-1] for word in self.feature_field.split() if _ends_as_name(word)]

    @property
    def features(self) -> Features:
        """Values of each feature by its name, in the order of the line.

        :raises DataError: the first value has no name, a name occurs twice, or a value is not a
            number.
        """
        features: dict[str, list[float]] = {}
        values: list[float] | None = None
        for word in self.feature_field.split():
            if _ends_as_name(word):
                if word[:-1] in features:
                    raise DataError(f"{self.location}: the feature '{word[:-1]}' occurs twice")
                values = features[word[:-1]] = []
            elif values is None:
                raise DataError(
                    f"{self.location}: the features begin with '{word}', not with a name such as"
                    " 'LM0='"
                )
            else:
                values.append(parse_number(word, f"{self.location}: a value of the features"))
        return {name: tuple(numbers) for name, numbers in features.items()}

    def with_feature(self, name: str, value: float) -> "Entry":
        """Return the line with one more feature after the others, with six decimal places.

        :raises DataError: the line has a feature of this name.
        """
        if name in self.feature_names:
            raise DataError(
                f"{self.location}: has a feature '{name}' already; leave out the new one, or give"
                " it another name"
            )
        features = self.feature_field.rstrip(" ")
        blanks = self.feature_field[len(features) :] if features else " "
        extended = f"{features} {name}= {value:.6f}{blanks}"
        return replace(self, fields=self._replaced(self.total_index - 1, extended))

    def with_total(self, total: float) -> "Entry":
        """Return the line with another total, with six decimal places.

        If the total is equal to six decimal places, the line is unchanged.
        """
        if f"{total:.6f}" == f"{self.total:.6f}":
            return self
        field = self.fields[self.total_index]
        blanks = field[len(field.rstrip()) :]
        fields = self._replaced(self.total_index, f" {total:.6f}{blanks}")
        return replace(self, fields=fields, total=total)

    def _replaced(self, index: int, field: str) -> tuple[str, ...]:
        return (*self.fields[:index], field, *self.fields[index + 1 :])


def _ends_as_name(word: str) -> bool:
    """Return whether a word of a feature field is a name with its mark, not a value."""
    return len(word) > 1 and word.endswith(_NAME_ENDS)


def is_feature_name(name: str) -> bool:
    """Return True if the name can be a feature's: it has no blank, no `=`, no bar and no `#`.

    In files of weights `#` begins a comment.
    """
    return _NAME.fullmatch(name) is not None


def read_nbest(path: str | Path) -> Iterator[Entry]:
    """Yield the lines of a list.

    :param path: a file, plain or compressed, or `-`.
    :raises DataError: the file cannot be read, or a line is malformed; the message names it.
    """
    name = shown_name(path)
    for number, line in enumerate(read_lines(path), start=1):
        yield parse(line, name, number)


def parse(line: str, path: str = "the list", number: int = 1) -> Entry:
    """Parse one line.

    :param path, number: file and line number, for messages.
    :raises DataError: a field is missing, or sentence or total is not a number.
    """
    location = f"{path}:{number}"
    fields = tuple(_BARS.split(line))
    if len(fields) < len(FIELDS):
        raise DataError(
            f"{location}: expected at least {len(FIELDS)} fields separated by ' ||| ', not"
            f" {len(fields)}; a line of an n-best list has {', '.join(FIELDS)}"
        )
    sentence = fields[0].strip()
    sentence_number = parse_natural(sentence)
    if sentence_number is None:
        raise DataError(
            f"{location}: begins with '{sentence}', not with the number of a sentence, from 0"
        )
    later = range(MOSES_TOTAL, len(fields))
    index = next((index for index in later if _is_number(fields[index])), MOSES_TOTAL)
    total = parse_number(fields[index].strip(), f"{location}: the total")
    return Entry(fields, sentence_number, total, index, path, number)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def group_by_sentence(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield the entries of each sentence.

    :raises DataError: sentence numbers do not rise.
    """
    last = -1
    for sentence, group in itertools.groupby(entries, key=lambda entry: entry.sentence):
        entries_of_sentence = list(group)
        if sentence < last:
            raise DataError(
                f"{entries_of_sentence[0].location}: sentence {sentence} comes after sentence"
                f" {last}; sort the list by the number of the sentence (sort -s -n)"
            )
        last = sentence
        yield entries_of_sentence


def distinct_hypotheses(entries: Iterable[Entry]) -> list[str]:
    """Return the distinct hypotheses of a sentence, in the order of the list."""
    return list(dict.fromkeys(entry.hypothesis for entry in entries))
