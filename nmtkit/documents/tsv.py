"""Columns of tab-separated text: one is translated, in its place or into another one."""

import re
from collections.abc import Iterable, Sequence

from nmtkit.documents.document import Document, DocumentOptions, Edit, Segment, Write, syntax_of
from nmtkit.documents.encoding import LINE, decode
from nmtkit.text.quoted_field import quoted, unquoted

MAX_FIELD_LINES = 100
"""Lines in which the end of a quoted field is looked for."""


def parse_tsv(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the texts of a column.

    :raises DataError: the encoding cannot be read and written byte for byte.
    """
    text, encoding = decode(data, name)
    segments: list[Segment] = []
    warnings: list[tuple[int, str]] = []
    source, target = options.columns
    lines = list(LINE.finditer(text))
    contents = [found[0].rstrip("\r\n") for found in lines]
    end_of_field = 0
    for number, (found, line) in enumerate(zip(lines, contents, strict=True), start=1):
        if number <= end_of_field:
            continue
        end_of_field = _end_of_field(contents, number)
        if end_of_field:
            message = f"a field with line breaks, up to line {end_of_field}; it was left as it is"
            warnings.append((number, message))
            continue
        fields = line.split("\t")
        if len(fields) < max(source, target - 1):
            if line:
                missing = source if len(fields) < source else target - 1
                warnings.append((number, f"has no column {missing}; it was left as it is"))
            continue
        if not fields[source - 1].strip():
            continue
        offsets = [0]
        for value in fields:
            offsets.append(offsets[-1] + len(value) + 1)
        start = found.start()
        if target > len(fields):
            end = start + len(line)
            write = _write(end, end, "\t")
        elif target != source and fields[target - 1]:
            continue
        else:
            first = start + offsets[target - 1]
            write = _write(first, first + len(fields[target - 1]), "")
        value = fields[source - 1]
        inner = unquoted(value)
        if inner is not None:
            value, write = inner, _in_quotes(write)
        segments.append(Segment(number, value, syntax_of(value), write))
    return Document(text, encoding, segments, warnings)


def _end_of_field(lines: Sequence[str], number: int) -> int:
    """Return the line in which the quoted fields of a row end that have line breaks, or 0.

    :param number: of the line where the row begins, from 1.
    """
    end, cells = 0, lines[number - 1]
    while later := _end_of_last(cells, lines, number):
        end = number = later
        cells = lines[later - 1].partition("\t")[2]
    return end


def _end_of_last(cells: str, lines: Sequence[str], number: int) -> int:
    """Return the line in which a quoted field ends that is open at the end of a line, or 0.

    :param cells: of that line. number: of it, from 1.
    """
    last = cells.rpartition("\t")[2]
    if not last.startswith('"') or last.count('"') % 2 == 0:
        return 0
    for later in range(number, min(number + MAX_FIELD_LINES, len(lines))):
        first = lines[later].partition("\t")[0]
        if first.count('"') % 2:
            return later + 1 if first.endswith('"') else 0
        if "\t" in lines[later]:
            return 0
    return 0


def _write(start: int, end: int, before: str) -> Write:
    """Return the function that writes a field."""

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        return [Edit(start, end, before + re.sub(r"[\t\r\n]", " ", translation))]

    return write


def _in_quotes(write: Write) -> Write:
    """Return the function that writes a field as a spreadsheet would."""

    def write_quoted(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        return write(quoted(translation), inner)

    return write_quoted
