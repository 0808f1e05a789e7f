"""Bytes of a file as text, and back, byte for byte."""

import codecs
import re
from dataclasses import dataclass

from nmtkit.errors import DataError

LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
"""A line of a file with its end."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Encoding:
    """The encoding of a file: its name for Python, its byte order mark, and the file's name."""

    name: str
    mark: bytes
    file: str

    @property
    def _errors(self) -> str:
        """Bytes that cannot be decoded come back as they were; so do halves of UTF-16."""
        return "surrogatepass" if self.name.startswith("utf-16") else "surrogateescape"

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text."""
        return self.mark + text.encode(self.name, self._errors)

    def writable(self, text: str, references: bool) -> str:
        """Return a text whose characters the encoding has.

        :param references: write others as character references of XML.
        :raises DataError: the encoding lacks a character, and there are no references.
        """
        try:
            errors = "xmlcharrefreplace" if references else "strict"
            return text.encode(self.name, errors).decode(self.name)
        except UnicodeEncodeError as error:
            raise DataError(
                f"{self.file}: its encoding, {self.name}, lacks the character"
                f" '{text[error.start]}' of a translation; convert the file to UTF-8"
            ) from error


def find_mark(data: bytes) -> tuple[str | None, bytes]:
    """Return the encoding that a byte order mark tells, and the mark."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return name, mark
    return None, b""


def legacy_encoding(data: bytes) -> str | None:
    """Return windows-1252 for a file that is not UTF-8 and has no mark, as was usual; else None."""
    if find_mark(data)[0] is None and _guessed(data) == "utf-8":
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return "cp1252"
    return None


def beginning(data: bytes, size: int, declared: str | None = None) -> str:
    """Return the text of the first bytes of a file, without what cannot be decoded.

    :param declared: encoding that the file names, by default UTF-8; a byte order mark decides.
    """
    marked, mark = find_mark(data)
    start = data[len(mark) : len(mark) + size]
    try:
        return start.decode(marked or declared or "utf-8", "ignore")
    except LookupError:  # no encoding of text
        return start.decode("utf-8", "ignore")


def newline_of(text: str) -> str:
    """Return what ends the lines of a file, by its beginning."""
    return "\r\n" if "\r\n" in text[:1000] else "\n"


def decode(data: bytes, file: str, declared: str | None = None) -> tuple[str, Encoding]:
    """Return the text of a file, and its encoding.

    :param declared: encoding that the file names, by default UTF-8, or UTF-16 if its first
        characters look so; a byte order mark decides.
    :raises DataError: the encoding is unknown, or text in it does not come back byte for byte.
    """
    marked, mark = find_mark(data)
    name = marked or declared or _guessed(data)
    try:
        name = codecs.lookup(name).name
        if marked is None and name in ("utf-16", "utf-32"):  # which needs a mark
            name = _without_mark(data, name)
        encoding = Encoding(name, mark, file)
        text = data[len(mark) :].decode(name, encoding._errors)
        is_kept = encoding.encode(text) == data
    except (LookupError, ValueError, AssertionError):
        is_kept = False
    if not is_kept:
        raise DataError(
            f"{file}: its encoding, {name[:50]}, cannot be read and written byte for byte; convert"
            " it to UTF-8"
        )
    return text, encoding


def _guessed(data: bytes) -> str:
    """Return the encoding of a file that names none: UTF-16 if a NUL is beside its first letter."""
    is_wide = len(data) % 2 == 0 and data[:2].count(0) == 1 and data[2:4].count(0) == 1
    return "utf-16" if is_wide else "utf-8"


def _without_mark(data: bytes, name: str) -> str:
    """Return the byte order of a file that begins with an ASCII character and has no mark."""
    return f"{name}-{'be' if data.startswith(bytes(1)) else 'le'}"
