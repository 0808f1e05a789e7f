"""The elements of an XML file and where they stand in it."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from nmtkit.documents.document import Document, DocumentOptions, Lookup, Segment
from nmtkit.documents.encoding import Encoding, decode, find_mark
from nmtkit.documents.inline import attribute_value, find_attribute
from nmtkit.errors import DataError
from nmtkit.io.xml_reader import XmlReader, local_name
from nmtkit.text.markup_pieces import Markup, Piece, PieceKind, split_pieces

_DECLARED = re.compile(rb"""<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{1,40})["']""")
_DOCUMENT_TYPE = re.compile(r"<!DOCTYPE[^\[<>]*\[", re.IGNORECASE)
_HEAD = 100_000
"""Characters in which a document type is looked for."""


@dataclass(slots=True)
class XmlElement:
    """An element of a file.

    name: without prefix. tag: the opening tag. start, end: offsets of the whole element.
    inner_start, inner_end: offsets of its contents; they are equal in `<a/>`.
    children: those that are not within one of the elements whose contents are not looked at.
    """

    name: str
    tag: str
    start: int
    inner_start: int
    parent: "XmlElement | None"
    inner_end: int = -1
    end: int = -1
    children: list["XmlElement"] = field(default_factory=list)

    @property
    def tag_end(self) -> int:
        """Offset behind the opening tag."""
        return self.start + len(self.tag)

    @property
    def prefix(self) -> str:
        """Prefix of the name, with its colon."""
        name = re.match(r"<([^\s/>]+)", self.tag)
        return name[1][: -len(self.name)] if name else ""

    def get(self, attribute: str) -> str | None:
        """Return the value of an attribute as it is written, or None."""
        return attribute_value(self.tag, attribute)

    def child(self, name: str) -> "XmlElement | None":
        """Return the first child of a name, or None."""
        return next((child for child in self.children if child.name == name), None)


@dataclass(frozen=True)
class Xml:
    """An XML file: its text and its root."""

    text: str
    encoding: Encoding
    root: XmlElement

    def inner(self, element: XmlElement) -> str:
        """Return the contents of an element as they are written."""
        return self.text[element.inner_start : element.inner_end]

    def document(
        self, segments: Iterable[Segment], warnings: Sequence[tuple[int, str]] = ()
    ) -> Document:
        """Return the file with its segments; it can hold what its encoding lacks, as references."""
        return Document(self.text, self.encoding, list(segments), warnings, references=True)

    def space_before(self, element: XmlElement) -> str:
        """Return the whitespace directly before an element."""
        start = element.start
        while start and self.text[start - 1] in " \t\r\n":
            start -= 1
        return self.text[start : element.start]


def read_xml(data: bytes, name: str, kind: str, opaque: frozenset[str]) -> Xml:
    """Return the elements of an XML file with a certain root.

    :param kind: the format, such as "XLIFF", whose root is `<xliff>`.
    :raises DataError: the root is another, or see `read_elements`.
    """
    xml = read_elements(data, name, kind, opaque)
    if xml.root.name != kind.lower():
        raise DataError(f"{name}: the document is <{xml.root.name[:50]}>, not <{kind.lower()}>")
    return xml


def read_elements(data: bytes, name: str, kind: str, opaque: frozenset[str]) -> Xml:
    """Return the elements of an XML file.

    :param kind: the format, for messages.
    :param opaque: elements whose contents are not looked at.
    :raises DataError: the file is not well-formed, declares entities or refers to other files, or
        its encoding cannot be read.
    """
    reader: XmlReader[None] = XmlReader(name, kind)
    reader.parse(data)
    found = _DECLARED.search(data, 0, 400)
    declared = found[1].decode() if found else _guessed(data)
    text, encoding = decode(data, name, declared)
    if _DOCUMENT_TYPE.search(text, 0, _HEAD):
        raise DataError(f"{name}: its document type has declarations; remove them from the file")
    return Xml(text, encoding, _tree(text, name, opaque))


def without_sections(source: str) -> str:
    """Return the contents of an element with escaped text in place of CDATA sections."""
    begin, end = "<![CDATA[", "]]>"
    if begin not in source:
        return source
    return "".join(
        escape(piece.source[len(begin) : -len(end)])
        if piece.source.startswith(begin) and piece.kind is PieceKind.POINT
        else piece.source
        for piece in split_pieces(source, Markup.XML)
    )


class Units:
    """The units of a file, which have sources and translations."""

    def __init__(self, xml: Xml, options: DocumentOptions) -> None:
        self._xml, self._options = xml, options
        self._lines = Lookup.of(xml.text)


def _guessed(data: bytes) -> str | None:
    """Return the encoding of a file that declares none, by its first character."""
    if find_mark(data)[0] is None and data[:2] in (b"<\0", b"\0<"):
        return "utf-16"
    return None


def _tree(text: str, name: str, opaque: frozenset[str]) -> XmlElement:
    """Return the root of a file that is well-formed."""
    top = XmlElement("", "", 0, 0, None)
    current, position, depth = top, 0, 0
    for piece in split_pieces(text, Markup.XML):
        start, position = position, position + len(piece.source)
        if piece.kind in (PieceKind.TEXT, PieceKind.ENTITY) or piece.source[:2] in ("<!", "<?"):
            continue
        if piece.kind is PieceKind.CLOSING:
            if depth:
                depth -= 1
                continue
            current.inner_end, current.end = start, position
            current = current.parent or top
        elif depth or current.name in opaque:
            depth += piece.kind is PieceKind.OPENING
        else:
            element = _element(piece, start, position, current)
            current.children.append(element)
            current = element if piece.kind is PieceKind.OPENING else current
    if not top.children or current is not top:
        raise DataError(f"{name}: a tag of it cannot be read; write it again with an XML tool")
    return top.children[0]


def _element(piece: Piece, start: int, end: int, parent: XmlElement) -> XmlElement:
    return XmlElement(local_name(piece.name), piece.source, start, end, parent, end, end)


def walk(root: XmlElement) -> Iterator[XmlElement]:
    """Yield an element and all within it, in the order of the file."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += reversed(element.children)


def find_outermost(root: XmlElement, names: Collection[str]) -> Iterator[XmlElement]:
    """Yield the elements of some names within an element, but none within another of them."""
    waiting = root.children[::-1]
    while waiting:
        element = waiting.pop()
        if element.name in names:
            yield element
        else:
            waiting += reversed(element.children)


def without_attribute(tag: str, name: str) -> str:
    """Return an opening tag without an attribute."""
    found = find_attribute(tag, name)
    return tag[: found.start()] + tag[found.end() :] if found else tag


def with_attribute(tag: str, name: str, value: str) -> str:
    """Return an opening tag with an attribute, in place of an earlier value."""
    found = find_attribute(tag, name)
    if found:
        return f'{tag[: found.start(2)]}"{value}"{tag[found.end(2) :]}'
    end = len(tag) - (2 if tag.endswith("/>") else 1)
    head = tag[:end].rstrip()
    return f'{head} {name}="{value}"{tag[len(head) :]}'
