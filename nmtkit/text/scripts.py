"""Scripts: which write no blanks between words, and how long a text is in words.

Words cannot be counted where a script writes no blanks. There a number of characters counts as one
word, so that lengths and their ratios mean the same in every language: two ideographs, three kana,
and five characters of Thai and other scripts of South-East Asia and Tibet. In translations of the
same English text this gives Chinese 0.96 and Japanese 1.16 words for each English one.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from math import ceil

CHARACTERS_PER_IDEOGRAPHIC_WORD = 2
CHARACTERS_PER_KANA_WORD = 3
CHARACTERS_PER_ALPHABETIC_WORD = 5

IDEOGRAPHIC = (
    "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u303b\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff"
    "\ua000-\ua48c\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Han, bopomofo and Yi, as ranges of a regular expression."""

KANA = (
    "\u3031-\u3035\u3040-\u3098\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\U0001b000-\U0001b16f"
)
"""Hiragana and katakana, as `IDEOGRAPHIC`."""

UNSPACED_ALPHABETIC = (
    "\u0e00-\u0e3a\u0e40-\u0e4e\u0e80-\u0ece\u0edc-\u0edf\u0f00\u0f0b\u0f35-\u0f39\u0f40-\u0fbc\u1000-\u103f"
    "\u1050-\u109d\u1780-\u17d3\u17d7\u1950-\u19ad\u19b0-\u19c9\u1a20-\u1a7c\u1b00-\u1b4b\ua980-\ua9c0"
    "\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a-\uaadd"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Tai, Balinese and Javanese, as `IDEOGRAPHIC`."""

_IDEOGRAPHS = re.compile(f"[{IDEOGRAPHIC}]")
_KANA = re.compile(f"[{KANA}]")
_ALPHABETIC = re.compile(f"[{UNSPACED_ALPHABETIC}]")
_UNSPACED = re.compile(f"[{IDEOGRAPHIC}{KANA}{UNSPACED_ALPHABETIC}]")
_WIDE_PUNCTUATION = "\u3001-\u3030\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_UNSPACED_SIDE = f"{IDEOGRAPHIC}{KANA}{UNSPACED_ALPHABETIC}{_WIDE_PUNCTUATION}"
_NARROW_QUOTES = "“”‘’…—"
_WRAPPED = re.compile(
    rf"(?<=[{_UNSPACED_SIDE}])[^\S\r\n]*[\r\n]\s*(?=[{_UNSPACED_SIDE}{_NARROW_QUOTES}])"
    rf"|(?<=[{_NARROW_QUOTES}])[^\S\r\n]*[\r\n]\s*(?=[{_UNSPACED_SIDE}])"
)
JOINERS = "\u200c\u200d"
WORD_JOINERS = f"_{JOINERS}"
"""Characters that belong to words though they are no letters, marks or digits."""

MAX_UNSPACED_SHARE = 0.05
"""Letters of scripts without blanks, beyond which a text is not one of words written apart."""

MAX_MARKED_SHARE = 0.01
"""Combining marks and joiners per letter, beyond which Moses's rules would cut the text's words."""


def is_spaced(character: str) -> bool:
    """Return whether a character belongs to words that blanks separate: letter, mark or digit."""
    return unicodedata.category(character)[0] in "LMN" and not _UNSPACED.match(character)


def is_in_word(character: str) -> bool:
    """Return whether a character belongs to words, as in the words of a glossary; "" does not.

    Letters, digits, combining marks, joiners and `_` do.
    """
    if not character:
        return False
    return unicodedata.category(character)[0] in "LMN" or character in WORD_JOINERS


def unwrapped(text: str) -> str:
    """Return a text without the line breaks, and blanks around them, that separate no words.

    These stand between two characters of scripts without blanks, or their punctuation. Other line
    breaks stay.
    """
    return _WRAPPED.sub("", text) if "\n" in text or "\r" in text else text


def unspaced_characters(text: str) -> int:
    """Return the number of characters of scripts without blanks between words."""
    return len(_UNSPACED.findall(text))


def spaced_characters(text: str) -> str:
    """Return a text whose characters of scripts without blanks stand between blanks."""
    if text.isascii() or not _UNSPACED.search(text):
        return text
    return " ".join(_UNSPACED.sub(r" \g<0> ", text).split())


def length_in_words(text: str) -> int:
    """Return the number of words between whitespace; see the module for scripts without blanks."""
    if text.isascii() or not _UNSPACED.search(text):
        return len(text.split())
    ideographs = len(_IDEOGRAPHS.findall(text)) / CHARACTERS_PER_IDEOGRAPHIC_WORD
    kana = len(_KANA.findall(text)) / CHARACTERS_PER_KANA_WORD
    alphabetic = len(_ALPHABETIC.findall(text)) / CHARACTERS_PER_ALPHABETIC_WORD
    return len(_UNSPACED.sub(" ", text).split()) + ceil(ideographs + kana + alphabetic)


def why_not_words(lines: Iterable[str]) -> str | None:
    """Return why a text cannot be split into words by Moses's rules, or None if it can."""
    counts = Counter("".join(lines))
    letters = unspaced = marks = 0
    for character, count in counts.items():
        if unicodedata.category(character)[0] == "M" or character in JOINERS:
            marks += count
        elif character.isalpha():
            letters += count
        if _UNSPACED.match(character):
            unspaced += count
    if unspaced > MAX_UNSPACED_SHARE * letters:
        return "it is written without blanks between words"
    if marks > MAX_MARKED_SHARE * letters:
        return "it has combining marks or joiners, at which Moses's rules would cut words"
    return None
