"""E-books: the pages, the contents and the title are translated, and all else stays."""

import re

import pytest

from nmtkit.documents import epub
from nmtkit.documents.document import Document, DocumentOptions
from nmtkit.documents.epub import parse_epub
from nmtkit.documents.html import parse_html
from nmtkit.errors import DataError
from tests.unit.documents.office_files import (
    LABEL,
    archive,
    book,
    members_of,
    page_of,
    text_of,
)
from tests.unit.documents.stand_ins import copied, translated

OTHERS = {"mimetype", "META-INF/container.xml", "media/1.png"}


def upper(data: bytes) -> bytes:
    return translated(data, "epub", str.upper).data


def with_member(name: str, content: str) -> bytes:
    return archive({**members_of(book()), name: content})


def test_pages_are_translated_whether_they_are_in_the_spine_or_not() -> None:
    data = book()
    changed = upper(data)
    assert text_of(changed, "ch 1.xhtml") == page_of("<h1>ONE</h1><p>TWO</p>")
    assert text_of(changed, "nav.xhtml") == page_of("<nav><a href='ch%201.xhtml'>ONE</a></nav>")
    before, after = members_of(data), members_of(changed)
    assert {name for name in before if before[name] == after[name]} == OTHERS | {"OPS/book.opf"}


def test_segments_are_in_the_order_of_reading() -> None:
    pages = {name: f"<p>{text}</p>" for name, text in (("a", "Four"), ("b", "Two"), ("c", "Three"))}
    data = book(pages, "i1 i2", "<dc:title>One</dc:title>")
    document = parse_epub(data, "x", DocumentOptions())
    assert [one.source for one in document.segments] == ["One", "Two", "Three", "Four", "one"]
    assert [one.line for one in document.segments] == [1, 2, 3, 4, 5]


def test_texts_within_a_paragraph_have_its_number() -> None:
    data = book({"a": "\n\n\n<p>One</p><p>Two <img alt='three'/></p>"})
    [_, two, _] = parse_epub(data, "x", DocumentOptions()).segments
    assert [one.line for one in two.inner] == [two.line] == [2]


def test_titles_and_descriptions_of_a_book_are_translated() -> None:
    kept = "<dc:creator>a b</dc:creator><dc:language>en</dc:language><dc:subject>c</dc:subject>"
    kept += "<meta name='calibre:title_sort' content='d'/>"
    text = "<dc:title id='t'>one</dc:title><dc:description>{}</dc:description>"
    escaped = text.format("&lt;p&gt;a &lt;b&gt;red&lt;/b&gt; house &amp;amp; two&lt;/p&gt;")
    package = text_of(upper(book(metadata=kept + escaped)), "book.opf")
    changed = escaped.replace("one", "ONE").replace("a &lt;", "A &lt;").replace("red", "RED")
    assert kept + changed.replace("house", "HOUSE").replace("two", "TWO") in package
    section = text.format("<![CDATA[<i>two</i>]]>")
    assert "&lt;i&gt;TWO&lt;/i&gt;" in text_of(upper(book(metadata=section)), "book.opf")


def test_labels_of_the_contents_are_translated_but_names_and_pages_are_not() -> None:
    kept = "<docAuthor><text>a b</text></docAuthor>"
    pages = f"<pageList>{LABEL.format('xii')}</pageList>"
    parts = f"<navMap><navPoint>{{}}<navPoint>{{}}</navPoint></navPoint></navMap>{pages}"
    source = kept + parts.format(LABEL.format("two"), LABEL.format("three"))
    target = kept + parts.format(LABEL.format("TWO"), LABEL.format("THREE"))
    assert target in text_of(upper(book(contents=source)), "toc.ncx")


def test_names_of_printed_pages_stay() -> None:
    kept = '<nav epub:type="page-list"><ol><li><a href="a">xii</a></li></ol></nav>'
    kept += '<div epub:type="pagebreak" title="xii"></div>'
    inline = 'one <span epub:type="pagebreak" title="xii"/> two'
    namespace = 'xmlns:epub="http://www.idpf.org/2007/ops"'
    body = f"<section {namespace}>{{}}<p>{{}}</p></section>"
    data = book({"a.xhtml": body.format(kept, inline)})
    changed = inline.replace("one", "ONE").replace("two", "TWO")
    assert body.format(kept, changed) in text_of(upper(data), "a.xhtml")


