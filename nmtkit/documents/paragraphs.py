"""Paragraphs of office files: runs of text become inline elements of one text, and runs again.

In an office file each stretch of text has its own element with its properties, and so have tabs,
notes and pictures. As a segment a paragraph is a line of HTML: `a <run-1>b</run-1><br id="2"/>`.
Text without an element is written with the properties that most of the text has; a number stands
for what the file has in its place.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from nmtkit.documents.document import Edit, Segment, Syntax, apply_edits
from nmtkit.documents.xml_tree import XmlElement
from nmtkit.text.markup_pieces import Markup, PieceKind, split_pieces

MAX_DEPTH = 30
"""Depth of elements within a paragraph whose text is looked at, and of paragraphs in paragraphs."""

BREAK = "br"
"""Name of an item that breaks a line."""

GAP = "hr"
"""Name of an item at which a sentence ends: it stays between the same sentences."""

_PLACEHOLDER = re.compile(
    r"<kept-(?P<kept>\d+) [^<>]*>.*?</kept-(?P=kept)>"
    r'|<(?P<end>/?)[A-Za-z]+(?:-| id=")(?P<number>\d+)[^<>]*>',
    re.DOTALL,
)
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""

_READING = re.compile(
    r"<(?P<reading>(?:[\w.-]+:)?(?:rt|ruby-text))(?=[\s>])(?:[^<]|<(?!/(?P=reading)>)|(?!))*+"
    r"</(?P=reading)>"
)
"""How a text is pronounced, in Word and LibreOffice."""

_NAME_SIGNS = re.compile("[^A-Za-z]+")


class Span(NamedTuple):
    """A part of the file by its offsets, in which other paragraphs may be translated."""

    start: int
    end: int


class Format(NamedTuple):
    """The look of a text: equal looks have equal keys. opening, closing: what it stands between."""

    key: str = ""
    opening: str = ""
    closing: str = ""


PLAIN = Format()
"""The format of text that stands in its paragraph directly."""


class Item(NamedTuple):
    """A part of a paragraph.

    kind: text, something kept for which a text stands, a point without text, or the beginning or
    the end of a container. source: how it is written in the file. name: of its element in the
    segment. text: as XML, for text and what is kept. format: of a text. mark: of the beginning and
    the end of a range, which unlike a container may cross others; both have the same.
    """

    kind: PieceKind
    source: tuple[str | Span, ...]
    name: str = ""
    text: str = ""
    format: Format = PLAIN
    mark: str = ""


def text_item(text: str, format: Format) -> Item:
    """Return a text with its format."""
    source = (format.opening, text, format.closing)
    return Item(PieceKind.TEXT, source, "run", text, format)


def point_item(source: str | Span, name: str, format: Format = PLAIN) -> Item:
    """Return a part without text. format: the run that it stands in."""
    return Item(PieceKind.POINT, (format.opening, source, format.closing), name)


def kept_item(source: Sequence[str | Span], text: str, name: str) -> Item:
    """Return a part that is kept, for which a text stands; without letters or digits, a point."""
    text = " ".join(text.split())
    if not any(map(str.isalnum, text)):
        return Item(PieceKind.POINT, tuple(source), name)
    return Item(PieceKind.KEPT, tuple(source), name, text)


def visible_text(source: str) -> str:
    """Return the text between the tags of a part of the file, as XML.

    Of ruby that is the text without its reading.
    """
    source = _READING.sub("", source)
    kinds = (PieceKind.TEXT, PieceKind.ENTITY)
    return "".join(p.source for p in split_pieces(source, Markup.XML) if p.kind in kinds)


def paragraph_segment(
    text: str, place: Span, items: Sequence[Item], inner: Sequence[Segment]
) -> Segment | None:
    """Return the segment of a paragraph, or None if it has no letters.

    :param text: the file. place: of the items in it. inner: the segments of paragraphs within.
    """
    letters = (html.unescape(item.text) for item in items if item.kind is PieceKind.TEXT)
    if not any(any(map(str.isalpha, one)) for one in letters):
        return None
    paragraph = _Paragraph(text, place, items)
    source = paragraph.source()
    write = partial(paragraph.write, source)
    return Segment(1, source, Syntax.HTML, write, inner=inner)


def outermost_segments(
    element: XmlElement,
    find: Callable[[XmlElement], Iterable[XmlElement]],
    segment_of: Callable[[XmlElement, Sequence[Segment]], Segment | None],
    depth: int = 0,
) -> Iterator[Segment]:
    """Yield the segments of the outermost paragraphs within an element.

    :param find: returns the outermost paragraphs within an element.
    :param segment_of: returns the segment of a paragraph, with those of the paragraphs within it,
        or None if it has no text of its own; those within it then stand alone.
    """
    if depth < MAX_DEPTH:
        for paragraph in find(element):
            inner = list(outermost_segments(paragraph, find, segment_of, depth + 1))
            segment = segment_of(paragraph, inner)
            yield from inner if segment is None else [segment]


class _Paragraph:
    """A paragraph: its items, and what belongs together among them."""

    def __init__(self, text: str, place: Span, items: Sequence[Item]) -> None:
        self._text, self._place, self._items = text, place, items
        self._begun: set[int] = set()
        self._ended_early: set[int] = set()
        self._partners = _partners(items)
        self._bases = self._base_formats()
        self._formats = [(-1, self._bases[-1])]  # of elements that are open in a translation

    def _base_formats(self) -> dict[int, Format]:
        """Return the format of most of the text in each container; -1 is the paragraph."""
        bases: dict[int, Format] = {}
        waiting: list[tuple[int, Counter[str], dict[str, Format]]] = [(-1, Counter(), {})]
        for number, item in enumerate(self._items):
            if item.kind is PieceKind.TEXT:
                _, sizes, formats = waiting[-1]
                sizes[item.format.key] += sum(map(str.isalnum, item.text))
                formats.setdefault(item.format.key, item.format)
            elif self._is_container(number):
                if item.kind is PieceKind.OPENING:
                    waiting.append((number, Counter(), {}))
                else:
                    _add_base(bases, *waiting.pop())
        _add_base(bases, *waiting.pop())
        return bases

    def _is_container(self, number: int) -> bool:
        item = self._items[number]
        return item.kind in (PieceKind.OPENING, PieceKind.CLOSING) and not item.mark

    def source(self) -> str:
        """Return the text of the segment."""
        parts: list[str] = []
        containers = [-1]
        run = -1  # number of the text with which an element of another format began
        for number, item in enumerate(self._items):
            if item.kind is PieceKind.TEXT:
                key = item.format.key
                if run >= 0 and self._items[run].format.key != key:
                    parts.append(f"</run-{run}>")
                    run = -1
                if run < 0 and key != self._bases[containers[-1]].key:
                    parts.append(f"<run-{number}>")
                    run = number
                parts.append(item.text)
                continue
            ends_run = self._is_container(number) or self._partners.get(number, number) < run
            if run >= 0 and ends_run:
                parts.append(f"</run-{run}>")
                run = -1
            parts.append(self._element(number))
            if self._is_container(number):
                containers = (
                    [*containers, number] if item.kind is PieceKind.OPENING else containers[:-1]
                )
        return "".join(parts) + (f"</run-{run}>" if run >= 0 else "")

    def _element(self, number: int) -> str:
        """Return the tag that stands for an item without text, or the element of what is kept."""
        item = self._items[number]
        partner = self._partners.get(number)
        name = _NAME_SIGNS.sub("", item.name) or "x"
        if item.kind is PieceKind.KEPT:
            return f'<kept-{number} translate="no">{item.text}</kept-{number}>'
        if item.name in (BREAK, GAP):
            return f'<{name} id="{number}"/>'
        if partner is None:
            return f"<{name}-{number}/>"
        return f"<{name}-{number}>" if number < partner else f"</{name}-{partner}>"

    def write(self, source: str, translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        """Return the edits that a translation makes; without one, those of inner paragraphs."""
        if translation == source:
            return inner
        self._formats = [(-1, self._bases[-1])]
        self._begun, self._ended_early = set(), set()
        parts: list[str] = []
        position = 0
        for found in _PLACEHOLDER.finditer(translation):
            parts.append(_written(translation[position : found.start()], self._formats[-1][1]))
            position = found.end()
            number = int(found["kept"] or found["number"])
            numbers = self._end(number) if found["end"] else self._begin(number)
            parts += [self._source(number, inner) for number in numbers]
        parts.append(_written(translation[position:], self._formats[-1][1]))
        return [Edit(*self._place, "".join(parts))]

    def _begin(self, number: int) -> list[int]:
        """Begin an item, and return the items to be written.

        The end of a range whose beginning comes only now stands behind it.
        """
        self._begun.add(number)
        item = self._items[number]
        if item.kind is PieceKind.TEXT:
            self._formats.append((number, item.format))
            return []
        if number in self._bases:
            self._formats.append((number, self._bases[number]))
        return [number, self._partners[number]] if number in self._ended_early else [number]

    def _end(self, number: int) -> list[int]:
        """End an item by its first number, and return the items to be written."""
        self._formats = [one for one in self._formats if one[0] != number]
        if self._items[number].kind is PieceKind.TEXT:
            return []
        if number in self._begun:
            return [self._partners[number]]
        self._ended_early.add(number)
        return []

    def _source(self, number: int, edits: Sequence[Edit]) -> str:
        """Return what an item is in the file, with the translations of paragraphs in it."""
        return "".join(
            part if isinstance(part, str) else self._edited(part, edits)
            for part in self._items[number].source
        )

    def _edited(self, span: Span, edits: Sequence[Edit]) -> str:
        inner = [edit for edit in edits if span.start <= edit.start < span.end]
        return apply_edits(self._text[slice(*span)], inner, offset=span.start)


def _add_base(
    bases: dict[int, Format], number: int, sizes: Counter[str], formats: dict[str, Format]
) -> None:
    common = sizes.most_common(1)
    bases[number] = formats[common[0][0]] if common else PLAIN


def _written(text: str, format: Format) -> str:
    """Return a text as it is written in its format."""
    text = _FORBIDDEN.sub("", text)
    return f"{format.opening}{text}{format.closing}" if text else ""


def _partners(items: Sequence[Item]) -> dict[int, int]:
    """Return for each beginning the number of its end, and the other way round.

    A range that does not begin and end in the same container has no partners.
    """
    partners: dict[int, int] = {}
    containers = [-1]
    marks: dict[tuple[str, int], int] = {}
    for number, item in enumerate(items):
        place = (item.mark, containers[-1])
        if item.kind is PieceKind.OPENING:
            if item.mark:
                marks[place] = number
            else:
                containers.append(number)
        elif item.kind is PieceKind.CLOSING:
            first = marks.pop(place, None) if item.mark else containers.pop()
            if first is not None:
                partners[first], partners[number] = number, first
    return partners


def shifted(segment: Segment, offset: int, line: int) -> Segment:
    """Return a segment of a text that stands behind others, from an offset on.

    :param line: number of the paragraph in the file, which those within it get, too.
    """

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        own = [edit._replace(start=edit.start - offset, end=edit.end - offset) for edit in inner]
        for edit in segment.write(translation, own):
            yield edit._replace(start=edit.start + offset, end=edit.end + offset)

    inner = [shifted(one, offset, line) for one in segment.inner]
    return replace(segment, line=line, write=write, inner=inner)
