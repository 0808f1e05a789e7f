"""Check phrase tables and n-best lists of Moses line by line, in constant memory."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

from nmtkit.errors import DataError
from nmtkit.integrity.findings import (
    Finding,
    Inspection,
    LineFindings,
    Progress,
    error,
    finding_of,
    warning,
)
from nmtkit.io.inputs import Source
from nmtkit.io.lines import decode_line, read_raw_lines
from nmtkit.smt import nbest, phrase_table
from nmtkit.smt.feature_matrix import FeatureColumns
from nmtkit.smt.nbest import Entry
from nmtkit.smt.phrase_table import PhrasePair

Parsed = TypeVar("Parsed")

SAMPLE_LINES = 100
"""Lines at the beginning of a file that decide what its lines have in common."""

PROGRESS_LINES = 10_000
"""Lines between two reports of progress."""

_LINK = re.compile(rb"(\d{1,9})-(\d{1,9})")
_RESTORE = "restore the file from a copy, or make it again"
_MEND = "correct or remove the line, or make the file again"
_SORT = "sort the table: LC_ALL=C sort"


def check_phrase_table(path: Source, progress: Progress) -> Inspection:
    """Check every line of a phrase table.

    Each needs the form that Moses reads, the number of scores that most of the first lines have,
    and links within its phrases. Lines must be in the order of their bytes, as Moses sorts them:
    then the lines of a source phrase are consecutive.
    """
    table = _PhraseTable(path)
    return _check_lines(path, table.learn, table.check_line, table.order, progress)


def check_nbest_list(path: Source, progress: Progress) -> Inspection:
    """Check every line of an n-best list.

    Each needs the form that Moses writes, the features that most of the first lines have, and
    finite values. Sentence numbers must rise.
    """
    entries = _NbestList(path)
    return _check_lines(path, entries.learn, entries.check_line, list, progress)


def _check_lines(
    path: Source,
    learn: Callable[[Sequence[bytes]], None],
    check_line: Callable[[bytes, int], Iterable[Finding]],
    check_order: Callable[[], Iterable[Finding]],
    progress: Progress,
) -> Inspection:
    """Read a file as a stream; `learn` is called with its first lines."""
    found = LineFindings(path)
    damage: list[DataError] = []
    lines = _lines_before_damage(path, damage)
    first = list(islice(lines, SAMPLE_LINES))
    learn(first)
    number = 0
    for number, line in enumerate(chain(first, lines), start=1):
        for finding in check_line(line, number):
            found.add(finding)
        if number % PROGRESS_LINES == 0:
            progress(PROGRESS_LINES)
    progress(number % PROGRESS_LINES)
    end = [_after_line(finding_of(problem, path, _RESTORE), number) for problem in damage]
    return Inspection(1, [*found, *end, *check_order()])


def _lines_before_damage(path: Source, damage: list[DataError]) -> Iterator[bytes]:
    """Yield the lines of a file; add the error to `damage` if it cannot be read to its end."""
    try:
        yield from read_raw_lines(path)
    except DataError as problem:
        damage.append(problem)


def _after_line(finding: Finding, number: int) -> Finding:
    return replace(finding, problem=f"{finding.problem}, after line {number:,}")


class _PhraseTable:
    """The lines of a phrase table, one after another."""

    def __init__(self, path: Source) -> None:
        self._path = path
        self._scores = 0
        self._last_key = b""
        self._unsorted: list[int] = []
        self._unsorted_count = 0

    def learn(self, lines: Sequence[bytes]) -> None:
        """Learn the number of scores of most lines."""
        counts: Counter[int] = Counter()
        for number, line in enumerate(lines, start=1):
            if pair := _parsed(phrase_table.parse, line, self._path, number):
                counts[len(pair.scores)] += 1
        self._scores = counts.most_common(1)[0][0] if counts else 0

    def check_line(self, line: bytes, number: int) -> Iterator[Finding]:
        """Yield the first error of a line."""
        try:
            pair = phrase_table.parse(line, self._path, number)
        except DataError as failure:
            yield finding_of(failure, self._path, _MEND)
            return
        self._compare_with_last(pair)
        if problem := self._problem(pair):
            yield error(self._path, problem, _MEND, number)

    def order(self) -> Iterator[Finding]:
        """Yield a warning if the lines are not in the order in which Moses sorts them."""
        if self._unsorted_count:
            others = f", and {self._unsorted_count - 1:,} more" if self._unsorted_count > 1 else ""
            yield warning(
                self._path,
                f"the source phrase comes before that of the line before{others}; lines with the"
                " same source phrase may not be consecutive",
                _SORT,
                self._unsorted[0],
            )

    def _compare_with_last(self, pair: PhrasePair) -> None:
        key = pair.fields[0] + b" |||"  # Moses sorts whole lines
        if key < self._last_key:
            self._unsorted_count += 1
            self._unsorted = self._unsorted or [pair.number]
        self._last_key = key

    def _problem(self, pair: PhrasePair) -> str:
        """Return what is wrong with a line that can be parsed, or an empty string."""
        scores = pair.scores
        if len(scores) != self._scores:
            return f"has {len(scores)} scores, but the first lines have {self._scores}"
        if not math.isfinite(sum(map(float, scores))):
            return "has a score that is infinite or not a number"
        return _links_problem(pair) or _counts_problem(pair)


def _links_problem(pair: PhrasePair) -> str:
    """Return what is wrong with the alignment of a phrase pair, or an empty string."""
    links = pair.links
    if not links:
        return ""
    words = len(pair.fields[0].split()), len(pair.fields[1].split())
    for link in links:
        match = _LINK.fullmatch(link)
        text = link.decode(errors="replace")
        if not match:
            return f"the alignment has '{text}', which is not a link such as 0-0"
        if int(match[1]) >= words[0] or int(match[2]) >= words[1]:
            return f"the link {text} leads out of a pair of {words[0]} and {words[1]} words"
    return ""


def _counts_problem(pair: PhrasePair) -> str:
    """Return what is wrong with the counts of a phrase pair, or an empty string."""
    for count in pair.counts:
        if not phrase_table.is_number(count) or not 0 <= float(count) < math.inf:
            return f"the count '{count.decode(errors='replace')}' is not a number from 0"
    return ""


class _NbestList:
    """The lines of an n-best list, one after another."""

    def __init__(self, path: Source) -> None:
        self._path = path
        self._columns: FeatureColumns | None = None
        self._last = -1

    def learn(self, lines: Sequence[bytes]) -> None:
        """Learn the features of most lines."""
        layouts: Counter[tuple[tuple[str, int], ...]] = Counter()
        for number, line in enumerate(lines, start=1):
            if columns := _parsed(self._parse_columns, line, number):
                layouts[tuple(columns.sizes.items())] += 1
        if layouts:
            self._columns = FeatureColumns(dict(layouts.most_common(1)[0][0]))

    def check_line(self, line: bytes, number: int) -> Iterator[Finding]:
        """Yield the errors of a line."""
        try:
            entry = self._parse(line, number)
            if entry.sentence < self._last:
                yield error(
                    self._path,
                    f"sentence {entry.sentence} comes after sentence {self._last}",
                    "sort the list by the number of the sentence (sort -s -n), or correct it",
                    number,
                )
            self._last = entry.sentence
            columns = self._columns or FeatureColumns.from_entry(entry)
            if not math.isfinite(sum(columns.row(entry)) + entry.total):
                problem = "a feature or the total is infinite or not a number"
                yield error(self._path, problem, _MEND, number)
        except DataError as problem:
            yield finding_of(problem, self._path, _MEND)

    def _parse_columns(self, line: bytes, number: int) -> FeatureColumns:
        return FeatureColumns.from_entry(self._parse(line, number))

    def _parse(self, line: bytes, number: int) -> Entry:
        return nbest.parse(decode_line(line, self._path, number), str(self._path), number)


def _parsed(parse: Callable[..., Parsed], *arguments: object) -> Parsed | None:
    """Return a parsed line, or None if it is malformed."""
    try:
        return parse(*arguments)
    except DataError:
        return None


def kind_of_lines(lines: Sequence[bytes]) -> str | None:
    """Return "phrase table" or "n-best list", by the form of most lines; None for other files."""
    votes: Counter[str] = Counter()
    for line in lines:
        entry = _parsed(nbest.parse, line.decode(errors="replace"))
        pair = _parsed(phrase_table.parse, line)
        if entry and (entry.feature_names or not pair):
            votes["n-best list"] += 1
        elif pair:
            votes["phrase table"] += 1
    return votes.most_common(1)[0][0] if votes else None
