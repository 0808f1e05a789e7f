"""Bytes of an input as clean text: other data is refused, marks of other systems are removed.

A file is judged by its first bytes, never by its name. What is refused could not be a text, such as
a picture; what is only unusual, such as a page of HTML, is read, with a warning.

Taken off, and logged once for each input: byte order marks at the beginning and, as joined files
have them, at the beginnings of lines; and the carriage returns before the ends of lines. Line
numbers stay as they are.
"""

import logging
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from nmtkit.errors import DataError
from nmtkit.io.compression import compression_of

logger = logging.getLogger("nmtkit")

BOM = b"\xef\xbb\xbf"
"""The byte order mark in UTF-8."""

MAX_HEAD = 1 << 16
"""Bytes of a first line that are looked at before it is handed on."""

_LOW_SCRIPTS = 8
"""In UTF-16 the upper bytes of letters up to Arabic are below this, and in texts hardly any is."""

_LINE_END = re.compile(rb"(?<!\r)\r+\n")

_MARKS_AFTER_LINES = re.compile(rb"(?<=\n)(?:\xef\xbb\xbf)+")
_LATER_MARKS = re.compile(rb"(?:\A|(?<=\n))(?:\xef\xbb\xbf)+")
_CUT_MARK = re.compile(rb"(?:\A|(?<=\n))\xef\xbb?\Z")

_RETURNS = "carriage returns at the ends of lines were taken off"
_UNPACK = "unpack it first"
_UNPACK_OFFICE = f"{_UNPACK} (documents: 'nmtkit translate --format auto')"
_EXPORT = "export it as plain text in UTF-8"
_NO_TEXT = "a text in UTF-8 is needed"

_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (rb"PK(\x03\x04|\x05\x06|\x07\x08)", "a zip archive or an office document", _UNPACK_OFFICE),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (rb"(?=[^\n]{0,100}\0).{257}ustar[\0 ]", "a tar archive", _UNPACK),
    (rb"\x1f\x9d", "data of the program compress", _UNPACK),
    (rb"\x04\x22\x4d\x18", "lz4 data", _UNPACK),
    (rb"\x5d\0\0", "lzma data of the old format", _UNPACK),
    (rb"%PDF-\d\.\d\s+(%|\d+ \d+ obj)", "a PDF document", _EXPORT),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document", _EXPORT),
    (rb"\{\\rtf1[\\ ]", "an RTF document", _EXPORT),
    (rb"SQLite format 3\0", "an SQLite database", _EXPORT),
    (rb"PAR1[\x10-\x1f]", "a Parquet file", _EXPORT),
    (rb"\x93NUMPY", "an array of NumPy", _EXPORT),
    (rb"\x89PNG\r\n\x1a\n", "a PNG picture", _NO_TEXT),
    (rb"\xff\xd8\xff", "a JPEG picture", _NO_TEXT),
    (rb"GIF8[79]a.{0,6}?[\0-\x08]", "a GIF picture", _NO_TEXT),
    (rb"\x7fELF", "a program", _NO_TEXT),
    (
        rb"version https://git-lfs\.github\.com/spec/v1\r?\noid sha256:",
        "a pointer of Git LFS to a file",
        "fetch the file: git lfs pull",
    ),
)
"""Data that is not text: its first bytes, what they are, and what to do."""

_COMPILED = [(re.compile(start, re.DOTALL), what, remedy) for start, what, remedy in _SIGNATURES]

STANDARD = "-"
"""stdin as an input, and stdout as an output."""

_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)*\s*(?:(?P<html><!doctype\s+html|<html[\s>])"
    rb"|(?P<xml><\?xml\s|<(?:doc|tmx|xliff)[\s>])"
    rb"|(?P<sgm><(?:src|ref|tst)set\s))",
    re.IGNORECASE,
)
_MARKUP_KINDS = {
    "html": "a page of HTML, as failed downloads are",
    "xml": "XML",
    "sgm": "SGML of a test set of WMT, whose lines stand between <seg> and </seg>",
}


