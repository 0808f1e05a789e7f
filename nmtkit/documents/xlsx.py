"""Excel workbooks (ECMA-376, SpreadsheetML): texts of cells, comments and drawings.

Most texts stand in one part that all sheets share, some in their cells. A text to which another
place in the workbook refers by its words stays: see `xlsx_references`.
"""

import html
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from nmtkit.documents.archive import ArchiveDocument, open_archive
from nmtkit.documents.document import DocumentOptions, Edit, Segment
from nmtkit.documents.ooxml import DRAWINGS, OPAQUE, Part, members_of
from nmtkit.documents.paragraphs import (
    BREAK,
    GAP,
    PLAIN,
    Format,
    Item,
    Span,
    paragraph_segment,
    point_item,
    text_item,
    visible_text,
)
from nmtkit.documents.xlsx_references import find_references, folded
from nmtkit.documents.xml_tree import Xml, XmlElement, find_outermost, without_sections
from nmtkit.errors import DataError
from nmtkit.text.markup_pieces import PieceKind

MAX_CELL = 32_767
"""Characters that a cell of Excel can hold."""

_TYPES = re.compile(
    r"spreadsheetml\.(?:sharedStrings|comments)\+xml\Z|ms-excel\.threadedcomments\+xml\Z"
    rf"|officedocument\.drawing\+xml\Z|{DRAWINGS}"
)
_STRINGS = {
    "sst": ("si",),
    "worksheet": ("is", "v"),
    "comments": ("text",),
    "ThreadedComments": ("text",),
}
"""Root of a part -> elements of it with the texts; in others there are paragraphs."""

_OPAQUE = OPAQUE | {"f", "v", "rPh", "mentions"}
_SIGN = re.compile(
    r"(?P<line>(?:_x000D_|&#(?:13|[xX]0?[dD]);)?(?:\r?\n|&#(?:10|[xX]0?[aA]);))"
    r"|\t|_x005F_x[0-9A-F]{4}_|_x(?!005F)[0-9A-F]{4}_"
)
"""The end of a line in a cell, a tab, and other characters in the notation of Excel."""


def parse_xlsx(data: bytes, name: str, options: DocumentOptions) -> ArchiveDocument:
    """Find the texts of an Excel workbook.

    :raises DataError: see `open_archive`, or a part of it is no XML.
    """
    archive = open_archive(data, name, "xlsx")
    names, sheets = find_references(archive)
    parts = {}
    for member in [*members_of(archive, _TYPES), *sheets]:
        xml = archive.xml(member, _OPAQUE)
        is_strings = xml.root.name in _STRINGS
        part = _Strings(xml, names, name) if is_strings else Part(xml)
        parts[member] = xml.document(part.segments())
    return ArchiveDocument.of(archive, parts)


class _Strings(Part):
    """A part with strings: each has one text, or runs of text.

    :param names: texts that stay. file: for messages.
    """

    def __init__(self, xml: Xml, names: Collection[str], file: str) -> None:
        super().__init__(xml)
        self._names, self._file = names, file

    def segments(self) -> Iterator[Segment]:
        """Yield the segments in the order of the part."""
        for element in find_outermost(self._xml.root, _STRINGS[self._xml.root.name]):
            segment = self._string(element)
            if segment is not None:
                yield self._limited(segment)

    def _string(self, element: XmlElement) -> Segment | None:
        """Return the segment of a string, without the readings that stand behind it."""
        texts = [child for child in element.children if child.name in ("t", "r")]
        is_plain = not any(child.name == "r" for child in texts)
        if self._has_text(element):
            texts = [element]
        if not texts or self._is_referred_to(texts):
            return None
        if is_plain:
            [text] = texts[:1]
            place = Span(text.inner_start, text.inner_end)
            items = list(_pieces(without_sections(self._xml.inner(text)), PLAIN))
        else:
            place = Span(texts[0].start, texts[-1].end)
            items = list(self._items(texts, 0))
        return paragraph_segment(self._xml.text, place, items, [])

    def _has_text(self, element: XmlElement) -> bool:
        """Return whether an element itself has a text, not a result or the name of a person."""
        around = element.parent
        assert around is not None
        if element.name == "v":
            return around.get("t") == "str" and around.child("f") is None
        return around.name == "threadedComment" and around.child("mentions") is None

    def _is_referred_to(self, texts: Sequence[XmlElement]) -> bool:
        """Return whether another place refers to a string by its text."""
        shown = (visible_text(without_sections(self._xml.inner(one))) for one in texts)
        return folded(html.unescape("".join(shown))) in self._names

    def _text(self, element: XmlElement, look: Format) -> Iterator[Item]:
        """Yield the text of a run; the end of a line in it is a part of its own."""
        for item in super()._text(element, look):
            if item.kind is PieceKind.TEXT:
                yield from _pieces(item.text, item.format)
            else:
                yield item

    def _limited(self, segment: Segment) -> Segment:
        """Return a segment whose translation is refused if a cell cannot hold it."""

        def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
            edits = list(segment.write(translation, inner))
            size = sum(len(edit.text) for edit in edits)
            if size > MAX_CELL:  # with its tags
                size = sum(len(html.unescape(visible_text(edit.text))) for edit in edits)
            if size > MAX_CELL:
                raise DataError(
                    f"{self._file}: a cell has {size:,} characters in the translation, more than"
                    f" the {MAX_CELL:,} that Excel reads; divide its text among cells"
                )
            return edits

        return replace(segment, write=write)


def _pieces(text: str, format: Format) -> Iterator[Item]:
    """Yield a text, divided at ends of lines and other signs, which stay."""
    position = 0
    for found in _SIGN.finditer(text):
        if position < found.start():
            yield text_item(text[position : found.start()], format)
        yield point_item(found[0], BREAK if found["line"] else GAP, format)
        position = found.end()
    if position < len(text):
        yield text_item(text[position:], format)
