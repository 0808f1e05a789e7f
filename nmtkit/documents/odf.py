"""OpenDocument (ISO/IEC 26300): paragraphs and headings of `content.xml`, headers of `styles.xml`.

A paragraph holds its text directly, with spans of automatic styles around parts of it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from nmtkit.documents.archive import Archive, ArchiveDocument, open_archive
from nmtkit.documents.document import DocumentOptions, Segment
from nmtkit.documents.paragraphs import (
    BREAK,
    GAP,
    MAX_DEPTH,
    PLAIN,
    Format,
    Item,
    Span,
    kept_item,
    outermost_segments,
    paragraph_segment,
    point_item,
    text_item,
    visible_text,
)
from nmtkit.documents.xml_tree import Xml, XmlElement, find_outermost, without_sections
from nmtkit.text.markup_pieces import PieceKind

CONTENT, _STYLES, _MANIFEST = "content.xml", "styles.xml", "META-INF/manifest.xml"
_PARAGRAPHS = ("p", "h")
_HEADERS = frozenset(
    f"{name}{which}" for name in ("header", "footer") for which in ("", "-left", "-first")
)
"""Elements of master pages with text that stands on every page."""

_OPAQUE = frozenset("tracked-changes scripts font-face-decls forms".split())
_COLUMNS = "3"
"""Spaces from which on they make a gap, as between columns."""

_BREAKS = {"s": GAP, "tab": GAP, "line-break": BREAK}
_RANGE = re.compile(r"(.+)-(start|end)")
_RANGE_NAMES = ("name", "id", "change-id")
"""Attributes that the beginning and the end of a range share."""

_NOISE = re.compile(
    r"""\s[\w.-]+:(?:rsid|paragraph-rsid|(?:language|country|script|rfc-language-tag)[\w-]*)="""
    r"""(?:"[^"]*"|'[^']*')"""
)
"""Properties of a text by which it does not look different."""

_NO_PROPERTIES = re.compile(r"<[\w.:-]+\s*/?>")


def parse_odt(data: bytes, name: str, options: DocumentOptions) -> ArchiveDocument:
    """Find the paragraphs of an OpenDocument text.

    :raises DataError: see `open_archive`, or a part of it is no XML.
    """
    return _parse(data, name, "odt")


def parse_odp(data: bytes, name: str, options: DocumentOptions) -> ArchiveDocument:
    """Find the paragraphs of an OpenDocument presentation.

    :raises DataError: see `open_archive`, or a part of it is no XML.
    """
    return _parse(data, name, "odp")


def _parse(data: bytes, name: str, format: str) -> ArchiveDocument:
    archive = open_archive(data, name, format)
    if _MANIFEST in archive and b":encryption-data" in archive.read(_MANIFEST):
        raise archive.protected()
    parts = {}
    for member in text_members(archive, format):
        xml = archive.xml(member, _OPAQUE)
        parts[member] = xml.document(_Part(xml).segments(member == _STYLES))
    return ArchiveDocument.of(archive, parts)


def text_members(archive: Archive, format: str) -> list[str]:
    """Return the members with text; presentations have none in the headers of their masters."""
    has_headers = format == "odt" and _STYLES in archive
    return [CONTENT, _STYLES] if has_headers else [CONTENT]


