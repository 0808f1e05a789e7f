"""Office files and e-books: ZIP archives in some of whose members there is text.

Members with text are translated; all others keep their bytes, and all keep their names, their order
and their compression. No name in an archive is used as a path.
"""

import copy
import io
import re
import shutil
import zipfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from nmtkit.documents.document import Document, Edit, Segment
from nmtkit.documents.paragraphs import shifted, visible_text
from nmtkit.documents.xml_tree import Xml, read_elements
from nmtkit.errors import DataError
from nmtkit.io.moses_zip import ZIP_DAMAGE, ZIP_MAGIC, shown_member

MAX_GROWTH, GROWTH_ROOM = 100, 64 << 20
"""Bytes that an archive may unpack to: so many for each of its own, and so many more."""

MAX_TYPES = 1 << 20
"""Bytes of a member in which the type of a file is looked for."""

CONTENT_TYPES = "[Content_Types].xml"
"""The member of an OOXML package that tells the types of the others."""

_MIMETYPE = "mimetype"
"""The first member of an OpenDocument file, which tells its type."""

_KINDS = {
    "odt": re.compile(rb"application/vnd\.oasis\.opendocument\.text(?:-template)?\s*\Z"),
    "odp": re.compile(rb"application/vnd\.oasis\.opendocument\.presentation(?:-template)?\s*\Z"),
    "ods": re.compile(rb"application/vnd\.oasis\.opendocument\.spreadsheet"),
    "epub": re.compile(rb"application/epub\+zip\s*\Z"),
    "docx": re.compile(rb"wordprocessingml\.(?:document|template)\.main\+xml|\bms-word\."),
    "pptx": re.compile(rb"presentationml\.\w+\.main\+xml|\bms-powerpoint\."),
    "xlsx": re.compile(rb"spreadsheetml\.\w+\.main\+xml|ms-excel\.\w+\.macroEnabled\.main\+xml"),
}
"""How files of a kind are known by their type, or by the types of their parts."""

_TEXT_MEMBERS = (
    re.compile(
        r"\A(?:word/document\d*|ppt/slides/[^/]*|xl/sharedStrings|content)\.xml\Z|\.x?html?\Z"
    ),
    re.compile(r"\Axl/worksheets/[^/]*\.xml\Z"),
)
"""Members whose beginnings tell the language of a file; the second ones if the first have no text.

Sheets have formulas, but in some workbooks the texts, too.
"""

_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = 1
"""Flag of an encrypted member."""

_UTF8 = 0x800
"""Flag of a member whose name is written in UTF-8, not in the old code page of DOS."""


class Archive:
    """An office file that is read.

    :param name: of the file, for messages. format: that it should have, for messages.
    :raises DataError: it is no archive, is damaged or encrypted, has a member twice, or unpacks to
        too much.
    """

    def __init__(self, data: bytes, name: str, format: str) -> None:
        self.data, self.name, self._format = data, name, format
        if data.startswith(_OLD_OFFICE):
            raise DataError(
                f"{name}: is protected by a password, or a file of an old version of Office; save"
                f" it as {format} without a password"
            )
        if not data.startswith(ZIP_MAGIC):
            raise DataError(
                f"{name}: is no {format} file, which would be a zip archive; check its name, or"
                " fetch it again"
            )
        with self._checked():
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        for member in self._zip.infolist():
            member.filename = _member_name(member)
        self._members = {member.filename: member for member in self._zip.infolist()}
        self._check()

    def _check(self) -> None:
        members = self._zip.infolist()
        if len(self._members) < len(members):
            raise DataError(f"{self.name}: has two members of the same name; save it again")
        if any(member.flag_bits & _ENCRYPTED for member in members):
            raise self.protected()
        size = sum(member.file_size for member in members)
        if size > GROWTH_ROOM + MAX_GROWTH * len(self.data):
            raise DataError(
                f"{self.name}: unpacks to {size >> 20:,} MiB, far more than office files of its"
                " size; save it again, or divide it"
            )

    def check_kind(self) -> None:
        """Refuse a file of another kind, whose name or format is wrong.

        :raises DataError: it is of another kind.
        """
        member = next((name for name in (_MIMETYPE, CONTENT_TYPES) if name in self._members), None)
        told = self.beginning(member, MAX_TYPES) if member else b""
        kinds = [kind for kind, pattern in _KINDS.items() if pattern.search(told)]
        if self._format not in kinds:
            found = f"is of the format {kinds[0]}" if kinds else "is a zip archive of another kind"
            raise DataError(
                f"{self.name}: {found}, not {self._format}; correct its name or the format"
            )

    def protected(self) -> DataError:
        """Return the error of a file that cannot be read without a password."""
        return DataError(f"{self.name}: is encrypted; save it without a password or protection")

    @contextmanager
    def _checked(self, member: str = "") -> Iterator[None]:
        """Turn errors of damaged archives into one sentence."""
        try:
            yield
        except (*ZIP_DAMAGE, RuntimeError) as error:
            where = f"{self.name}:{shown_member(member)}" if member else self.name
            raise DataError(
                f"{where}: the zip archive is damaged; fetch or save it again"
            ) from error

    @property
    def names(self) -> Sequence[str]:
        """Names of the members."""
        return list(self._members)

    def __contains__(self, member: str) -> bool:
        """Return whether there is a member of a name."""
        return member in self._members

    def read(self, member: str) -> bytes:
        """Return the bytes of a member.

        :raises DataError: it is missing or damaged.
        """
        if member not in self._members:
            raise DataError(
                f"{self.name}: lacks {shown_member(member)}, which {self._format} files have; fetch"
                " or save it again"
            )
        with self._checked(member):
            return self._zip.read(self._members[member])

    def beginning(self, member: str, size: int) -> bytes:
        """Return the first bytes of a member."""
        with self._checked(member), self._zip.open(self._members[member]) as stream:
            return stream.read(size)

    def xml(self, member: str, opaque: frozenset[str] = frozenset()) -> Xml:
        """Return the elements of a member; see `read_elements`."""
        name = f"{self.name}:{shown_member(member)}"
        return read_elements(self.read(member), name, self._format, opaque)

    def with_members(self, changed: Mapping[str, bytes]) -> bytes:
        """Return the archive with other contents of some members."""
        output = io.BytesIO()
        with self._checked(), zipfile.ZipFile(output, "w") as new:
            new.comment = self._zip.comment
            for member in sorted(self._members.values(), key=lambda one: one.header_offset):
                entry = copy.copy(member)
                if member.filename in changed:
                    new.writestr(entry, changed[member.filename], entry.compress_type)
                    continue
                with self._zip.open(member) as source, new.open(entry, "w") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        return output.getvalue()


