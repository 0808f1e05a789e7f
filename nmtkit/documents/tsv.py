"""Columns of tab-separated text: one is translated, in its place or into another one."""

import re
from collections.abc import Iterable, Sequence

from nmtkit.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Segment,
    Write,
    syntax_of,
)
from nmtkit.documents.encoding import LINE, decode
from nmtkit.text.quoted_field import quoted, unquoted


def parse_tsv(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the texts of a column.

    :raises DataError: the encoding cannot be read and written byte for byte.
    """
    text, encoding = decode(data, name)
    segments: list[Segment] = []
    warnings: list[tuple[int, str]] = []
    source, target = options.columns
    for number, found in enumerate(LINE.finditer(text), start=1):
        line = found[0].rstrip("\r\n")
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
