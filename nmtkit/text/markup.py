"""Inline markup of a line of HTML or XML: what is text, and what stands around and between it.

Nothing in a line is an error: a tag that has no partner, or crosses another, is an element without
contents. So the elements are a forest, and written back in any place they are well formed if they
were.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from nmtkit.text.markup_pieces import (
    Markup,
    Piece,
    PieceKind,
    character_of,
    find_partners,
    is_untranslated,
    split_pieces,
)
from nmtkit.text.messages import plain_message
from nmtkit.text.placeholders import MESSAGE_PATTERN

SEPARATING = frozenset(
    "address article aside blockquote br caption dd div dl dt figcaption figure footer form h1 h2"
    " h3 h4 h5 h6 header hr li main nav ol option p pre section table tbody td tfoot th thead title"
    " tr ul".split()
)
"""Elements of HTML that separate words, even without a space."""

_LETTERS = "".join(filter(str.isalnum, map(chr, range(0x250))))
_LETTER = tuple(_LETTERS)
"""Latin letters and digits, whose words blanks separate."""

_QUOTES = "\"'’‘‚“”„«»‹›"

LINE_BREAK = re.compile(
    r"""(?:<|&lt;)br\b|\\\r?\n"""
    r"""|<(?:\w+:)?(?:x|ph|it)\b[^<>]*?"""
    r"""(?:\s(?:ctype|type|subType)\s*=\s*["'](?:xlf:|x-)?(?:lb|br|html-br)["']"""
    r"""|(?:\sequiv(?:-text)?\s*=\s*["']|>)\s*&lt;br\b)""",
    re.IGNORECASE,
)
"""A tag that breaks a line: of HTML, of Markdown, of XLIFF and TMX."""


@dataclass(frozen=True)
class MarkupElement:
    """An element, or what else has a place in the text.

    start, end: offsets in the text of what it contains. opening, closing: its tags as they were;
    one without contents has no closing tag. parent: index of the element around it, or -1.
    separates, separates_end: the text has a space before or after it that the line has not.
    """

    start: int
    end: int
    opening: str
    closing: str = ""
    parent: int = -1
    separates: bool = False
    separates_end: bool = False


@dataclass(frozen=True)
class Atom:
    """A part of the text that comes back as it was: an entity, or an element not to be translated.

    start, end: offsets in the text of what stands for it. source: what it was.
    is_text: it is translated with the text, and need not come back: a letter, a quote or an
    invisible character written as an entity.
    """

    start: int
    end: int
    source: str
    is_text: bool = False


@dataclass(frozen=True)
class MarkedText:
    """A line taken apart.

    text: without markup, entities as characters, a space where an element separates words that no
    space separates. elements: in the order of their opening tags.
    atoms: in the order of the text; they do not overlap.
    """

    text: str
    elements: tuple[MarkupElement, ...]
    atoms: tuple[Atom, ...]

    def added_spaces(self) -> set[int]:
        """Return the offsets of the spaces in the text that the line has not."""
        before = {element.start - 1 for element in self.elements if element.separates}
        return before | {element.end for element in self.elements if element.separates_end}


def parse_markup(line: str, markup: Markup) -> MarkedText:
    """Take a line apart."""
    separating = SEPARATING if markup is Markup.HTML else frozenset[str]()
    return join_pieces(keep_untranslated(list(split_pieces(line, markup))), separating)


def keep_untranslated(pieces: Sequence[Piece], names: Collection[str] = frozenset()) -> list[Piece]:
    """Return pieces in which each element that is not to be translated is one, and kept.

    Letters and digits that stand directly beside it are, too.

    :param names: of further elements that are not to be translated.
    """
    partners = find_partners(pieces)
    result: list[Piece] = []
    number = 0
    while number < len(pieces):
        piece, partner = pieces[number], partners.get(number)
        is_opening = piece.kind is PieceKind.OPENING and partner is not None
        if partner and is_opening and (piece.name in names or is_untranslated(piece)):
            inner = pieces[number : partner + 1]
            text = "".join(one.source for one in inner if one.kind is PieceKind.TEXT)
            result.append(Piece(PieceKind.KEPT, "".join(one.source for one in inner), text))
            number = partner
        else:
            result.append(piece)
        number += 1
    return _with_attached_letters(result)


def _with_attached_letters(pieces: Sequence[Piece]) -> list[Piece]:
    """Keep letters that stand directly beside something kept, as in `<code>String</code>s`.

    They are one word with it, which a translation cannot take apart.
    """
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else piece
        if _is_kept_word(last) and piece.kind is PieceKind.TEXT:
            rest = piece.source.lstrip(_LETTERS) if last.name.endswith(_LETTER) else piece.source
            found, piece = (
                piece.source[: len(piece.source) - len(rest)],
                piece._replace(source=rest),
            )
            result[-1] = last._replace(source=last.source + found, name=last.name + found)
        elif _is_kept_word(piece) and last.kind is PieceKind.TEXT:
            rest = last.source.rstrip(_LETTERS) if piece.name.startswith(_LETTER) else last.source
            found, result[-1] = last.source[len(rest) :], last._replace(source=rest)
            piece = piece._replace(source=found + piece.source, name=found + piece.name)
        result.append(piece)
    return [piece for piece in result if piece.source]


def _is_kept_word(piece: Piece) -> bool:
    """Return whether a piece is kept, and not an escaped letter."""
    return piece.kind is PieceKind.KEPT and not piece.source.startswith("&")


def join_pieces(pieces: Sequence[Piece], separating: Collection[str]) -> MarkedText:
    """Return the text of pieces, and what comes back into its translation.

    :param separating: names of elements that separate words, even without a space.
    """
    pieces = with_whole_messages(pieces)
    builder, partners = _Builder(), find_partners(pieces)
    for number, piece in enumerate(pieces):
        partner = partners.get(number)
        if piece.kind is PieceKind.TEXT:
            builder.add_text(piece.source)
        elif piece.kind is PieceKind.ENTITY:
            builder.add_atom(character_of(piece.source), piece.source)
        elif piece.kind is PieceKind.KEPT and piece.name:
            builder.add_atom(piece.name, piece.source)
        else:
            following = pieces[number + 1].source if number + 1 < len(pieces) else " "
            separates = piece.name in separating and not following[:1].isspace()
            if piece.kind is PieceKind.CLOSING and partner is not None:
                builder.close(piece.source, separates)
            else:
                builder.open(piece.source, partner is not None, separates)
    return builder.result()


def with_whole_messages(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Keep each message of ICU, as `{n, plural, one {<b>#</b> file} …}`, with the tags in it.

    Words of one variant stand for it in the text.
    """
    messages = list(MESSAGE_PATTERN.finditer("".join(map(_text_of, pieces))))
    if not messages:
        return pieces
    offsets = sorted({offset for found in messages for offset in found.span()})
    result = list(_cut(pieces, offsets))
    partners, offset = find_partners(result), 0
    starts, ends = {}, {}
    for number, piece in enumerate(result):
        if text := _text_of(piece):
            starts[offset] = number
            offset += len(text)
            ends[offset] = number
    for found in reversed(messages):
        inner = range(starts[found.start()], ends[found.end()] + 1)
        if all(partners.get(number, number) in inner for number in inner):
            source = "".join(piece.source for piece in result[inner.start : inner.stop])
            kept = Piece(PieceKind.KEPT, source, plain_message(found[0]))
            result[inner.start : inner.stop] = [kept]
    return _with_attached_letters(result)


def _text_of(piece: Piece) -> str:
    return piece.source if piece.kind in (PieceKind.TEXT, PieceKind.ENTITY) else ""


def _cut(pieces: Sequence[Piece], offsets: Sequence[int]) -> Iterator[Piece]:
    """Yield pieces that are cut at some offsets in the text."""
    end = 0
    for piece in pieces:
        start, end = end, end + len(_text_of(piece))
        inside = offsets[bisect_right(offsets, start) : bisect_left(offsets, end)]
        places = [0, *(offset - start for offset in inside), len(piece.source)]
        for first, last in pairwise(places):
            yield piece._replace(source=piece.source[first:last])


class TagEvent(NamedTuple):
    """A tag: the index of its element, whether it is the opening one, and its offset."""

    element: int
    opens: bool
    offset: int
    source: str


def tag_events(elements: Sequence[MarkupElement]) -> list[TagEvent]:
    """Return the tags of elements in the order of the line."""
    events: list[TagEvent] = []
    waiting: list[int] = []

    def close(number: int) -> None:
        element = elements[number]
        events.append(TagEvent(number, False, element.end, element.closing))

    for number, element in enumerate(elements):
        while waiting and waiting[-1] != element.parent:
            close(waiting.pop())
        events.append(TagEvent(number, True, element.start, element.opening))
        waiting.append(number)
    while waiting:
        close(waiting.pop())
    return [event for event in events if event.source]


def _is_of_words(character: str) -> bool:
    """Return whether a character is a letter, a quote or invisible."""
    return character in _QUOTES or unicodedata.category(character)[0] in "LMC"


class _Builder:
    """Puts the parts of a line together."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._elements: list[MarkupElement] = []
        self._atoms: list[Atom] = []
        self._open: list[int] = []

    def add_text(self, text: str) -> None:
        """Add text."""
        self._parts.append(text)
        self._length += len(text)

    def add_atom(self, text: str, source: str) -> None:
        """Add an atom with the text that stands for it."""
        start = self._length
        self.add_text(text)
        is_text = source.startswith("&") and len(text) <= 2 and all(map(_is_of_words, text))
        self._atoms.append(Atom(start, self._length, source, is_text))

    def open(self, source: str, has_contents: bool, separates: bool) -> None:
        """Add an element; one with contents stays open.

        :param separates: put a space, unless there is one.
        """
        parent = self._open[-1] if self._open else -1
        if has_contents:
            self._open.append(len(self._elements))
        separates = separates and self._add_space()
        self._elements.append(
            MarkupElement(self._length, self._length, source, "", parent, separates)
        )

    def close(self, source: str, separates: bool) -> None:
        """Close the element that was opened last; `separates` as in `open`."""
        index, end = self._open.pop(), self._length
        self._elements[index] = replace(
            self._elements[index],
            end=end,
            closing=source,
            separates_end=separates and self._add_space(),
        )

    def _add_space(self) -> bool:
        """Add a space, unless the text is empty or ends with one; return whether it was added."""
        if not self._parts or self._parts[-1][-1:].isspace():
            return False
        self.add_text(" ")
        return True

    def result(self) -> MarkedText:
        """Return the line."""
        return MarkedText("".join(self._parts), tuple(self._elements), tuple(self._atoms))