def test_what_is_listed_twice_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive can list a page so often that reading it each time takes hours."""
    read: list[str] = []

    def parse(data: bytes, name: str, options: DocumentOptions) -> Document:
        read.append(name)
        return parse_html(data, name, options)

    monkeypatch.setattr(epub, "parse_html", parse)
    members = members_of(book({"a": "<p>one</p>"}))
    package = members["OPS/book.opf"].decode()
    [item] = re.findall('<item id="i0"[^>]*>', package)
    package = package.replace(item, item + item.replace("i0", "i1"))
    changed = upper(archive({**members, "OPS/book.opf": package}))
    assert text_of(changed, "a") == page_of("<p>ONE</p>")
    assert len(read) == 1


def test_pages_that_are_no_xml_are_read_as_html() -> None:
    data = with_member("OPS/nav.xhtml", "<p>one<br>two&nbsp;")
    assert text_of(upper(data), "nav.xhtml") == "<p>ONE<br>TWO&nbsp;"


def test_names_in_utf8_without_the_flag_are_found_and_stay() -> None:
    data = book({"é.xhtml": "<p>one</p>"})
    name = "OPS/é.xhtml".encode()
    old = bytearray(data)
    for signature, flags, start in ((b"PK\1\2", 8, 46), (b"PK\3\4", 6, 30)):
        position = next(
            found.start()
            for found in re.finditer(re.escape(signature), data)
            if data.startswith(name, found.start() + start)
        )
        old[position + flags + 1] &= ~8
    assert bytes(old) != data
    assert members_of(upper(bytes(old))) == members_of(upper(data))


DRM = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData>'
    '<CipherData><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'
)


def test_fonts_may_be_obfuscated() -> None:
    data = with_member("META-INF/encryption.xml", DRM.format("media/1.png"))
    assert "<p>TWO</p>" in text_of(upper(data), "ch 1.xhtml")


@pytest.mark.parametrize("member", ["OPS/ch%201.xhtml", "OPS/book.opf", "OPS/toc.ncx"])
def test_encrypted_texts_are_refused(member: str) -> None:
    data = with_member("META-INF/encryption.xml", DRM.format(member))
    name = member.replace("%20", " ")
    with pytest.raises(DataError, match=f"x: {name} is encrypted for the protection of rights"):
        translated(data, "epub", copied, name="x")


def without(member: str) -> bytes:
    return archive({name: one for name, one in members_of(book()).items() if name != member})


def with_container(text: str) -> bytes:
    return with_member("META-INF/container.xml", text)


ROOT = '<rootfile full-path="{}" media-type="application/oebps-package+xml"/>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (without("OPS/ch 1.xhtml"), "x: lacks OPS/ch 1.xhtml, which OPS/book.opf lists"),
        (without("OPS/toc.ncx"), "x: lacks OPS/toc.ncx, which OPS/book.opf lists"),
        (without("OPS/book.opf"), "x: lacks OPS/book.opf, which META-INF/container.xml lists"),
        (without("META-INF/container.xml"), "x: lacks META-INF/container.xml"),
        (without("mimetype"), "x: is a zip archive of another kind, not epub"),
        (with_container("<container/>"), "x: META-INF/container.xml names no package"),
        (with_container(f"<c>{ROOT.format('../../x')}</c>"), "x: lacks ../../x, which"),
        (with_member("OPS/book.opf", "<package>"), "x:OPS/book.opf:1: not well-formed XML"),
        (book({"../../a": "one"}), "x: lacks ../a, which OPS/book.opf lists"),
        (b"%PDF", "x: is no epub file, which would be a zip archive"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        translated(data, "epub", copied, name="x")


def test_a_book_without_pages_stays() -> None:
    data = with_member("OPS/book.opf", "<package/>")
    assert upper(data) == data
