"""The character classes of Moses's rules, and its lists of non-breaking prefixes.

Both come from sacremoses, whose import takes as long as translating several lines, because it
builds the tables of all languages. For the characters of western languages, Python's own classes
are the same: `WESTERN` holds them, and `moses_characters` returns the complete classes.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

WESTERN_CODES = (*range(0x250), *range(0x2000, 0x20D0))
"""Latin with its extensions A and B, general punctuation, sub- and superscripts, currency signs."""


class Characters(NamedTuple):
    """The characters of each class, as strings.

    number: all numeric characters, including fractions and superscripts; `alnum` has only digits.
    """

    alnum: str
    alpha: str
    lower: str
    number: str


def _select(condition: Callable[[str], bool], codes: Iterable[int] = WESTERN_CODES) -> str:
    return "".join(filter(condition, map(chr, codes)))


WESTERN = Characters(
    alnum=_select(lambda character: character.isalpha() or character.isdecimal()),
    alpha=_select(str.isalpha),
    lower=_select(str.islower),
    number=_select(str.isnumeric),
)
"""The classes, limited to `WESTERN_CODES`."""


def moses_characters(language: str) -> Characters:
    """Return the complete classes; Chinese, Japanese and Korean have additional letters."""
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer(language)
    return Characters(moses.IsAlnum, moses.IsAlpha, moses.IsLower, moses.IsN)


def moses_prefixes(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words whose period does not end a sentence: in general, and only before digits.

    A language without a list uses the English one.
    """
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer(language)
    numeric = frozenset(moses.NUMERIC_ONLY_PREFIXES)
    return frozenset(moses.NONBREAKING_PREFIXES) - numeric, numeric
