"""Office Open XML (ECMA-376): Word's paragraphs (`w:p`) and DrawingML's (`a:p`), with their runs.

A document is a package of parts whose types `[Content_Types].xml` tells. Both kinds of paragraphs
have the same element names: `p`, `r` for a run, `rPr` for its properties, `t` for its text.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import unquote

from nmtkit.documents.archive import CONTENT_TYPES, Archive, ArchiveDocument, open_archive
from nmtkit.documents.document import DocumentOptions, Segment
from nmtkit.documents.ooxml_fields import FIELD, INSTRUCTION, with_fields
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
from nmtkit.errors import DataError
from nmtkit.text.markup_pieces import PieceKind

DRAWINGS = r"\.(?:drawingml\.diagramData|drawingml\.diagramDrawing)\+xml\Z"
_TYPES = {
    "docx": re.compile(
        r"wordprocessingml\.(?:document\.main|template\.main|header|footer|footnotes|endnotes"
        rf"|comments)\+xml\Z|ms-word\.\w+\.macroEnabled\w*\.main\+xml\Z|{DRAWINGS}"
    ),
    "pptx": re.compile(rf"presentationml\.(?:slide|notesSlide)\+xml\Z|{DRAWINGS}"),
}
"""Types of the parts with text that people read."""

OPAQUE = frozenset(
    "pPr rPr del moveFrom delText instrText delInstrText oMath oMathPara sectPr tblPr tblGrid trPr"
    " tcPr sdtPr spPr bodyPr lstStyle rt m".split()
)
_DROPPED = frozenset(["proofErr", "lastRenderedPageBreak"])
"""What programs note of spelling and of pages that they have shown."""

_CONTAINERS = frozenset("hyperlink ins moveTo smartTag customXml dir bdo sdt".split())
_KEPT = frozenset("fld fldSimple oMath oMathPara m".split())
_RANGE = re.compile(r"(\w+)(Start|End)")
_SOFT_HYPHEN = "\xad"
_CHARACTERS = {"noBreakHyphen": "\u2011", "softHyphen": _SOFT_HYPHEN}
_NOISE = re.compile(
    r"<[\w.-]*:?(?:lang|noProof)(?:\s[^<>]*)?/>"
    r"""|\s(?:[\w.-]+:)?(?:hint|lang|altLang|dirty|err|noProof|smtClean|smtId|bmk)=(?:"[^"]*"|'[^']*')"""
)
"""Properties of a run by which no text looks different."""

_NO_PROPERTIES = re.compile(r"<[\w.:-]+\s*(?:/>|>\s*</[\w.:-]+>)")


def parse_docx(data: bytes, name: str, options: DocumentOptions) -> ArchiveDocument:
    """Find the paragraphs of a Word document.

    :raises DataError: see `open_archive`, or a part of it is no XML.
    """
    return _parse(data, name, "docx")


def parse_pptx(data: bytes, name: str, options: DocumentOptions) -> ArchiveDocument:
    """Find the paragraphs of a PowerPoint presentation: of its slides and their notes.

    :raises DataError: see `open_archive`, or a part of it is no XML.
    """
    return _parse(data, name, "pptx")


def _parse(data: bytes, name: str, format: str) -> ArchiveDocument:
    archive = open_archive(data, name, format)
    parts = {}
    for member in members_of(archive, _TYPES[format]):
        xml = archive.xml(member, OPAQUE)
        parts[member] = xml.document(Part(xml).segments())
    if format == "docx" and not parts:
        raise DataError(
            f"{name}: lacks the document that {CONTENT_TYPES} lists; fetch or save it again"
        )
    return ArchiveDocument.of(archive, parts)


def members_of(archive: Archive, pattern: re.Pattern[str]) -> list[str]:
    """Return the members of a package whose types match a pattern, in the order of the archive."""
    types = {}
    for child in archive.xml(CONTENT_TYPES).root.children:
        name = child.get("PartName") or f".{child.get('Extension')}"
        types[_folded(html.unescape(name))] = child.get("ContentType") or ""
    return [name for name in archive.names if pattern.search(_type_of(_folded(name), types))]


def _folded(name: str) -> str:
    """Return the name of a part as names are compared.

    Some programs begin names of members with a slash, or divide them by backslashes; characters
    outside ASCII may be written with percent signs.
    """
    return unquote(name).replace("\\", "/").lstrip("/").lower()


def _type_of(member: str, types: Mapping[str, str]) -> str:
    """Return the type of a member; that of its extension counts if it has none of its own."""
    return types.get(member, types.get(f".{member.rpartition('.')[2]}", ""))


