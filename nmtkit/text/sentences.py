"""Sentences of a text: models are trained on lines of one sentence each.

A sentence ends with one of `. ! ?` and the like, with the quotes and brackets that close behind it,
before a space and something that may begin a sentence; in Chinese and Japanese no space is needed,
but a quotation that text follows directly is a part of its sentence. A period does not
end a sentence behind an abbreviation (those of Moses and of `abbreviations.py`), the initials of a
name, or the number of an item. Behind other numbers of one or two digits it does, except in
languages with ordinal numbers like the German `12.`. What is too long for a model is divided at a
comma or a space, or between two characters as readers count them.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from nmtkit.text.abbreviations import abbreviations
from nmtkit.text.characters import is_cased, is_grapheme_boundary, is_small
from nmtkit.text.languages import rules_language
from nmtkit.text.punctuation import (
    CLOSING_QUOTES,
    DIRECTION_MARKS,
    QUOTES_BEHIND_SIGNS,
    SENTENCE_SIGNS,
    SHADS,
    UNSPACED_SIGNS,
    WIDE_STOP,
    sentence_signs,
)
from nmtkit.text.scripts import IDEOGRAPHIC, KANA

MAX_CHARACTERS = 1000
"""Characters of the longest sentence; a sentence of ordinary text has about 130."""

PERIODS_IN_ORDINALS = frozenset(
    "az bs cs csb da de dsb et eu fi fo gsw hr hsb hu is kl ko lb lv nb nds nn no pl se sh sk sl sr"
    " szl tr".split()
)
"""Languages that write a period behind ordinal numbers, or as Korean behind those of a date."""

YEAR_BEFORE_MONTH = frozenset(("hu", "ko"))
"""Languages with a period behind the year of a date: `2024. 5. 12.`"""

_CLOSING = f"{CLOSING_QUOTES}*_{DIRECTION_MARKS}"
_WIDE = rf"[{IDEOGRAPHIC}{KANA}）」』】〉》]"
_WIDE_STOP = rf"(?<={_WIDE}{_WIDE}){WIDE_STOP}"
_ETHIOPIC = "[\u1200-\u135a]"
_SPACED_GUILLEMET = r"[^\S\r\n][»›](?=[\s.,;:!?…)\]]|\Z)"
_ITEM_SEPARATOR = re.compile(r"(?<=\s)[|•·](?=\s)")
_GUILLEMET = re.compile(r"[«»‹›]|\n\s*\n")
_GAP = re.compile(r"(?<=\S)(?:[^\S\t\r\n]*\t+| {3,}(?=\S))")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BULLET = re.compile(r"(?:[-–—•·*+♪#]+|[0-9]{1,3}\))\s+")
_LABEL = re.compile(r"([^\s:][^:\n]{0,30}):\s+(?=\S)")
_LONGEST_LABEL = 80
"""Characters that are looked at to find the label of a speaker."""

_SPACE = re.compile(r"\s*")
_FOLLOWING_LETTER = re.compile(rf"[^\w\s{UNSPACED_SIGNS}{SHADS}]*(\w)?")
_OPENING = f"(\\[\"'“”„‘’‚«»‹›*_¿¡–—{DIRECTION_MARKS}"
"""What may stand directly before a word."""

_LAST_WORD = re.compile(rf"\w['’][a-z]\Z|[^\s{_OPENING}]*\Z")  # geht's; dell'avv
_BEFORE_ITEM = re.compile(rf"(?:\A|[^\w,.\s]\s+|[\r\n])\s*[{_OPENING}]*(?:\w+\.?\s)?\Z")
"""What stands in a sentence before the number of an item: nothing, a sign, one word, `Fig. 1.`"""

_MONTH = re.compile(
    r"\s+(?:[0-9]{1,2}\. ?[0-9]{4}|[12][0-9]{3}|January|February|March|April|May|June|July|August"
    r"|September|October|November|December)\b"
)
"""What follows the day or month of a date; most languages write the names of months small."""

_MONTH_AND_DAY = re.compile(r"\s+[0-9]{1,2}\.\s+[0-9]{1,2}\b")
_ENDED_LINE = re.compile(
    rf"(?!…)[{SENTENCE_SIGNS}{UNSPACED_SIGNS}{WIDE_STOP}:：][{DIRECTION_MARKS}]*\Z"
)
_LETTER_OF_INDIA = re.compile("[\u0900-\u0dff]{1,3}")
_LETTER_NAME = re.compile(" LETTER |THAI CHARACTER ")
_VISIBLE = re.compile(rf"[^{DIRECTION_MARKS}]")
_QUOTE = re.compile(rf"[^*_{DIRECTION_MARKS}\s]")
_SIGNS_WITHIN = ".…;:"
"""Signs that also stand within a sentence: in abbreviations, for what is left out, as a comma."""

_BLANK = r"[\s\u200b]"
_PLACES_TO_DIVIDE = (
    re.compile(
        rf"(?:[;:,](?={_BLANK})|[、，；：،؛\u055d\u104a\u1363-\u1365\u1802])[”’»›)}}」』）］]*{_BLANK}*"
    ),
    re.compile(rf"{_BLANK}+|[\u0f0b\u1361]"),  # the latter separate syllables and words
    re.compile(r"(?<![0-9])[;:,]"),
)
"""Where to divide a long sentence, the best places first."""


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
    ends |= {offset for span in _separators(text) for offset in span}
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


@lru_cache(maxsize=16)
def _end_pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of what may end a sentence.

    A mark that elsewhere opens a quotation closes one directly behind a sign and before a blank:
    `„Gut.“ Sie`.
    """
    signs = sentence_signs(language)
    quotes = rf"[{_CLOSING}{QUOTES_BEHIND_SIGNS}]|{_SPACED_GUILLEMET}"
    unspaced = rf"[{UNSPACED_SIGNS}](?!ល។|បេ។)|{_WIDE_STOP}"  # Khmer ។ល។ means and so on
    more_shads = rf" ?[{SHADS}]"
    tibetan = rf"(?<![{SHADS}])(?<![{SHADS}] )[{SHADS}](?:{more_shads})*(?!{more_shads})"
    return re.compile(
        rf"(?:(?<![{signs}])(?P<spaced>[{signs}]++|፡፡|(?<={_ETHIOPIC})::|{tibetan})"
        rf"(?P<quotes>(?:{quotes})*)(?!{quotes})(?=\s|\Z))"
        rf"|(?:(?:{unspaced})[{UNSPACED_SIGNS}!?]*"
        rf"|[{SHADS}](?:{more_shads})+(?!{more_shads}))"  # two need no blank
        rf"(?P<inner_quotes>[{_CLOSING}]*)"
    )


