"""The character classes of Moses's rules, and its lists of non-breaking prefixes.

Both come from sacremoses, whose import takes as long as translating several lines, because it
builds the tables of all languages. For the characters of western languages, Python's own classes
are the same: `WESTERN` holds them, and `moses_characters` returns the complete classes.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

WESTERN_CODES = (*range(0x250), *range(0x2000, 0x20D0))
"""Latin with its extensions A and B, general punctuation, sub- and superscripts, currency signs."""


class Characters(NamedTuple):
    """The characters of each class, as strings.

    number: all numeric characters, including fractions and superscripts; `alnum` has only digits.
    ranges: more letters, as ranges of a regular expression.
    """

    alnum: str
    alpha: str
    lower: str
    number: str
    ranges: str = ""

    def with_letters(self, letters: str) -> "Characters":
        """Return classes in which some more characters are letters."""
        return self._replace(alnum=self.alnum + letters, alpha=self.alpha + letters)


def _select(condition: Callable[[str], bool], codes: Iterable[int] = WESTERN_CODES) -> str:
    return "".join(filter(condition, map(chr, codes)))


WESTERN = Characters(
    alnum=_select(lambda character: character.isalpha() or character.isdecimal()),
    alpha=_select(str.isalpha),
    lower=_select(str.islower),
    number=_select(str.isnumeric),
)
"""The classes, limited to `WESTERN_CODES`."""


_SCRIPTS = {
    "zh": ("Han",),
    "ja": ("Hiragana", "Katakana", "Han"),
    "ko": ("Hangul",),
    "cjk": ("Hangul", "Han", "Hiragana", "Katakana"),
}
"""Languages to which sacremoses gives more letters, and their scripts."""


def moses_characters(language: str) -> Characters:
    """Return the complete classes; Chinese, Japanese and Korean have additional letters."""
    from sacremoses import MosesTokenizer as Moses
    from sacremoses.tokenize import perluniprops

    # Not those of an instance: with more letters, it compiles its own rules, which takes seconds.
    letters = "".join("".join(perluniprops.chars(s)) for s in _SCRIPTS.get(language, ()))
    return Characters(Moses.IsAlnum, Moses.IsAlpha, Moses.IsLower, Moses.IsN).with_letters(letters)


def as_ranges(characters: str) -> str:
    """Return letters and digits for a class of a regular expression, which compiles faster."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, set(characters))):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def moses_prefixes(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words whose period does not end a sentence: in general, and only before digits.

    A language without a list uses the English one.
    """
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer(language)
    numeric = frozenset(moses.NUMERIC_ONLY_PREFIXES)
    return frozenset(moses.NONBREAKING_PREFIXES) - numeric, numeric


ZERO_WIDTH_JOINER = "\u200d"
_OTHER_PLANES = "\U00010000-\U0001cfff\U0001e000-\U0001efff\U00020000-\U0003ffff"
"""Ranges of scripts that Moses does not know. A regular expression is slow with their letters one
by one."""

_OTHER_MARKS = "\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef"
"""Ranges of skin tones and variation selectors."""


@cache
def combining_characters() -> str:
    """Return the characters of the first plane that belong to the one before."""
    return _select(is_mark, range(0x300, 0x10000)) + "\u200c" + ZERO_WIDTH_JOINER


def is_mark(character: str) -> bool:
    """Return whether a character is a combining mark."""
    return unicodedata.category(character)[0] == "M"


def with_marks(characters: Characters) -> Characters:
    """Return classes in which marks, joiners and scripts that Moses does not know are letters."""
    return characters.with_letters(combining_characters())._replace(ranges=_OTHER_PLANES)


@cache
def mark_ranges() -> str:
    """Return the characters of all planes that belong to the one before, for a regular expression.

    They are combining marks, joiners, skin tones and variation selectors.
    """
    others = _select(is_mark, range(0x10000, 0x1F000))
    return as_ranges(combining_characters() + others) + _OTHER_MARKS


@cache
def _cuts() -> re.Pattern[str]:
    """Return the pattern of blanks between a character and what belongs to it."""
    return re.compile(f"(?: +@(-)@)? +(?=[{mark_ranges()}])|(?<={ZERO_WIDTH_JOINER}) +(?!@-@ )")


def reattach_marks(text: str) -> str:
    """Remove blanks that rules put between a character, or a hyphen, and its combining marks."""
    return _cuts().sub(r"\1", text)


def has_loose_marks(line: str) -> bool:
    """Return whether a word of a line begins with a combining mark."""
    return _cuts().search(line) is not None


def is_cased(character: str) -> bool:
    """Return whether a letter is of a script with capital letters, as on keyboards."""
    return character.lower() != character.upper()


def is_small(character: str) -> bool:
    """Return whether a character is a letter that would be a capital at the start of a sentence.

    Georgian letters have capitals, but only for text that is all in capitals; Unicode says so by
    letting them stay as they are in titles.
    """
    return character.islower() and character.title() != character


_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_EXTENDING = re.compile(
    "[\u200c\u200d\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3\u1160-\u11ff\ud7b0-\ud7fb\uff9e\uff9f"
    f"\U000e0020-\U000e007f{_OTHER_MARKS}]"
)
"""Characters that belong to the one before but are no combining marks to Unicode: joiners, vowels
of Thai and Lao, medial and final jamo, voice marks of narrow kana, tags and skin tones."""

_LEADING = re.compile(f"[{ZERO_WIDTH_JOINER}\u0e40-\u0e44\u0ec0-\u0ec4]")
"""Characters to which the next one belongs: joiner, and vowels of Thai and Lao before a letter."""

_VIRAMA = 9
"""Class of the signs that bind two consonants."""


def is_grapheme_boundary(text: str, offset: int) -> bool:
    """Return whether a text may be divided at an offset without cutting what looks like one letter.

    Stricter than Unicode's annex 29 in the scripts of India and South-East Asia, where a
    consonant stays with its vowel signs, also those in front of it, and with the one below.
    """
    if not 0 < offset < len(text):
        return True
    before, after = text[offset - 1], text[offset]
    if before.isascii() and after.isascii():
        return True
    if is_mark(after) or _EXTENDING.match(after) or _LEADING.match(before):
        return False
    if unicodedata.combining(before) == _VIRAMA and after.isalpha():
        return False
    return not (after in _FLAG_LETTERS and _is_in_flag(text, offset))


def _is_in_flag(text: str, offset: int) -> bool:
    """Return whether an offset before a letter of a flag is between its two letters."""
    before = text[:offset]
    return (len(before) - len(before.rstrip(_FLAG_LETTERS))) % 2 == 1
