"""Subtitles in SubRip and WebVTT: the lines of each subtitle; times and numbers stay.

A sentence that goes on in the next subtitle is translated as one, and divided where the alignment
says that its second part begins.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nmtkit.columns import columns
from nmtkit.documents.document import (
    Document,
    DocumentOptions,
    Edit,
    Lookup,
    Segment,
    Syntax,
    Write,
)
from nmtkit.documents.encoding import LINE, decode, legacy_encoding, newline_of
from nmtkit.documents.line_division import divided_line
from nmtkit.text.characters import is_small
from nmtkit.text.punctuation import (
    DIRECTION_MARKS,
    QUOTES_BEHIND_SIGNS,
    SENTENCE_SIGNS,
    UNSPACED_SIGNS,
    WIDE_STOP,
)
from nmtkit.text.scripts import unwrapped
from nmtkit.text.sentences import Lines

MAX_JOINED = 6
"""Subtitles over which a sentence may go."""

_TIME = re.compile(r"\s*[0-9][0-9:,.\s]*-->")
_NUMBER = re.compile(r"\s*[0-9]+\s*\Z")
_POSITION = re.compile(r"(?:\{\\[^{}]*\})+")
_CONTINUED = "<?subtitle?>"
_ENDED = re.compile(
    rf"(?!…|(?<=\.\.)\.)[{SENTENCE_SIGNS}{UNSPACED_SIGNS}{WIDE_STOP}:;♪\])]"
    rf"[{QUOTES_BEHIND_SIGNS}{DIRECTION_MARKS}]*(?:</[^<>]*>)*\Z"
)


class _Subtitle(NamedTuple):
    """The text of a subtitle: its offsets, and the line where it begins."""

    start: int
    end: int
    line: int
    text: str


def parse_srt(data: bytes, name: str, options: DocumentOptions) -> Document:
    """Find the texts of subtitles.

    :raises DataError: the encoding cannot be read and written byte for byte.
    """
    text, encoding = decode(data, name, legacy_encoding(data))
    newline = newline_of(text)
    segments = [_segment(group, newline) for group in _groups(_subtitles(text))]
    warnings = [] if segments else [(1, "no subtitles here; the file was left as it is")]
    return Document(text, encoding, segments, warnings)


def _subtitles(text: str) -> Iterator[_Subtitle]:
    """Yield the texts of a file's subtitles.

    A text ends at an empty line, or where no line is empty at the next time and its number. In
    SubRip what stands behind an empty line is a text, too; in WebVTT it is a note or a name.
    """
    numbers = Lookup.of(text)
    goes_on = not text.lstrip("\ufeff").startswith("WEBVTT")
    lines: list[tuple[int, int]] = []  # offsets of the lines of a text
    is_text = False
    for found in LINE.finditer(text):
        line, start = found[0].rstrip(), found.start()
        is_time = _TIME.match(line) is not None
        if is_time and lines and _NUMBER.match(text[slice(*lines[-1])]):
            lines.pop()
        is_end = not line and (goes_on or not found[0].strip("\r\n"))  # spaces are no end in WebVTT
        if is_time or is_end:
            yield from _subtitle(text, lines, numbers)
            lines = []
            is_text = is_time or (is_text and goes_on)
        elif is_text and line:
            lines.append((start, start + len(line)))
    yield from _subtitle(text, lines, numbers)


def _subtitle(text: str, lines: Sequence[tuple[int, int]], numbers: Lookup) -> Iterator[_Subtitle]:
    """Yield the subtitle of some lines, if there are any."""
    if lines:
        start, end = lines[0][0], lines[-1][1]
        position = _POSITION.match(text, start, end)
        first = position.end() if position else start
        yield _Subtitle(first, end, numbers.line(first), text[first:end])


def _groups(subtitles: Iterable[_Subtitle]) -> Iterator[list[_Subtitle]]:
    """Yield subtitles that one sentence goes over together."""
    group: list[_Subtitle] = []
    for subtitle in subtitles:
        if group and not (len(group) < MAX_JOINED and _goes_on(group[-1], subtitle)):
            yield group
            group = []
        group.append(subtitle)
    if group:
        yield group


def _goes_on(subtitle: _Subtitle, following: _Subtitle) -> bool:
    """Return whether a sentence goes on in the next subtitle: it begins with a small letter."""
    if _CONTINUED in subtitle.text or _CONTINUED in following.text:
        return False
    text = re.sub(r"^(?:<[^<>]*>|\.{3}|…|\s)+", "", following.text)
    return is_small(text[:1]) and not _ENDED.search(subtitle.text)


def _segment(group: Sequence[_Subtitle], newline: str) -> Segment:
    texts = [subtitle.text.replace("\r\n", "\n") for subtitle in group]
    source = texts[0]
    for text in texts[1:]:
        source += f" {_CONTINUED}{text}"
    write = _write(group, newline)
    return Segment(group[0].line, source, Syntax.SUBTITLE, write, Lines.WRAP)


def _write(group: Sequence[_Subtitle], newline: str) -> Write:
    """Return the function that writes the texts of subtitles."""

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        texts = translation.split(_CONTINUED) if len(group) > 1 else [translation]
        for subtitle, text in zip(group, texts, strict=True):
            source = subtitle.text.replace("\r\n", "\n")
            if text.rstrip(" ") == source.rstrip(" "):
                continue
            lines = source.count("\n") + 1
            new = newline.join(balanced_lines(text, lines))
            yield Edit(subtitle.start, subtitle.end, new or " ")

    return write


def balanced_lines(text: str, most: int) -> list[str]:
    """Divide a text into lines of about the same width.

    :param most: of the lines; lines that the text has already stay.
    """
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    if len(lines) > most:
        lines = [" ".join(unwrapped("\n".join(lines)).split())]
    if lines and len(lines) < most:
        widest = max(range(len(lines)), key=lambda number: columns(lines[number]))
        lines[widest : widest + 1] = divided_line(lines[widest], most - len(lines) + 1)
    return lines