class _Part:
    """A part of a document with paragraphs."""

    def __init__(self, xml: Xml) -> None:
        self._xml = xml
        self._looks = _looks(xml)

    def segments(self, headers_only: bool) -> Iterator[Segment]:
        """Yield the segments in the order of the part."""
        roots = find_outermost(self._xml.root, _HEADERS) if headers_only else [self._xml.root]
        for root in roots:
            yield from outermost_segments(root, _paragraphs, self._segment)

    def _segment(self, paragraph: XmlElement, inner: Sequence[Segment]) -> Segment | None:
        """Return the segment of a paragraph, or None if it has no text of its own."""
        place = Span(paragraph.inner_start, paragraph.inner_end)
        items = list(self._items(paragraph, PLAIN, 0))
        return paragraph_segment(self._xml.text, place, items, inner)

    def _items(self, element: XmlElement, format: Format, depth: int) -> Iterator[Item]:
        """Yield the parts of a paragraph, or of a span or link in it."""
        position = element.inner_start
        for child in element.children:
            yield from self._text(position, child.start, format)
            position = child.end
            is_deep = depth >= MAX_DEPTH or child.inner_start == child.inner_end
            if child.name == "span" and not is_deep:
                yield from self._items(child, self._within_span(child, format), depth + 1)
            elif child.name == "a" and not is_deep:
                yield Item(PieceKind.OPENING, (Span(child.start, child.inner_start),), "link")
                yield from self._items(child, format, depth + 1)
                yield Item(PieceKind.CLOSING, (Span(child.inner_end, child.end),), "link")
            elif child.name == "ruby" and not is_deep:
                yield from self._ruby(child, format, depth + 1)
            elif found := _RANGE.fullmatch(child.name):
                kind = PieceKind.OPENING if found[2] == "start" else PieceKind.CLOSING
                source = (Span(child.start, child.end),)
                yield Item(kind, source, found[1], mark=f"{found[1]} {_range_name(child)}")
            elif child.name != "soft-page-break":
                yield self._other(child, format)
        yield from self._text(position, element.inner_end, format)

    def _ruby(self, ruby: XmlElement, format: Format, depth: int) -> Iterator[Item]:
        """Yield words with their reading, which stays with their translation."""
        base = ruby.child("ruby-base")
        if base is None:
            yield self._other(ruby, format)
            return
        yield Item(PieceKind.OPENING, (Span(ruby.start, base.inner_start),), "ruby")
        yield from self._items(base, format, depth)
        yield Item(PieceKind.CLOSING, (Span(base.inner_end, ruby.end),), "ruby")

    def _text(self, start: int, end: int, format: Format) -> Iterator[Item]:
        text = visible_text(without_sections(self._xml.text[start:end]))
        if text:
            yield text_item(text, format)

    def _within_span(self, span: XmlElement, format: Format) -> Format:
        """Return the format of the text in a span, in a format around it."""
        style = span.get(f"{span.prefix}style-name") or ""
        look = self._looks.get(style, style)
        if not look:
            return format
        opening, closing = f"{format.opening}{span.tag}", f"</{span.prefix}span>{format.closing}"
        return Format(f"{format.key} {look}", opening, closing)

    def _other(self, element: XmlElement, format: Format) -> Item:
        """Return what is not translated: spaces, a break, a note, a picture, a field."""
        span = Span(element.start, element.end)
        if element.name == "s" and not _is_gap(element):
            return text_item(" ", format)
        name = _BREAKS.get(element.name, element.name)
        is_field = element.parent is not None and element.prefix == element.parent.prefix
        if is_field and name == element.name and not any(find_outermost(element, _PARAGRAPHS)):
            source = (format.opening, span, format.closing)
            return kept_item(source, visible_text(self._xml.inner(element)), name)
        return point_item(span, name, format)


def _paragraphs(element: XmlElement) -> Iterator[XmlElement]:
    """Yield the outermost paragraphs within an element, without the results of formulas."""
    return (one for one in find_outermost(element, _PARAGRAPHS) if not _is_computed(one))


def _is_computed(paragraph: XmlElement) -> bool:
    """Return whether a paragraph is the result of a formula in a cell."""
    cell = paragraph.parent
    return cell is not None and cell.get(f"{cell.prefix}formula") is not None


def _is_gap(element: XmlElement) -> bool:
    """Return whether spaces are so many that they make a gap."""
    count = element.get(f"{element.prefix}c") or "1"
    return len(count) > 1 or count >= _COLUMNS


def _range_name(element: XmlElement) -> str | None:
    """Return what the beginning and the end of a range have in common."""
    names = (element.get(f"{element.prefix}{name}") for name in _RANGE_NAMES)
    return next((name for name in names if name is not None), None)


def _looks(xml: Xml) -> Mapping[str, str]:
    """Return the properties of each automatic style of text; those that change nothing are ""."""
    looks: dict[str, str] = {}
    for styles in find_outermost(xml.root, ("automatic-styles",)):
        for style in styles.children:
            if style.get(f"{style.prefix}family") == "text":
                parent = style.get(f"{style.prefix}parent-style-name") or ""
                tags = (_NOISE.sub("", child.tag) for child in style.children)
                properties = "".join(tag for tag in tags if not _NO_PROPERTIES.fullmatch(tag))
                looks[style.get(f"{style.prefix}name") or ""] = f"{parent}{properties}"
    return looks