def _within_words(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items in which a soft hyphen has the look of the text before it, whatever its run's."""
    look = None
    for item in items:
        if item.text == _SOFT_HYPHEN and look is not None:
            item = text_item(item.text, look)
        look = item.format if item.kind is PieceKind.TEXT else None
        yield item


class Part:
    """A part of a package with paragraphs; a format overrides what texts are in."""

    def __init__(self, xml: Xml) -> None:
        self._xml = xml

    def segments(self) -> Iterator[Segment]:
        """Yield the segments in the order of the part."""
        paragraphs = partial(find_outermost, names=("p",))
        yield from outermost_segments(self._xml.root, paragraphs, self._segment)

    def _segment(self, paragraph: XmlElement, inner: Sequence[Segment]) -> Segment | None:
        """Return the segment of a paragraph, or None if it has no text of its own."""
        children = paragraph.children
        start, end = paragraph.inner_start, paragraph.inner_end
        if children and children[0].name == "pPr":
            start, children = children[0].end, children[1:]
        if children and children[-1].name == "endParaRPr":
            end, children = children[-1].start, children[:-1]
        items = with_fields(list(_within_words(self._items(children, 0))))
        return paragraph_segment(self._xml.text, Span(start, end), items, inner)

    def _items(self, children: Sequence[XmlElement], depth: int) -> Iterator[Item]:
        for child in children:
            if child.name == "r":
                yield from self._run(child, depth)
            elif child.name in _CONTAINERS and depth < MAX_DEPTH:
                yield from self._container(child, depth)
            elif found := _RANGE.fullmatch(child.name):
                kind = PieceKind.OPENING if found[2] == "Start" else PieceKind.CLOSING
                mark = f"{found[1]} {child.get(f'{child.prefix}id')}"
                yield Item(kind, (Span(child.start, child.end),), found[1], mark=mark)
            elif child.name not in _DROPPED:
                yield self._other(child, PLAIN)

    def _container(self, element: XmlElement, depth: int) -> Iterator[Item]:
        """Yield what runs are in, such as a link: its beginning, its runs, and its end."""
        contents = element.child("sdtContent") if element.name == "sdt" else element
        if contents is None or contents.inner_start == contents.inner_end:
            yield self._other(element, PLAIN)
            return
        children = contents.children
        start = contents.inner_start
        while children and children[0].name.endswith("Pr"):
            start, children = children[0].end, children[1:]
        name = element.name
        yield Item(PieceKind.OPENING, (Span(element.start, start),), name)
        yield from self._items(children, depth + 1)
        yield Item(PieceKind.CLOSING, (Span(contents.inner_end, element.end),), name)

    def _run(self, run: XmlElement, depth: int) -> Iterator[Item]:
        """Yield the parts of a run; each has a copy of its tags and properties."""
        look = self._format(run)
        for child in run.children:
            if child.name == "t":
                yield from self._text(child, look)
            elif child.name in _CHARACTERS:
                yield text_item(_CHARACTERS[child.name], self._of_text(run, look))
            elif child.name == "fldChar":
                kind = child.get(f"{child.prefix}fldCharType") or ""
                yield point_item(Span(child.start, child.end), f"{FIELD}{kind}", look)
            elif child.name == "instrText":
                item = point_item(Span(child.start, child.end), INSTRUCTION, look)
                yield item._replace(text=self._xml.inner(child))
            elif child.name == "ruby":
                yield from self._ruby(child, look, depth)
            elif child.name not in _DROPPED and child.name != "rPr":
                yield self._other(child, look)

    def _ruby(self, ruby: XmlElement, look: Format, depth: int) -> Iterator[Item]:
        """Yield words with their reading, which stays with their translation."""
        base = ruby.child("rubyBase")
        if base is None or base.inner_start == base.inner_end or depth >= MAX_DEPTH:
            yield self._other(ruby, look)
            return
        before, behind = Span(ruby.start, base.inner_start), Span(base.inner_end, ruby.end)
        yield Item(PieceKind.OPENING, (look.opening, before), "ruby")
        yield from self._items(base.children, depth + 1)
        yield Item(PieceKind.CLOSING, (behind, look.closing), "ruby")

    def _format(self, run: XmlElement) -> Format:
        """Return the tags and properties of a run."""
        properties = run.child("rPr")
        source = self._xml.text[properties.start : properties.end] if properties else ""
        key = _NOISE.sub("", source)
        key = "" if _NO_PROPERTIES.fullmatch(key) else key
        return Format(key, f"{run.tag}{source}", f"</{run.prefix}r>")

    def _of_text(self, run: XmlElement, look: Format) -> Format:
        """Return the format of a run's text, in which Word has to be told to keep spaces."""
        space = ' xml:space="preserve"' if run.prefix == self._xml.root.prefix else ""
        opening, closing = f"<{run.prefix}t{space}>", f"</{run.prefix}t>"
        return Format(look.key, look.opening + opening, closing + look.closing)

    def _text(self, element: XmlElement, look: Format) -> Iterator[Item]:
        """Yield the text of a run; a tab in it is a part of its own."""
        assert element.parent is not None
        format = self._of_text(element.parent, look)
        text = without_sections(self._xml.inner(element))
        if element.prefix == self._xml.root.prefix and element.get("xml:space") != "preserve":
            text = text.strip(" \t\r\n")
        for number, part in enumerate(text.split("\t")):
            if number:
                yield point_item("\t", GAP, format)
            if part:
                yield text_item(part, format)

    def _other(self, element: XmlElement, look: Format) -> Item:
        """Return what is not translated: a tab, a break, a note, a picture, a formula."""
        span = Span(element.start, element.end)
        if element.name in _KEPT:
            source = (look.opening, span, look.closing)
            return kept_item(source, self._shown(element), element.name)
        kind = element.get(f"{element.prefix}type")
        name = BREAK if element.name in ("br", "cr") and kind in (None, "textWrapping") else ""
        is_gap = element.name in ("tab", "ptab", "br")
        return point_item(span, name or (GAP if is_gap else element.name), look)

    def _shown(self, element: XmlElement) -> str:
        """Return the text that something kept shows."""
        if element.name in OPAQUE:
            return visible_text(self._xml.inner(element))
        return "".join(self._xml.inner(one) for one in find_outermost(element, ("t",)))
