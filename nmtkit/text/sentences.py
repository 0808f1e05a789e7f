"""Sentences of a text: models are trained on lines of one sentence each.

A sentence ends with one of `. ! ?` and the like, with the quotes and brackets that close behind it,
before a space and something that may begin a sentence; in Chinese and Japanese no space is needed.
A period behind an abbreviation of Moses's lists, or behind the initial of a name, ends none. What
is too long for a model is divided at a comma or a space.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from nmtkit.text.characters import moses_prefixes
from nmtkit.text.languages import rules_language

MAX_CHARACTERS = 1000
"""Characters of the longest sentence; a sentence of ordinary text has about 130."""

_prefixes = lru_cache(maxsize=16)(moses_prefixes)

_CLOSING = "\"'”’»›)\\]}】」』）］｣*_"
_SIGNS = ".!?…؟۔।॥։።"
_END = re.compile(
    rf"(?<![{_SIGNS}])[{_SIGNS}]++[{_CLOSING}]*+(?=\s)"  # before a space
    rf"|[。！？｡]+[{_CLOSING}]*"
)
_SEPARATOR = re.compile(r"(?<=\s)[|•·›»](?=\s)")
_GAP = re.compile(r"(?<=\S)(?:[^\S\t\r\n]*\t+| {3,}(?=\S))")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BULLET = re.compile(r"(?:[-–—•·*+♪#]+|[0-9]{1,3}\))\s+")
_LABEL = re.compile(r"([^\s:][^:\n]{0,30}):\s+(?=\S)")
_LONGEST_LABEL = 80
"""Characters that are looked at to find the label of a speaker."""

_SPACE = re.compile(r"\s*")
_FOLLOWING_LETTER = re.compile(r"[^\w\s]*(\w)?")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]*\Z")
_PLACE_TO_DIVIDE = (re.compile(r"[;:,、，；：]\s*"), re.compile(r"\s+"))


class Span(NamedTuple):
    """Offsets of a sentence, without the whitespace around it."""

    start: int
    end: int


class Lines(StrEnum):
    """What line breaks in a text mean.

    FOLD: they are spaces, as in HTML. KEEP: each ends a sentence, except one in the middle of
    wrapped text; so does a tab or a gap of three spaces within a line. WRAP: a line break ends a
    sentence only before the dash or the label of another speaker (`JOHN: `), which belongs to no
    sentence. HARD: only behind two spaces, as in Markdown.
    """

    FOLD = "fold"
    KEEP = "keep"
    WRAP = "wrap"
    HARD = "hard"


_WITH_BULLETS = (Lines.KEEP, Lines.WRAP)


def find_sentences(
    text: str, language: str, lines: Lines = Lines.FOLD, breaks: Collection[int] = ()
) -> list[Span]:
    """Return the sentences of a text, in time that grows with its length.

    :param text: any text.
    :param language: its code, by which abbreviations are known.
    :param lines: see `Lines`.
    :param breaks: offsets at which a sentence ends in any case.
    """
    ends = {*breaks, *_sentence_ends(text, language), *_line_ends(text, lines)}
    if lines == Lines.KEEP:
        ends |= {found.end() for found in _GAP.finditer(text)}
    ends |= {offset for found in _SEPARATOR.finditer(text) for offset in found.span()}
    spans: list[Span] = []
    start = 0
    for end in [*sorted(ends), len(text)]:
        part = text[start:end]
        first = len(part) - len(part.lstrip())
        bullet = _BULLET.match(part, first) if lines in _WITH_BULLETS or not spans else None
        first = bullet.end() if bullet else first
        if lines == Lines.WRAP and (start == 0 or "\n" in text[start - 1 : start + first]):
            first += _length_of_label(text[start + first : start + first + _LONGEST_LABEL])
        last = len(part.rstrip())
        spans += _divided(text, start + first, start + last) if first < last else []
        start = end
    return spans


def _sentence_ends(text: str, language: str) -> Iterator[int]:
    """Yield the offsets behind sentences."""
    never, before_digits = _prefixes(rules_language(language))
    for found in _END.finditer(text):
        if found[0][0] in "。！？｡":
            yield found.end()
            continue
        following = _FOLLOWING_LETTER.match(text, _skip_space(text, found.end()))
        letter = following[1] if following else None
        if letter and letter.islower() and not found[0].startswith(("!", "?", "؟")):
            continue
        if found[0] == ".":
            word = _LAST_WORD.search(text, max(0, found.start() - 30), found.start())
            before = word[0] if word else ""
            if before in never or (before in before_digits and letter and letter.isdigit()):
                continue
            if len(before) == 1 and before.isupper():  # the initial of a name
                continue
            if before.isdigit() and len(before) < 3:  # an ordinal number, or one of a list
                continue
        yield found.end()


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _line_ends(text: str, lines: Lines) -> Iterator[int]:
    """Yield the offsets of line breaks that end a sentence."""
    if lines == Lines.FOLD:
        return
    start = 0
    for found in _LINE_END.finditer(text):
        line, following = (
            text[start : found.start()].strip(),
            text[found.end() : found.end() + _LONGEST_LABEL],
        )
        start = found.end()
        if lines == Lines.HARD:
            if text.endswith("  ", 0, found.start()):
                yield found.end()
            continue
        if lines == Lines.WRAP:
            begin = f"{following.lstrip()} "
            if _BULLET.match(begin) or _length_of_label(begin) or not following.strip():
                yield found.end()
            continue
        begins = _FOLLOWING_LETTER.match(following)
        is_wrapped = begins is not None and begins[1] is not None and begins[1].islower()
        is_ended = not line or line[-1] in ".!?:。！？"
        if is_ended or not is_wrapped or _BULLET.match(following):
            yield found.end()


def _length_of_label(text: str) -> int:
    """Return the length of the label of a speaker, as in `JOHN: Hello`, or 0.

    Between other capital letters there is none.
    """
    found = _LABEL.match(text)
    if not found or not found[1].isupper():
        return 0
    return 0 if text[found.end() :].isupper() else found.end()


def _divided(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a sentence, in parts if it is too long."""
    while end - start > MAX_CHARACTERS:
        limit = start + MAX_CHARACTERS
        cut = _last_place(text, start + MAX_CHARACTERS // 2, limit)
        yield Span(start, start + len(text[start:cut].rstrip()))
        start = _skip_space(text, cut)
    if start < end:
        yield Span(start, end)


def _last_place(text: str, start: int, limit: int) -> int:
    """Return where to divide a sentence: behind the last comma or space, or at the limit."""
    for pattern in _PLACE_TO_DIVIDE:
        places: Sequence[int] = [found.end() for found in pattern.finditer(text, start, limit)]
        if places:
            return places[-1]
    return limit
