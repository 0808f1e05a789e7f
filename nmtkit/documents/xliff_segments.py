"""Segments of a unit of XLIFF 1.2: `<mrk mtype="seg">` in its source and its target."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nmtkit.documents.inline import attribute_value
from nmtkit.io.xml_reader import local_name
from nmtkit.text.markup_pieces import Markup, PieceKind, find_partners, split_pieces

_AROUND_TEXT = re.compile(r"</?(?:[\w.-]+:)?(?:g|mrk|pc)\b[^<>]*>|<!\[CDATA\[\s*\]\]>")
"""Tags around text, and empty sections, which a tool may have written into a target before there is
any."""


class Marked(NamedTuple):
    """A segment: its name and opening tag, and the offsets of it and of its contents."""

    name: str
    tag: str
    start: int
    inner_start: int
    inner_end: int
    end: int


def text_around(contents: str) -> str:
    """Return the contents of a source or target without tags that only stand around text."""
    return _AROUND_TEXT.sub("", contents).strip()


def untranslated_segments(source: str, target: str) -> Iterator[tuple[Marked, Marked]]:
    """Yield each segment of a source whose counterpart in the target is empty, with that.

    :param source, target: contents of `<seg-source>` and `<target>`.
    """
    sources = _segments(source)
    for number, place in _segments(target).items():
        found = sources.get(number)
        is_empty = not text_around(target[place.inner_start : place.inner_end])
        if found and is_empty and text_around(source[found.inner_start : found.inner_end]):
            yield found, place


def _segments(contents: str) -> dict[str, Marked]:
    """Return the segments by their numbers."""
    pieces = list(split_pieces(contents, Markup.XML))
    partners = find_partners(pieces)
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece.source))
    result: dict[str, Marked] = {}
    for number, piece in enumerate(pieces):
        partner = partners.get(number, number)
        is_opening = piece.kind in (PieceKind.OPENING, PieceKind.POINT)
        if is_opening and local_name(piece.name) == "mrk":
            mid = attribute_value(piece.source, "mid")
            if attribute_value(piece.source, "mtype") == "seg" and mid is not None:
                inner = ends[number + 1], max(ends[partner], ends[number + 1])
                offsets = ends[number], *inner, ends[partner + 1]
                result[mid] = Marked(piece.name, piece.source, *offsets)
    return result
