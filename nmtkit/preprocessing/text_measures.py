"""What the rules of cleaning measure: numbers of one raw line, or of the two lines of a pair."""

import math
import re
import unicodedata
from collections import Counter

from nmtkit.preprocessing.scripts import wide_characters

WIDE_CHARACTER = 3
"""Letters of an alphabet that one wide character stands for, in lengths."""

MAX_UNIT = 20
"""Characters of the longest unit whose repetitions are found."""

_REPEATED = re.compile(rf"(.{{1,{MAX_UNIT}}}?)\1{{2,}}", re.DOTALL)

_QUOTES = "\u00a0«»ªº‘’“”‚„…–—"
_DOUBLE_ENCODED = re.compile(
    f"Ã(?![{_QUOTES}])[\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6"
    "\u02dc\u2020-\u2022\u2030\u2039\u203a\u20ac\u2122]|â€[\u0080-\u00bf\u0153\u02dc\u2122\u201c\u201d]"
)

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")

_NOT_IN_WORD = (
    r"\s\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff"
    r"\uff00-\uffef\U00020000-\U0003ffff"
)
"""Whitespace, and letters and signs beside which other text may stand without a blank."""

_LONG_WORD = re.compile(f"[^{_NOT_IN_WORD}]+")

_HAN_NUMERALS = re.compile("[〇一二三四五六七八九十百千万億亿两兩]")

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,15})(?:\s[^<>]{0,1000})?/?>")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});")

_SPACED = r"0-9A-Za-z_\u00c0-\u0dff\u10a0-\u167f\u1e00-\u1fff"
_ADDRESS = re.compile(
    rf"(?i:(?:https?|ftp)://|www\.(?<![{_SPACED}]www\.))[^{_NOT_IN_WORD}]+"
    rf"|[{_SPACED}.+-]{{1,64}}@[{_SPACED}-]+\.[{_SPACED}.-]+"
)
"""A URL or e-mail address, which ends where text goes on without a blank in another script."""

_ARGUMENT_NUMBER = re.compile(r"%\d{1,2}\$")
"""The number of an argument in a placeholder of C: `%1$s`."""


class _Letters(dict[int, int | None]):
    """Removes, in `str.translate`, all characters but letters and the marks that belong to them."""

    def __missing__(self, code: int) -> int | None:
        kept = code if unicodedata.category(chr(code))[0] in "LM" else None
        self[code] = kept
        return kept


_LETTERS = _Letters()


def letters(line: str) -> int:
    """Return the number of letters and of the marks that belong to them."""
    return len(line.translate(_LETTERS))


def share_of_letters(line: str) -> float:
    """Return the share of letters among the characters that are not blank; 1 without any."""
    size = len("".join(line.split()))
    return letters(line) / size if size else 1.0


def width(line: str) -> int:
    """Return a line's length in letters of an alphabet; an ideograph counts as three.

    Whitespace counts as one blank, and not at the ends.
    """
    line = " ".join(line.split())
    if not line.isascii():
        line = unicodedata.normalize("NFC", line)  # a syllable of hangul may be three characters
    return len(line) + (WIDE_CHARACTER - 1) * wide_characters(line)


def length_ratio(src: str, tgt: str) -> float:
    """Return the ratio of the longer side's width to the shorter one's.

    Ten letters are added to both: among short lines high ratios are common.
    """
    short, long = sorted((width(src), width(tgt)))
    return (long + 10) / (short + 10)


def damaged_characters(line: str) -> int:
    """Return the number of characters that a wrong encoding has left.

    These are U+FFFD, and letters that are UTF-8 read as Latin-1, as in `dÃ©jÃ  vu`.
    """
    if line.isascii():
        return 0
    damaged = line.count("\ufffd")
    if "Ã" in line or "â€" in line:
        damaged += len(_DOUBLE_ENCODED.findall(line))
    return damaged or _latin_sequences(line)


def _latin_sequences(line: str) -> int:
    """Return the number of letters of a line that is UTF-8 read as Latin-1; 0 if it is not.

    One sequence that is valid UTF-8 may be chance, such as a quotation mark after `Ä`.
    """
    for encoding in ("latin-1", "cp1252"):
        try:
            decoded = line.encode(encoding).decode("utf-8")
        except UnicodeEncodeError:
            continue
        except UnicodeDecodeError:
            return 0
        count = sum(not character.isascii() for character in decoded)
        return count if count > 1 else 0
    return 0


