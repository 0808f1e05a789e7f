"""EPUB 2 and 3: the pages of an e-book, its table of contents, its title and description.

The format is that of https://www.w3.org/TR/epub-33/ and https://idpf.org/epub/201: a ZIP archive in
which `META-INF/container.xml` names a package, whose manifest lists the pages, which are XHTML.
"""

import html
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from urllib.parse import unquote

from nmtkit.documents.archive import Archive, ArchiveDocument, open_archive
from nmtkit.documents.document import Document, DocumentOptions, Edit, Segment, Syntax
from nmtkit.documents.html import parse_html
from nmtkit.documents.xml_tree import Xml, XmlElement, find_outermost, without_sections
from nmtkit.errors import DataError
from nmtkit.io.moses_zip import shown_member

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PACKAGE = "application/oebps-package+xml"
_PAGES = frozenset(["application/xhtml+xml", "text/html"])
_CONTENTS = "application/x-dtbncx+xml"
"""Type of the table of contents of EPUB 2; that of EPUB 3 is a page."""

_METADATA = ("title", "description")
"""Metadata that is text; names of persons and publishers, identifiers and subjects stay."""


def parse_epub(data: bytes, name: str, options: DocumentOptions) -> ArchiveDocument:
    """Find the segments of an e-book.

    :raises DataError: see `open_archive`; or a part of it is no XML, is missing, or is encrypted.
    """
    archive = open_archive(data, name, "epub")
    encrypted = _encrypted(archive)
    parts: dict[str, Document] = {}
    for package in _packages(archive):
        _check_readable(archive, package, _CONTAINER, encrypted)
        xml = archive.xml(package)
        parts[package] = _document(xml, _children(xml, "metadata", _METADATA))
        for member, type in _texts(xml, package):
            if member in parts:
                continue
            _check_readable(archive, member, package, encrypted)
            if type == _CONTENTS:
                contents = archive.xml(member)
                parts[member] = _document(contents, _labels(contents))
            else:
                shown = f"{name}:{shown_member(member)}"
                parts[member] = parse_html(archive.read(member), shown, options)
    return ArchiveDocument.of(archive, parts)


def _packages(archive: Archive) -> list[str]:
    """Return the members that are packages: mostly one, more for several renditions of a book."""
    files = find_outermost(archive.xml(_CONTAINER).root, ("rootfile",))
    packages = [file.get("full-path") or "" for file in files if file.get("media-type") == _PACKAGE]
    if not packages:
        raise DataError(f"{archive.name}: {_CONTAINER} names no package; fetch the book again")
    return list(dict.fromkeys(_resolved(path, "") for path in packages))


def _encrypted(archive: Archive) -> frozenset[str]:
    """Return the members that are encrypted, or whose fonts are obfuscated."""
    if _ENCRYPTION not in archive:
        return frozenset()
    references = find_outermost(archive.xml(_ENCRYPTION).root, ("CipherReference",))
    return frozenset(_resolved(one.get("URI") or "", "") for one in references)


def _texts(xml: Xml, package: str) -> list[tuple[str, str]]:
    """Return the members with text and their types, in the order in which they are read.

    Those that are not in the order of reading, such as the table of contents, come last.
    """
    items = {
        item.get("id"): (_resolved(item.get("href") or "", package), type)
        for item in _children(xml, "manifest", ["item"])
        if (type := item.get("media-type") or "") in (*_PAGES, _CONTENTS)
    }
    read = [item.get("idref") for item in _children(xml, "spine", ["itemref"])]
    return [items[id] for id in dict.fromkeys([*read, *items]) if id in items]


def _children(xml: Xml, part: str, names: Sequence[str]) -> Iterable[XmlElement]:
    """Return the elements of some names in a part of a package."""
    element = xml.root.child(part)
    return find_outermost(element, names) if element else []


def _resolved(address: str, base: str) -> str:
    """Return the member to which an attribute of another member points.

    :param base: the other member; "" for addresses from the root of the archive.
    """
    path = unquote(html.unescape(address).partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path))


def _check_readable(
    archive: Archive, member: str, listed_in: str, encrypted: frozenset[str]
) -> None:
    """Refuse a book in which a member with text is missing or encrypted."""
    if member not in archive:
        raise DataError(
            f"{archive.name}: lacks {shown_member(member)}, which {shown_member(listed_in)} lists;"
            " fetch the book again, or correct the list"
        )
    if member in encrypted:
        raise DataError(
            f"{archive.name}: {shown_member(member)} is encrypted for the protection of rights"
            " (DRM); get the book without protection"
        )


def _labels(xml: Xml) -> Iterator[XmlElement]:
    """Yield the texts of a table of contents, but no names of authors or labels of pages."""
    for part in xml.root.children:
        if part.name not in ("docAuthor", "pageList"):
            yield from find_outermost(part, ("text",))


def _document(xml: Xml, elements: Iterable[XmlElement]) -> Document:
    """Return a file of XML in which some elements have text, which may be escaped HTML."""
    return xml.document(_segment(xml, element) for element in elements)


def _segment(xml: Xml, element: XmlElement) -> Segment:
    source = without_sections(xml.inner(element))
    write = partial(_write, source, element)
    return Segment(1, source, Syntax.XML, write)


def _write(
    source: str, element: XmlElement, translation: str, inner: Sequence[Edit]
) -> Iterable[Edit]:
    """Return the edit that replaces the text of an element, unless it is the same."""
    if translation == source:
        return []
    return [Edit(element.inner_start, element.inner_end, translation)]
