"""PO files of gettext: entries without a translation get one, marked as fuzzy."""

import gettext
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nmtkit.columns import columns
from nmtkit.documents.accelerators import SIGNS
from nmtkit.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Segment,
    Write,
    other_languages,
    syntax_of,
)
from nmtkit.documents.encoding import LINE, decode, newline_of
from nmtkit.documents.po_strings import quote, unescape, with_argument_numbers, wrap_again
from nmtkit.errors import DataError
from nmtkit.text.sentences import Lines

_COMPILED = (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde")
"""How a file of msgfmt begins."""

MAX_FORMS = 10
"""Plural forms that a language may have."""

_STRING = re.compile(r'[ \t]*"((?:[^"\\]|\\.)*+)"[ \t]*\Z')
_KEYWORD = re.compile(r"[ \t]*(msgctxt|msgid_plural|msgid|msgstr)(?:\[([0-9]{1,3})\])?(?=[ \t\"])")
_CHARSET = re.compile(rb"charset=([\w.:-]{1,40})")
_PLURALS = re.compile(r"nplurals\s*=\s*([0-9]{1,2})\s*;\s*plural\s*=\s*([^;\n]+)")
_MARKER = re.compile(r"^X-Accelerator-Marker:\s*(\S)", re.MULTILINE)
_LANGUAGE = re.compile(r"^Language:[ \t]*([A-Za-z]{2,3})(?![A-Za-z])", re.MULTILINE)
_NUMBERED_ARGUMENTS = frozenset(("c-format", "objc-format", "php-format"))
_LONGEST = 85
"""Columns of a line that no tool writes if it divides strings; most divide at 80."""


@dataclass
class _String:
    """The value of a keyword, and the offsets of its strings as they are written."""

    line: int
    start: int
    end: int
    value: str
    is_wrapped: bool = False


@dataclass
class _Entry:
    """An entry: where it begins, its flags, its strings by keyword."""

    start: int
    flags: list[tuple[int, int]] = field(default_factory=list)  # offsets of the lines of flags
    flag_place: int = -1  # where a line of flags belongs
    is_fuzzy: bool = False
    is_unwrapped: bool = False  # flag no-wrap
    has_arguments: bool = False  # flag c-format, or another of numbered arguments
    strings: dict[str, _String] = field(default_factory=dict)

    @property
    def translations(self) -> list[str]:
        """Keywords of the translations."""
        return [keyword for keyword in self.strings if keyword.startswith("msgstr")]


class _Header(NamedTuple):
    """What the header says.

    signs: of accelerators. forms: number of plural forms. singular: the form of 1.
    language: of the translations, None if it does not say.
    """

    signs: str
    forms: int
    singular: int
    language: str | None


def parse_po(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the untranslated entries of a PO file.

    :raises DataError: a line belongs to no entry, or the encoding cannot be read.
    """
    if data.startswith(_COMPILED):
        raise DataError(f"{name}: a compiled catalog; 'msgunfmt' makes a PO file of it")
    found = _CHARSET.search(data)
    declared = found[1].decode() if found and found[1].upper() != b"CHARSET" else None
    text, encoding = decode(data, name, declared)
    entries = list(_Parser(text, name, encoding.name).entries())
    header = _header(entries)
    writer = _Writer(text, newline_of(text), _has_short_lines(entries, text), options)
    segments = [segment for entry in entries for segment in writer.segments(entry, header)]
    warnings = [(1, one) for one in other_languages(options, None, header.language)]
    return Document(text, encoding, segments, warnings)


class _Parser:
    """Divides a file into entries.

    :param encoding: of the file, for characters that are written as their bytes.
    """

    def __init__(self, text: str, name: str, encoding: str) -> None:
        self._text, self._name, self._encoding = text, name, encoding
        self._entry: _Entry | None = None
        self._current: _String | None = None

    def entries(self) -> Iterator[_Entry]:
        """Yield the entries, without obsolete ones.

        :raises DataError: a line belongs to no entry.
        """
        for number, found in enumerate(LINE.finditer(self._text), start=1):
            start, line = found.start(), found[0].rstrip("\r\n")
            if number == 1:
                line = line.removeprefix("\ufeff")
                start += len(found[0].rstrip("\r\n")) - len(line)
            keyword = _KEYWORD.match(line)
            begins = keyword is not None and keyword[1] in ("msgctxt", "msgid")
            if self._entry and self._entry.translations:
                if begins or line.startswith("#") or not line.strip():
                    yield self._entry
                    self._entry = self._current = None
            if line.startswith("#"):
                self._comment(line, start, found.end())
            elif keyword:
                self._begin(keyword, line, start, number)
            elif string := _STRING.match(line):
                self._go_on(string, start, number)
            elif line.strip():
                raise self._error(number)
        if self._entry and self._entry.translations:
            yield self._entry

    def _error(self, number: int) -> DataError:
        return DataError(
            f"{self._name}:{number}: not a line of a PO file; run 'msgfmt -c' on it, and correct it"
        )

    def _comment(self, line: str, start: int, end: int) -> None:
        if line.startswith("#~"):
            self._entry = self._current = None  # comments and flags before it are its own
            return
        entry = self._entry = self._entry or _Entry(start)
        if line.startswith("#,"):
            entry.flags.append((start, end))
            flags = _flags(line)
            entry.is_fuzzy |= "fuzzy" in flags
            entry.is_unwrapped |= "no-wrap" in flags
            entry.has_arguments |= not _NUMBERED_ARGUMENTS.isdisjoint(flags)
        if entry.flag_place < 0 and line.startswith("#|"):
            entry.flag_place = start

    def _begin(self, keyword: re.Match[str], line: str, start: int, number: int) -> None:
        """Take a line with a keyword."""
        string = _STRING.match(line, keyword.end())
        if string is None:
            raise self._error(number)
        entry = self._entry = self._entry or _Entry(start)
        entry.flag_place = start if entry.flag_place < 0 else entry.flag_place
        name = keyword[0].strip()
        if name in entry.strings:
            raise self._error(number)
        first = start + line.index('"', keyword.end())
        last = start + string.end(1) + 1
        self._current = _String(number, first, last, unescape(string[1], self._encoding))
        entry.strings[name] = self._current

    def _go_on(self, string: re.Match[str], start: int, number: int) -> None:
        """Take a line with a further string."""
        if self._current is None:
            raise self._error(number)
        self._current.value += unescape(string[1], self._encoding)
        self._current.end = start + string.end(1) + 1
        self._current.is_wrapped = True


def _has_short_lines(entries: Sequence[_Entry], text: str) -> bool:
    """Return whether the tool that wrote a file divided its long strings, the header apart."""
    sources = [entry.strings["msgid"] for entry in entries if "msgid" in entry.strings]
    lines = (line for one in sources if one.value for line in text[one.start : one.end].split("\n"))
    return not any(columns(line) > _LONGEST and " " in line.strip('" ') for line in lines)


def _header(entries: Sequence[_Entry]) -> _Header:
    """Return what the header says, if there is one."""
    header = ""
    for entry in entries[:1]:
        if "msgid" in entry.strings and not entry.strings["msgid"].value:
            header = "".join(entry.strings[keyword].value for keyword in entry.translations)
    marker, plurals = _MARKER.search(header), _PLURALS.search(header)
    forms = min(int(plurals[1]), MAX_FORMS) if plurals else 2
    singular = 0
    if plurals:
        try:
            singular = gettext.c2py(plurals[2].strip())(1)
        except (ValueError, RecursionError, ArithmeticError):
            singular = 0
    if forms == 1:
        singular = -1  # all numbers have the form of the plural
    language = _LANGUAGE.search(header)
    return _Header(
        marker[1] if marker else SIGNS, max(forms, 1), singular, language[1] if language else None
    )


class _Writer:
    """Makes segments of entries, and writes their translations."""

    def __init__(self, text: str, newline: str, wraps: bool, options: DocumentOptions) -> None:
        self._text, self._newline, self._wraps = text, newline, wraps
        self._options = options

    def segments(self, entry: _Entry, header: _Header) -> Iterator[Segment]:
        """Yield the segments of an entry that needs a translation."""
        source, plural = entry.strings.get("msgid"), entry.strings.get("msgid_plural")
        if source is None or not source.value:
            return
        values = [entry.strings[keyword].value for keyword in entry.translations]
        is_translated = any(values)
        if plural:
            is_translated = all(values) and len(values) >= header.forms
        if is_translated and not (entry.is_fuzzy and self._options.retranslate):
            return
        retranslates = entry.is_fuzzy and self._options.retranslate
        is_all_new = retranslates or not any(values)
        for form, keyword in enumerate(self._keywords(entry, header)):
            string = plural if plural and form != header.singular else source
            target = entry.strings.get(keyword)
            if target is None or not target.value or retranslates:
                write = self._write(entry, keyword, string.value, is_all_new)
                yield Segment(
                    string.line,
                    string.value,
                    syntax_of(string.value),
                    write,
                    Lines.KEEP,
                    wrap_again,
                    accelerators=header.signs,
                )

    def _keywords(self, entry: _Entry, header: _Header) -> list[str]:
        """Return the keywords of all translations, those of missing plural forms, too."""
        if "msgid_plural" not in entry.strings:
            return entry.translations[:1]
        return [f"msgstr[{number}]" for number in range(header.forms)]

    def _write(self, entry: _Entry, keyword: str, source: str, is_all_new: bool) -> Write:
        """Return the function that writes the string of a keyword, and marks the entry.

        :param is_all_new: no other string of the entry keeps an earlier translation.
        """

        def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
            translation = _with_line_ends(translation, source)
            if entry.has_arguments:
                translation = with_argument_numbers(source, translation)
            target = entry.strings.get(keyword)
            if not translation.strip():
                return
            if self._options.reviewed and is_all_new:
                yield from self._without_fuzzy(entry)
            if target and target.value == translation:
                return
            wraps = self._wraps and not entry.is_unwrapped
            text = quote(keyword, translation, wraps, self._newline)
            if target is None:
                last = entry.strings[entry.translations[-1]].end
                yield Edit(last, last, f"{self._newline}{keyword} {text}")
            else:
                yield Edit(target.start, target.end, text)
            yield from self._mark(entry)

        return write

    def _mark(self, entry: _Entry) -> Iterator[Edit]:
        """Yield the edit that marks an entry as fuzzy, unless it is or is taken for reviewed."""
        if entry.is_fuzzy or self._options.reviewed:
            return
        if not entry.flags:
            yield Edit(entry.flag_place, entry.flag_place, f"#, fuzzy{self._newline}")
            return
        start, _ = entry.flags[0]
        is_spaced = self._text.startswith(" ", start + 2)
        yield Edit(start + 2, start + 2, " fuzzy," if is_spaced else " fuzzy, ")

    def _without_fuzzy(self, entry: _Entry) -> Iterator[Edit]:
        """Yield the edits that take the flag fuzzy away, and lines without another flag."""
        for start, end in entry.flags:
            line = self._text[start:end].rstrip("\r\n")
            flags = _flags(line)
            others = [flag for flag in flags if flag != "fuzzy"]
            if not others:
                yield Edit(start, end, "")
            elif len(others) < len(flags):
                yield Edit(start, start + len(line), f"#, {', '.join(others)}")


def _flags(line: str) -> list[str]:
    """Return the flags of a comment."""
    return [flag.strip() for flag in line[2:].split(",") if flag.strip()]


def _with_line_ends(translation: str, source: str) -> str:
    """Return a translation that begins and ends with a line break if its source does."""
    if source.endswith("\n") and not translation.endswith("\n"):
        translation += "\n"
    if source.startswith("\n") and not translation.startswith("\n"):
        translation = "\n" + translation
    return translation