def control_characters(line: str) -> int:
    """Return the number of control characters that are no whitespace, and of noncharacters."""
    return len(_CONTROL.findall(line))


def repetitions(line: str) -> int:
    """Return how often the most repeated unit stands in succession: 3 for `ha ha ha`.

    A unit has at most 20 characters, among them a letter.
    """
    found = 1
    for match in _REPEATED.finditer(f"{line} "):
        unit = match[1]
        count = len(match[0]) // len(unit)
        if count > found and any(map(str.isalpha, unit)):
            found = count
    return found


def longest_word(line: str) -> int:
    """Return the length of the longest word, in scripts that write words apart; URLs are none."""
    return max(map(len, _LONG_WORD.findall(_ADDRESS.sub(" ", line))), default=0)


def fold(line: str) -> str:
    """Return the letters of a line, without case: no digits, punctuation, symbols, whitespace."""
    return unicodedata.normalize("NFKC", line).casefold().translate(_LETTERS)


def copied_letters(src: str, tgt: str) -> int:
    """Return the number of letters of the source if the target is a copy of it, else 0.

    Case, digits, punctuation and whitespace may differ; or of at least five words on either side
    nine in ten are the same.
    """
    if not may_be_copied(src, tgt):
        return 0
    folded = fold(src)
    if src == tgt or folded == fold(tgt):
        return len(folded)
    src_words, tgt_words = (Counter(line.casefold().split()) for line in (src, tgt))
    size = max(src_words.total(), tgt_words.total())
    if size >= 5 and (src_words & tgt_words).total() >= 0.9 * size:
        return len(folded)
    return 0


def may_be_copied(src: str, tgt: str) -> bool:
    """Return False for most pairs, in which no side can be a copy of the other."""
    short, long = sorted((len(src), len(tgt)))
    if long > 1.25 * short + 5:
        return False
    src_words, tgt_words = (frozenset(line.casefold().split()) for line in (src, tgt))
    size = min(len(src_words), len(tgt_words))
    return size <= 3 or 2 * len(src_words & tgt_words) >= size


def share_of_common_digits(src: str, tgt: str) -> float:
    """Return the share of the digits that both sides have, in whatever order.

    Digits of all scripts are equal. Counting digits, not numbers, makes `1,000.5`, `1.000,5` and
    `1 000,5` equal, and `1,2,3` and `1, 2, 3`. Return 1 if no side has more than two digits, which
    one language may write as words, or if a side has numerals of Chinese. Numbers of arguments, as
    in `%1$s`, are not counted: a translation has them where the order of arguments changes.
    """
    if not (has_digit(src) or has_digit(tgt)):
        return 1.0
    src_digits, tgt_digits = _digits(src), _digits(tgt)
    total = max(src_digits.total(), tgt_digits.total())
    if total < 3 or any(_HAN_NUMERALS.search(line) for line in (src, tgt)):
        return 1.0
    return (src_digits & tgt_digits).total() / total


def _digits(line: str) -> Counter[int]:
    if "$" in line:
        line = _ARGUMENT_NUMBER.sub("", line)
    return Counter(map(unicodedata.decimal, filter(str.isdecimal, line)))


def has_digit(line: str) -> bool:
    """Return whether a line has a digit of any script."""
    return any(map(str.isdecimal, line))


def unequal_markup(src: str, tgt: str) -> int:
    """Return the number of tags and entities that only one side has."""
    src_markup, tgt_markup = _markup(src), _markup(tgt)
    return ((src_markup - tgt_markup) + (tgt_markup - src_markup)).total()


def _markup(line: str) -> Counter[str]:
    if "<" not in line and "&" not in line:
        return Counter()
    tags = (close + name.lower() for close, name in _TAG.findall(line))
    return Counter([*tags, *_ENTITY.findall(line)])


def letters_beside_addresses(line: str) -> float:
    """Return the number of letters outside of URLs and e-mail addresses; infinity without any.

    An ideograph counts as three.
    """
    rest, count = _ADDRESS.subn(" ", line)
    return letters(rest) + (WIDE_CHARACTER - 1) * wide_characters(rest) if count else math.inf
