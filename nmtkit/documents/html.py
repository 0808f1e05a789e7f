"""HTML: the texts of block elements, and attributes that people read."""

import html
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nmtkit.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Lookup,
    Segment,
    Syntax,
    Write,
    apply_edits,
)
from nmtkit.documents.encoding import decode
from nmtkit.documents.html_encoding import declared_encoding
from nmtkit.documents.inline import KEPT_ELEMENTS
from nmtkit.documents.xhtml import is_xhtml, xhtml_pieces
from nmtkit.text.markup import SEPARATING
from nmtkit.text.markup_pieces import (
    ATTRIBUTES,
    CODE,
    COMMENT_ENDS,
    Markup,
    Piece,
    PieceKind,
    find_partners,
    is_untranslated,
    split_pieces,
)

BLOCK_ELEMENTS = (SEPARATING - {"br"}) | frozenset(
    "area audio base body button canvas center col colgroup details dialog dir fieldset frame"
    " frameset head hgroup html iframe legend link listing map menu meta noframes noscript"
    " object optgroup param plaintext search select source style summary template textarea track"
    " video xmp".split()
)
"""Elements that are not a part of the text around them."""

_KEPT = KEPT_ELEMENTS | {"pre", "textarea", "listing"}
_ATTRIBUTES = frozenset("alt title placeholder aria-label aria-description label".split())
_BUTTONS = frozenset(["submit", "button", "reset"])
_LABELLED = frozenset(["optgroup", "option", "track"])
_META = frozenset("description og:title og:description twitter:title twitter:description".split())
_ATTRIBUTE = re.compile(
    rf"""{CODE}|(?<=[\s"'/>])([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*'|(?:[^\s"'=<>`]|{CODE}|(?!))++(?=[\s>]))"""
)
"""Code of a template, or an attribute with its value, in which there may be code, too."""

_TAG = re.compile(rf"<[A-Za-z]{ATTRIBUTES}>")
_CODE = ("<%", "<?")
_CODE_WITHOUT_QUOTES = ("{{", "{%", "${")
"""Beginnings of code in the attributes of a template. Code in braces is a part of the text in
quotes; without quotes its spaces end the value."""

_OPEN_COMMENT = re.compile("<!--(?!-?>)")
_OPEN_TAG = re.compile("</?[A-Za-z]")


class _Placed(NamedTuple):
    """A piece of the file, and where it begins."""

    piece: Piece
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.piece.source)