def text_chunks(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    r"""Yield the text of an input, whose lines end in `\n` alone.

    Nothing is yielded before the first line is complete. From then on there is a chunk, maybe
    empty, for each that it takes, so that a line is there as soon as its bytes are.

    :param chunks: the bytes, decompressed.
    :param name: of the input, for messages.
    :raises DataError: the input is not text in UTF-8; the message says what it looks like.
    """
    head, complete = _first_line(chunks)
    check_text(head, name, complete)
    while head.startswith(BOM):
        head = head[len(BOM) :]
        log_once(name, "a byte order mark at its beginning was taken off")
    held = 0  # carriage returns at the end of a chunk, which may precede an end of line
    at_start = True  # of a line
    for data in _without_marks(chain([head], chunks), name):
        stripped = data.rstrip(b"\r")
        if held and stripped:
            stripped, held = b"\r" * held + stripped, 0
        held += len(data) - len(data.rstrip(b"\r"))
        if b"\r\n" in stripped:
            log_once(name, _RETURNS)
            stripped = stripped.replace(b"\r\n", b"\n")
            if b"\r\n" in stripped:
                stripped = _LINE_END.sub(b"\n", stripped)
        if stripped:
            at_start = stripped.endswith(b"\n")
        yield stripped
    if held:
        log_once(name, _RETURNS)
        if at_start:  # a last line of nothing else is an empty line
            yield b"\n"


def _without_marks(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Take off byte order marks at the beginnings of lines: `cat` leaves them between files."""
    at_start = False  # of a line; the mark of the first line is gone
    part = b""  # of a mark, cut by the end of a chunk
    for chunk in chunks:
        data, part = part + chunk, b""
        if b"\xef" in data:
            marks = _LATER_MARKS if at_start else _MARKS_AFTER_LINES
            data, count = marks.subn(b"", data)
            if count:
                log_once(name, "byte order marks at the beginnings of lines were taken off")
            cut = _CUT_MARK.search(data, max(0, len(data) - len(BOM)))
            if cut and (cut.start() or at_start):
                part, data = cut[0], data[: cut.start()]
        if data:
            at_start = data.endswith(b"\n")
        yield data
    if part:
        yield part


def _first_line(chunks: Iterator[bytes]) -> tuple[bytes, bool]:
    """Return the first line and what came with it, and whether the input ended there."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if b"\n" in chunk or size >= MAX_HEAD:
            return b"".join(parts), False
    return b"".join(parts), True


def check_text(head: bytes, name: str, complete: bool = False) -> None:
    """Refuse data that is not text, and warn of text that should hardly be read line by line.

    :param head: the first bytes: up to the end of a line if there is one.
    :param complete: there are no further bytes.
    :raises DataError: the input is not text in UTF-8; the message says what it looks like.
    """
    if found := describe(head, complete):
        what, remedy = found
        remedy = remedy.replace("FILE", shell_name(name))
        raise DataError(f"{shown_name(name)}: looks like {what}; {remedy}")
    if markup := _MARKUP.match(head[:200]):
        kind = _MARKUP_KINDS[str(markup.lastgroup)]
        log_once(name, f"looks like {kind}; it is read as lines of plain text", logging.WARNING)


def describe(head: bytes, complete: bool = False) -> tuple[str, str] | None:
    """Return what an input is by its first bytes, and what to do; None if it may be a text.

    :param head, complete: as in `check_text`.
    """
    if unicode := _unicode_form(head):
        return f"{unicode} text", f"convert it to UTF-8: iconv -f {unicode} -t UTF-8 FILE"
    for start, what, remedy in _COMPILED:
        if start.match(head):
            return what, remedy
    if compression := compression_of(head):
        return f"{compression} data in compressed data", "decompress it first"
    lines = re.findall(rb"[^\r]\r+", head) if b"\n" not in head else ()
    if len(lines) > 1 and (complete or len(head) >= MAX_HEAD):
        return (
            "a text whose lines end in carriage returns alone",
            r"convert it: tr '\r' '\n' < FILE",
        )
    return None


def _unicode_form(head: bytes) -> str | None:
    """Return "UTF-16" or "UTF-32" with or without byte order if text is in one of them."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    head = head[: 1 << 10]
    for name, first in (("UTF-16BE", 0), ("UTF-16LE", 1)):
        upper, lower = head[first::2], head[1 - first :: 2]
        low_scripts = sum(byte < _LOW_SCRIPTS for byte in upper)
        if upper.count(0) > 1 and 0 not in lower and low_scripts > len(upper) / 2:
            return name
    if len(head) >= 8 and 0 not in head[::4] and not any(head[n::4].strip(b"\0") for n in (2, 3)):
        return "UTF-32LE"
    return None


@lru_cache(maxsize=1024)
def log_once(name: str, what: str, level: int = logging.INFO) -> None:
    """Log what was done to an input; some commands read an input several times."""
    logger.log(level, "%s: %s", shown_name(name), what)


def shown_name(path: object) -> str:
    """Return the name of an input in messages."""
    return "stdin" if str(path) == STANDARD else str(path)


def shell_name(path: object) -> str:
    """Return a path as a command to copy has it: in quotes if need be, and never an option."""
    import shlex  # lazy: only messages need it

    name = str(path)
    is_option = name.startswith("-") and name != STANDARD
    return shlex.quote(f"./{name}" if is_option else name)