def _sentence_ends(text: str, language: str) -> Iterator[int]:
    """Yield the offsets behind sentences."""
    language = rules_language(language)
    start = 0
    for found in _end_pattern(language).finditer(text):
        if found["spaced"] is None:
            is_end = not _goes_on_directly(text, found)
        else:
            goes_on = _goes_on(text, found) or _is_abbreviation(text, start, found, language)
            is_end = not goes_on
        if is_end:
            start = found.end()
            yield start


def _goes_on_directly(text: str, found: re.Match[str]) -> bool:
    """Return whether a quotation is a part of its sentence: `「行く。」と言った。`.

    Another quotation directly behind it is not: `「行く。」「はい。」`.
    """
    following = text[found.end() : found.end() + 1]
    if not following or following.isspace() or not _QUOTE.search(found["inner_quotes"]):
        return False
    return unicodedata.category(following) not in ("Ps", "Pi")


def _goes_on(text: str, found: re.Match[str]) -> bool:
    """Return whether a small letter shows that the sentence goes on.

    It does not behind a bare sign that only ends sentences, like `?` and `।`, nor behind a word of
    a script without capitals: `실행합니다. xterm을`.
    """
    if not is_small(_following_letter(text, found.end())):
        return False
    before = text[max(0, found.start() - 30) : found.start()]
    last = next(filter(str.isalnum, reversed(before)), "")
    if last.isalpha() and not is_small(last) and not last.isupper():
        return False
    return _QUOTE.search(found["quotes"]) is not None or found["spaced"][0] in _SIGNS_WITHIN


