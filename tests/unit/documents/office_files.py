"""Office files and e-books as programs write them, with the contents of a test."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from urllib.parse import quote

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
TYPE = "application/vnd.openxmlformats-officedocument"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = " ".join(
    f'xmlns:{name}="{ODF}:{name}:1.0"'
    for name in ("office", "text", "style", "table", "draw", "fo")
)
PICTURE = bytes(range(256)) * 9


def archive(members: Mapping[str, str | bytes], stored: tuple[str, ...] = ()) -> bytes:
    """Return a ZIP file; members are compressed unless they are among those to be stored."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as file:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, (2024, 5, 6, 7, 8, 10))
            kind = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            file.writestr(entry, content, kind)
    return output.getvalue()


def members_of(data: bytes) -> dict[str, bytes]:
    """Return the contents of a ZIP file by their names, in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def package(parts: Mapping[str, tuple[str, str]]) -> bytes:
    """Return a package. parts: name -> type behind the common beginning, and content."""
    types = "".join(
        f'<Override PartName="/{name}" ContentType="{TYPE}.{type}+xml"/>'
        for name, (type, _) in parts.items()
    )
    members: dict[str, str | bytes] = {"[Content_Types].xml": f"<Types>{types}</Types>"}
    members |= {name: content for name, (_, content) in parts.items()}
    members["media/image1.png"] = PICTURE
    return archive(members, stored=("media/image1.png",))


def word(body: str, **others: str) -> bytes:
    """Return a Word document. others: type of a further part -> its paragraphs."""
    document = (
        f'<?xml version="1.0"?>\n<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    )
    parts = {"word/document.xml": ("wordprocessingml.document.main", document)}
    for kind, content in others.items():
        root = f'<w:{kind} xmlns:w="{W}">{content}</w:{kind}>'
        parts[f"word/{kind}.xml"] = (f"wordprocessingml.{kind}", root)
    return package(parts)


def body_of(data: bytes) -> str:
    """Return the contents of a Word document's body."""
    text = members_of(data)["word/document.xml"].decode()
    return text.partition("<w:body>")[2].partition("</w:body>")[0]


def run(text: str, properties: str = "", tag: str = "w:r") -> str:
    """Return a run of Word. properties: names of elements without attributes."""
    inner = "".join(f"<w:{name}/>" for name in properties.split())
    inner = f"<w:rPr>{inner}</w:rPr>" if inner else ""
    return f'<{tag}>{inner}<w:t xml:space="preserve">{text}</w:t></w:r>'


def opendocument(content: str, styles: str = "", headers: str = "", kind: str = "text") -> bytes:
    """Return an OpenDocument file: its text, automatic styles, and headers of pages."""
    automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    body = f"<office:body><office:{kind}>{content}</office:{kind}></office:body>"
    root = f"<office:document-content {NAMESPACES}>{automatic}{body}</office:document-content>"
    pages = f"<style:master-page><style:header>{headers}</style:header></style:master-page>"
    members: dict[str, str | bytes] = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "Pictures/1.png": PICTURE,
        "content.xml": root,
        "styles.xml": f"<office:document-styles {NAMESPACES}>{pages}</office:document-styles>",
        "META-INF/manifest.xml": "<manifest/>",
    }
    return archive(members, stored=("mimetype",))


def content_of(data: bytes, kind: str = "text") -> str:
    """Return the text of an OpenDocument file with its tags."""
    text = members_of(data)["content.xml"].decode()
    return text.partition(f"<office:{kind}>")[2].partition(f"</office:{kind}>")[0]


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile'
    ' full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PAGES = {
    "ch 1.xhtml": "<h1>one</h1><p>two</p>",
    "nav.xhtml": "<nav><a href='ch%201.xhtml'>one</a></nav>",
}
LABEL = "<navLabel><text>{}</text></navLabel>"


def page_of(body: str) -> str:
    """Return a page of an e-book."""
    return f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'


def book(
    pages: Mapping[str, str] = PAGES, spine: str = "i0", metadata: str = "", contents: str = ""
) -> bytes:
    """Return an e-book.

    pages: names in the folder of the package -> contents of `<body>`. spine: the items that are
    read in order. contents: of the table of contents of EPUB 2.
    """
    items = "".join(
        f'<item id="i{number}" href="{quote(name)}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(pages)
    )
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    items += '<item id="p" href="../media/1.png" media-type="image/png"/>'
    read = "".join(f'<itemref idref="{id}"/>' for id in spine.split())
    package = (
        f'<package><metadata xmlns:dc="DC">{metadata}</metadata><manifest>{items}</manifest>'
        f"<spine>{read}</spine></package>"
    )
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "media/1.png": PICTURE,
        "OPS/book.opf": package,
        "OPS/toc.ncx": f"<ncx><docTitle><text>one</text></docTitle>{contents}</ncx>",
        **{f"OPS/{name}": page_of(body) for name, body in pages.items()},
    }
    return archive(members, stored=("mimetype", "media/1.png"))


def text_of(data: bytes, name: str) -> str:
    """Return a member of an e-book, in the folder of the package."""
    return members_of(data)[f"OPS/{name}"].decode()


S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def workbook(strings: Sequence[str] = (), cells: str = "", **others: tuple[str, str]) -> bytes:
    """Return an Excel workbook.

    strings: contents of the `<si>` that sheets share. cells: of its sheet. others: name of a
    further part -> its type, and its content.
    """
    shared = "".join(f"<si>{one}</si>" for one in strings)
    rows = f"<sheetData><row>{cells}</row></sheetData>"
    parts = {
        "xl/workbook.xml": ("spreadsheetml.sheet.main", f'<workbook xmlns="{S}"/>'),
        "xl/worksheets/sheet1.xml": (
            "spreadsheetml.worksheet",
            f'<worksheet xmlns="{S}">{rows}</worksheet>',
        ),
        "xl/sharedStrings.xml": ("spreadsheetml.sharedStrings", f'<sst xmlns="{S}">{shared}</sst>'),
    }
    return package(parts | {f"xl/{name}.xml": part for name, part in others.items()})


def strings_of(data: bytes) -> list[str]:
    """Return the contents of the strings that the sheets of a workbook share."""
    return re.findall("<si>(.*?)</si>", members_of(data)["xl/sharedStrings.xml"].decode(), re.S)