def parse_html(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the segments of an HTML file, or of an XHTML file if it is well-formed.

    :raises DataError: its encoding cannot be read and written byte for byte.
    """
    text, encoding = decode(data, name, declared_encoding(data))
    syntax = Syntax.XHTML if is_xhtml(data, name) else Syntax.HTML
    return Document(text, encoding, list(_Parser(text, syntax).segments()), references=True)


class _Parser:
    """Divides the pieces of a file into runs between block elements."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self._text, self._syntax = text, syntax
        self._lines = Lookup.of(text)
        self._pieces: list[_Placed] = []
        position = 0
        for piece in xhtml_pieces(text) if syntax is Syntax.XHTML else _pieces(text):
            self._pieces.append(_Placed(piece, position))
            position += len(piece.source)
        self._partners = find_partners([placed.piece for placed in self._pieces])
        self._blocks = [0]  # number of block tags before each piece
        for placed in self._pieces:
            self._blocks.append(self._blocks[-1] + _is_block(placed.piece))

    def segments(self) -> Iterator[Segment]:
        """Yield the segments in the order of the file."""
        run: list[_Placed] = []
        number = 0
        while number < len(self._pieces):
            placed = self._pieces[number]
            stop = self._end_of_kept(number)
            if stop > number or self._is_block(number):
                yield from self._run(run)
                run = []
                if not is_untranslated(placed.piece):
                    yield from self._attributes(placed)
                number = max(stop, number + 1)
            else:
                run.append(placed)
                number += 1
        yield from self._run(run)

    def _is_block(self, number: int) -> bool:
        """Return whether a piece is a tag of a block; in XHTML also of an element around blocks.

        Its two tags stand in two texts, in which they must not change places with others. In HTML
        tags may cross, and browsers read them in any order.
        """
        if self._syntax is Syntax.HTML:
            return _is_block(self._pieces[number].piece)
        first, last = sorted((number, self._partners.get(number, number)))
        return self._blocks[last + 1] > self._blocks[first]

    def _end_of_kept(self, number: int) -> int:
        """Return the piece behind an element that is kept, if blocks are concerned.

        An element without blocks is a part of the text around it: return its own number.
        """
        piece = self._pieces[number].piece
        if piece.kind is not PieceKind.OPENING:
            return number
        if piece.name not in _KEPT and not is_untranslated(piece):
            return number
        partner = self._partners.get(number)
        if partner is not None:
            has_blocks = self._blocks[partner + 1] > self._blocks[number]
            return partner + 1 if has_blocks else number
        if not _is_block(piece):
            return number
        stop = number + 1
        while stop < len(self._pieces) and not _is_block(self._pieces[stop].piece):
            stop += 1
        return stop

    def _run(self, run: Sequence[_Placed]) -> Iterator[Segment]:
        """Yield the segment of pieces without a block, or those of their attributes."""
        inner: list[Segment] = []
        tags: list[_Placed] = []
        position = 0
        for placed in run:
            if placed.start < position:  # within an element that is kept
                continue
            if placed.piece.kind is not PieceKind.TEXT and is_untranslated(placed.piece):
                number = self._partners.get(self._number(placed))
                position = position if number is None else self._pieces[number].end
                continue
            found = list(self._attributes(placed))
            if found:
                tags.append(placed)
                inner += found
        if not any(_has_letters(placed.piece) for placed in run):
            yield from inner
            return
        start, end = run[0].start, run[-1].end
        first = next(p.start for p in run if _has_letters(p.piece))
        source = self._text[start:end]
        write = _write_text(start, end, tags)
        yield Segment(self._lines.line(first), source, self._syntax, write, inner=inner)

    def _number(self, placed: _Placed) -> int:
        """Return the index of a piece among all."""
        return bisect_left(self._pieces, placed.start, key=lambda one: one.start)

    def _attributes(self, placed: _Placed) -> Iterator[Segment]:
        """Yield the segments of a tag's attributes."""
        piece, start = placed
        if piece.kind not in (PieceKind.OPENING, PieceKind.POINT) or not piece.name:
            return
        if piece.source[:2] in ("<!", "<?"):
            return
        tag = _TAG.match(piece.source)
        attributes = [found for found in _ATTRIBUTE.finditer(tag[0]) if found[1]] if tag else []
        values = {found[1].lower(): found[2].strip("\"'").lower() for found in attributes}
        for found in attributes:
            name, value = found[1].lower(), found[2]
            if not _is_translated(piece.name, name, values):
                continue
            quote = value[0] if value[0] in "\"'" else ""
            first = start + found.start(2) + len(quote)
            last = start + found.end(2) - len(quote)
            source = self._text[first:last]
            has_letters = any(character.isalpha() for character in source)
            signs = _CODE if quote else _CODE + _CODE_WITHOUT_QUOTES
            if has_letters and not any(sign in source for sign in signs):
                write = _write_attribute(first, last, quote, source)
                yield Segment(self._lines.line(first), source, Syntax.ENTITIES, write)


def _pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a page before a comment or a tag that does not end, or `<plaintext>`.

    Browsers show nothing of the one, and what follows the other as it is written.
    """
    position, last_end = 0, text.rfind(">")
    for piece in split_pieces(text, Markup.HTML):
        start = _start_of_comment(piece)
        if piece.kind is PieceKind.TEXT and start < 0:
            tag = _OPEN_TAG.search(piece.source)
            start = tag.start() if tag and position + tag.start() > last_end else -1
        position += len(piece.source)
        if start > 0:
            yield Piece(PieceKind.TEXT, piece.source[:start])
        if start >= 0 or (piece.kind is PieceKind.OPENING and piece.name == "plaintext"):
            return
        yield piece


def _start_of_comment(piece: Piece) -> int:
    """Return where a comment that does not end begins in a piece, or -1."""
    if piece.kind is PieceKind.TEXT:
        return piece.source.find("<!--")
    is_open = _OPEN_COMMENT.match(piece.source) and not piece.source.endswith(COMMENT_ENDS)
    return 0 if is_open else -1


def _is_block(piece: Piece) -> bool:
    return piece.name in BLOCK_ELEMENTS and piece.kind is not PieceKind.TEXT


def _has_letters(piece: Piece) -> bool:
    is_text = piece.kind in (PieceKind.TEXT, PieceKind.ENTITY)
    return is_text and any(character.isalpha() for character in html.unescape(piece.source))


def _is_translated(element: str, attribute: str, values: dict[str, str]) -> bool:
    """Return whether people read the value of an attribute."""
    if element == "meta":
        is_read = values.get("name") in _META or values.get("property") in _META
        return attribute == "content" and is_read
    if attribute == "label":
        return element in _LABELLED
    if attribute == "value":
        return element == "input" and values.get("type") in _BUTTONS
    return attribute in _ATTRIBUTES


def _write_text(start: int, end: int, tags: Sequence[_Placed]) -> Write:
    """Return the function that writes a text whose tags may have changed, too."""

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        changed: dict[str, str] = {}
        edits = sorted(inner)
        position = 0
        for placed in tags:
            first = position
            while position < len(edits) and edits[position].start < placed.end:
                position += 1
            source = placed.piece.source
            new = apply_edits(source, edits[first:position], offset=placed.start)
            changed[_tag_of(source)] = _tag_of(new)
        if any(old != new for old, new in changed.items()):
            translation = _TAG.sub(lambda tag: changed.get(tag[0], tag[0]), translation)
        return [Edit(start, end, translation)]

    return write


def _tag_of(source: str) -> str:
    """Return the tag with which a piece begins, which a script has its text behind."""
    found = _TAG.match(source)
    return found[0] if found else source


def _write_attribute(start: int, end: int, quote: str, source: str) -> Write:
    """Return the function that writes the value of an attribute, quoted if it needs quotes."""

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        if translation == source:
            return []
        sign = quote or '"'
        text = translation.replace(sign, "&quot;" if sign == '"' else "&#39;")
        return [Edit(start, end, text if quote else f'"{text}"')]

    return write