def _is_abbreviation(text: str, start: int, found: re.Match[str], language: str) -> bool:
    """Return whether a period belongs to an abbreviation or a number.

    :param start: offset of the sentence.
    """
    if found["spaced"] != "." or _VISIBLE.search(found["quotes"]):
        return False
    sentence = text[max(start, found.start() - 30) : found.start()]
    rest = _LAST_WORD.sub("", sentence, count=1)
    before = unicodedata.normalize("NFC", sentence[len(rest) :])
    forms = {before}
    if not any(map(str.isalnum, rest)):
        forms.add(before[:1].lower() + before[1:])
    in_general, before_digits = abbreviations(language)
    is_before_digit = _following_letter(text, found.end()).isdigit()
    if forms & in_general or (is_before_digit and forms & before_digits):
        return True
    if before.isdigit():
        after = text[found.end() : found.end() + 30]
        return _is_in_number(rest, before, after, language)
    parts = before.replace("-", "").split(".")
    return _is_initial(before) or (len(parts) > 1 and all(map(_is_dotted_letter, parts)))


def _is_in_number(before: str, number: str, after: str, language: str) -> bool:
    """Return whether a period belongs to a number: an ordinal one, that of an item, or a year.

    :param before: what stands before the number in its sentence.
    """
    if len(number) > 2:
        is_year = len(number) == 4 and language in YEAR_BEFORE_MONTH
        return is_year and _MONTH_AND_DAY.match(after) is not None
    if language in PERIODS_IN_ORDINALS or _MONTH.match(after):
        return True
    return _BEFORE_ITEM.search(before) is not None


def _is_initial(word: str) -> bool:
    """Return whether a word is the initial of a name or title: `J. Doe`, `د. ديفيد`.

    Signs of syllables, as in Korean, may be words.
    """
    if len(word) != 1 or is_small(word):
        return False
    return is_cased(word) or _LETTER_NAME.search(unicodedata.name(word, "")) is not None


def _is_dotted_letter(word: str) -> bool:
    """Return whether a word may be a part of initials, or of an abbreviation: `J.-P.`, `พ.ศ.`.

    In scripts of India it may be the name of a Latin letter: `আই.এস.ও.` is ISO.
    """
    is_letter = len(word) == 1 and word.isalpha() and not is_small(word)
    return is_letter or _LETTER_OF_INDIA.fullmatch(word) is not None


def _following_letter(text: str, position: int) -> str:
    """Return the letter or digit that the next word begins with, or ""."""
    found = _FOLLOWING_LETTER.match(text, _skip_space(text, position))
    return (found[1] or "") if found else ""


def _separators(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of signs between items: `| • ·`, and `» ›` of breadcrumbs."""
    yield from (found.span() for found in _ITEM_SEPARATOR.finditer(text))
    paragraph: list[re.Match[str]] = []
    for found in _GUILLEMET.finditer(text):
        if len(found[0]) == 1:
            paragraph.append(found)
        else:
            yield from _breadcrumb_signs(text, paragraph)
            paragraph = []
    yield from _breadcrumb_signs(text, paragraph)


def _breadcrumb_signs(text: str, marks: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield the offsets of each » and › between blanks that is no mark of a quotation.

    :param marks: all guillemets of a paragraph.
    """
    opened = 0
    unopened: list[tuple[int, int]] = []
    for mark in marks:
        if mark[0] in "«‹":
            opened += 1
        elif opened:
            opened -= 1
        else:
            unopened.append(mark.span())
    for start, end in unopened[: max(0, len(unopened) - opened)]:  # the others open `»…«`
        if text[max(0, start - 1) : start].isspace() and text[end : end + 1].isspace():
            yield start, end


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
        is_wrapped = begins is not None and is_small(begins[1] or "")
        is_ended = not line or _ENDED_LINE.search(line) is not None
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
    """Return where to divide a sentence: at the last of the best places before the limit."""
    for pattern in _PLACES_TO_DIVIDE:
        places = [found.end() for found in pattern.finditer(text, start, limit)]
        for place in reversed(places):
            if is_grapheme_boundary(text, place):
                return place
    offsets = range(limit, start, -1)
    return next((offset for offset in offsets if is_grapheme_boundary(text, offset)), limit)
