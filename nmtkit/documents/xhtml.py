"""XHTML: pages of HTML that are XML, as in e-books.

Here `<script/>` and `<title/>` are empty, and `<br></br>` is one element, unlike in HTML.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence

from nmtkit.errors import DataError
from nmtkit.io.xml_reader import XmlReader, local_name
from nmtkit.text.markup_pieces import (
    OPAQUE,
    Markup,
    Piece,
    PieceKind,
    find_partners,
    split_pieces,
)

NAMESPACE = "http://www.w3.org/1999/xhtml"
"""Namespace of the elements of XHTML."""

MAX_NOTE = 8
"""Pieces of a reference to a note."""

_NOTES = ("a", "sup")
_NOTE = re.compile(
    r"""\s(?:epub:type\s*=\s*["'](?:[^"']*\s)?(?:noteref|pagebreak)"""
    r"""|role\s*=\s*["']doc-noteref)(?=[\s"'])"""
)
_TAGS = (PieceKind.OPENING, PieceKind.CLOSING)
_BEFORE_NUMBERS = ("Ps", "Pd")
"""Categories of brackets and dashes, behind which a number is a part of the text."""


class _PageReader(XmlReader[None]):
    """Reads a page. is_xhtml: its root is `<html>` in the namespace of XHTML."""

    is_xhtml: bool | None = None

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Begin an element; the first one is the root."""
        if self.is_xhtml is None:
            has_namespace = NAMESPACE in attributes.values()
            self.is_xhtml = local_name(element) == "html" and has_namespace

    def _refuse_skipped(self, name: str, _: bool) -> None:
        """Accept an entity of the document type, such as `&nbsp;`, which stays as it is."""


def is_xhtml(data: bytes, name: str) -> bool:
    """Return whether a page is well-formed XML in the namespace of XHTML.

    :param name: of the file.
    """
    reader = _PageReader(name, "XHTML")
    try:
        reader.parse(data)
    except DataError:
        return False
    return bool(reader.is_xhtml)


def xhtml_pieces(source: str) -> Iterator[Piece]:
    """Yield the pieces of XHTML, with names without prefixes.

    Scripts, styles, references to notes and numbers of printed pages are one piece each.
    """
    pieces = [
        piece._replace(name=local_name(piece.name)) for piece in split_pieces(source, Markup.XML)
    ]
    partners = find_partners(pieces)
    number = 0
    while number < len(pieces):
        piece = pieces[number]
        is_opening = piece.kind is PieceKind.OPENING
        stop = partners.get(number, number) if is_opening else number
        if stop > number and (piece.name in OPAQUE or _is_note(pieces, number, stop)):
            inner = "".join(one.source for one in pieces[number : stop + 1])
            piece, number = Piece(PieceKind.POINT, inner, piece.name), stop
        yield piece
        number += 1


def _is_note(pieces: Sequence[Piece], number: int, stop: int) -> bool:
    """Return whether an element refers to a note, as in `word<sup>1</sup>`, or numbers a page.

    :param number: of the piece with which it begins. stop: of that with which it ends.
    """
    first = pieces[number]
    if _NOTE.search(first.source):
        return True
    if first.name not in _NOTES or stop - number > MAX_NOTE:
        return False
    text = "".join(one.source for one in pieces[number:stop] if one.kind is PieceKind.TEXT)
    if not text.strip() or any(map(str.isalpha, text)):
        return False
    while number and pieces[number - 1].kind in _TAGS:
        number -= 1
    before = pieces[number - 1] if number else first
    if before.kind not in (PieceKind.TEXT, PieceKind.ENTITY):
        return False
    last = html.unescape(before.source)[-1:]
    return bool(last.strip()) and unicodedata.category(last) not in _BEFORE_NUMBERS