def _member_name(member: zipfile.ZipInfo) -> str:
    """Return the name of a member; some programs write UTF-8 without the flag that says so."""
    if member.flag_bits & _UTF8:
        return member.filename
    try:
        return member.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return member.filename


def open_archive(data: bytes, name: str, format: str) -> Archive:
    """Return an office file of a certain format.

    :raises DataError: it is of another kind, or see `Archive`.
    """
    archive = Archive(data, name, format)
    archive.check_kind()
    return archive


def sample_archive(data: bytes, size: int) -> str:
    """Return the beginning of an office file's text with its tags; "" if it cannot be read.

    :param size: bytes that are looked at, however much the archive unpacks to.
    """
    try:
        archive = Archive(data, "the file", "office")
        for pattern in _TEXT_MEMBERS:
            parts: list[bytes] = []
            for member in filter(pattern.search, archive.names):
                parts.append(archive.beginning(member, size))
                size -= len(parts[-1])
            sample = b" ".join(parts).decode("utf-8", "ignore")
            if any(map(str.isalpha, visible_text(sample))):
                return sample
    except DataError:
        pass
    return ""


@dataclass(frozen=True)
class ArchiveDocument:
    """An office file that has been parsed; in all else like `Document`.

    parts: the members with text. Their texts stand one behind the other, so that an offset tells
    the member. A segment's number of the line is that of the paragraph in the file.
    """

    archive: Archive
    parts: Mapping[str, Document]
    segments: Sequence[Segment]
    warnings: Sequence[tuple[int, str]] = ()

    @classmethod
    def of(cls, archive: Archive, parts: Mapping[str, Document]) -> "ArchiveDocument":
        """Return a document of the texts in some members."""
        offset = 0
        segments: list[Segment] = []
        for part in parts.values():
            for segment in part.segments:
                segments.append(shifted(segment, offset, len(segments) + 1))
            offset += len(part.text)
        return cls(archive, parts, segments)

    def write(self, edits: Iterable[Edit]) -> bytes:
        """Return the bytes of the file with changes."""
        starts = [0]
        for part in self.parts.values():
            starts.append(starts[-1] + len(part.text))
        by_part: list[list[Edit]] = [[] for _ in self.parts]
        for start, end, text in edits:
            number = bisect_right(starts, start) - 1
            by_part[number].append(Edit(start - starts[number], end - starts[number], text))
        written = {
            member: part.write(own)
            for (member, part), own in zip(self.parts.items(), by_part, strict=True)
            if own
        }
        changed = {name: new for name, new in written.items() if new != self.archive.read(name)}
        return self.archive.with_members(changed) if changed else self.archive.data
