"""Archives of office files: all but the texts stays, and what cannot be read is refused."""

import io
import re
import zipfile

import pytest

from nmtkit.documents import archive as archive_module
from nmtkit.documents.archive import sample_archive
from nmtkit.errors import DataError
from tests.unit.documents.office_files import (
    archive,
    book,
    members_of,
    opendocument,
    run,
    word,
    workbook,
)
from tests.unit.documents.stand_ins import copied, translated

DOCUMENT = word(f"<w:p>{run('one')}</w:p>")
TEXT = opendocument("<text:p>one</text:p>")
BOOK = book({"a.xhtml": "<p>1</p>"})
SHEETS = workbook(["<t>one</t>"])
SAMPLES = {"docx": DOCUMENT, "odt": TEXT, "epub": BOOK, "xlsx": SHEETS}


@pytest.mark.parametrize("format", SAMPLES)
def test_a_copy_changes_no_byte(format: str) -> None:
    assert translated(SAMPLES[format], format, copied).data == SAMPLES[format]


@pytest.mark.parametrize("format", SAMPLES)
def test_other_members_stay_with_order_and_compression(format: str) -> None:
    data = SAMPLES[format]
    changed = translated(data, format, str.upper).data
    before, after = members_of(data), members_of(changed)
    assert list(before) == list(after)
    assert sum(before[name] != after[name] for name in before) == 1
    entries = [_entries(one) for one in (data, changed)]
    assert entries[0] == entries[1]
    assert translated(data, format, str.upper).data == changed


def _entries(data: bytes) -> list[tuple[object, ...]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return [(one.filename, one.compress_type, one.date_time) for one in file.infolist()]


@pytest.mark.parametrize(
    ("format", "type"),
    [("odt", b"vnd.oasis.opendocument.text"), ("epub", b"epub+zip")],
)
def test_the_member_with_the_type_stays_first_and_readable(format: str, type: bytes) -> None:
    """`file` and desktops read it at byte 30, behind a header without an extra field."""
    changed = translated(SAMPLES[format], format, str.upper).data
    assert changed != SAMPLES[format]
    assert changed[30:].startswith(b"mimetypeapplication/" + type)


def encrypted() -> bytes:
    """Return a document whose entries say that they are encrypted."""
    data = bytearray(DOCUMENT)
    for signature, offset in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        for found in re.finditer(re.escape(signature), DOCUMENT):
            data[found.start() + offset] |= 1
    return bytes(data)


def with_member(name: str, content: bytes, data: bytes = DOCUMENT) -> bytes:
    return archive({**members_of(data), name: content})


MANIFEST = b"<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"


@pytest.mark.parametrize(
    ("data", "format", "message"),
    [
        (b"", "docx", "x: is no docx file, which would be a zip archive"),
        (b"some text", "odt", "x: is no odt file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "docx", "protected by a password"),
        (encrypted(), "docx", "x: is encrypted"),
        (with_member("META-INF/manifest.xml", MANIFEST, TEXT), "odt", "x: is encrypted"),
        (DOCUMENT[:-40], "docx", "x: the zip archive is damaged"),
        (DOCUMENT[:300], "docx", "x: the zip archive is damaged"),
        (TEXT, "docx", "x: is of the format odt, not docx"),
        (DOCUMENT, "odt", "x: is of the format docx, not odt"),
        (SHEETS, "docx", "x: is of the format xlsx, not docx"),
        (DOCUMENT, "pptx", "x: is of the format docx, not pptx"),
        (archive({"a.txt": "x"}), "docx", "x: is a zip archive of another kind, not docx"),
        (with_member("word/document.xml", b"<w:p>"), "docx", "x:word/document.xml:1: not well-fo"),
        (with_member("word/document.xml", b""), "docx", "x:word/document.xml:1: not well-formed"),
        (archive({"mimetype": members_of(TEXT)["mimetype"]}), "odt", "x: lacks content.xml"),
        (
            with_member("word/document.xml", b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'),
            "docx",
            "x:word/document.xml:1: declares the entity 'a'",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, format: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        translated(data, format, copied, name="x")


def test_what_unpacks_to_far_more_than_a_document_is_refused() -> None:
    big = with_member("media/big", bytes(100 << 20))
    with pytest.raises(DataError, match=r"x: unpacks to 100 MiB, far more than"):
        translated(big, "docx", copied, name="x")


def test_a_member_with_a_wrong_checksum_is_named() -> None:
    data = bytearray(archive({**members_of(DOCUMENT)}, stored=("word/document.xml",)))
    data[data.index(b"one")] ^= 1
    with pytest.raises(DataError, match=re.escape("x:word/document.xml: the zip archive is")):
        translated(bytes(data), "docx", copied, name="x")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_a_name_are_refused() -> None:
    output = io.BytesIO(DOCUMENT)
    with zipfile.ZipFile(output, "a") as file:
        file.writestr("word/document.xml", "<x/>")
    with pytest.raises(DataError, match="two members of the same name"):
        translated(output.getvalue(), "docx", copied)


def test_no_more_of_a_sample_is_unpacked_than_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    data = with_member("word/document.xml", b"<w:p>eins zwei</w:p>" + bytes(1 << 20))
    sizes: list[int] = []
    beginning = archive_module.Archive.beginning

    def noted(self: archive_module.Archive, member: str, size: int) -> bytes:
        sizes.append(len(result := beginning(self, member, size)))
        return result

    monkeypatch.setattr(archive_module.Archive, "beginning", noted)
    assert "eins zwei" in sample_archive(data, 1000)
    assert sum(sizes) <= 1000
    assert sample_archive(data[:100], 1000) == "" == sample_archive(b"PK\3\4", 1000)


def test_the_texts_of_cells_tell_the_language_if_sheets_share_none() -> None:
    cells = '<c><f>SUM(A1)</f></c><c t="str"><v>eins zwei</v></c>'
    assert "eins zwei" in sample_archive(workbook(cells=cells), 1000)
    assert "SUM" not in sample_archive(workbook(["<t>drei</t>"], cells), 1000)
