"""The classes of characters that Moses's rules ask about, and its lists of prefixes.

Both are sacremoses's, whose import takes as long as translating several lines: it builds all that
any language may need. For the letters, digits and signs that western languages are written in,
Python itself knows the classes; `WESTERN` holds those, and `moses_characters` all.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

WESTERN_CODES = (*range(0x250), *range(0x2000, 0x20D0))
"""Latin with its extensions A and B, general punctuation, sub- and superscripts, currencies."""


class Characters(NamedTuple):
    """Strings that hold each character of a class once.

    number: whatever means a number, fractions and superscripts too; digits alone are in `alnum`.
    """

    alnum: str
    alpha: str
    lower: str
    number: str


def _those(condition: Callable[[str], bool], codes: Iterable[int] = WESTERN_CODES) -> str:
    return "".join(filter(condition, map(chr, codes)))


WESTERN = Characters(
    alnum=_those(lambda character: character.isalpha() or character.isdecimal()),
    alpha=_those(str.isalpha),
    lower=_those(str.islower),
    number=_those(str.isnumeric),
)
"""The classes cut to `WESTERN_CODES`."""


def moses_characters(language: str) -> Characters:
    """The whole classes; Chinese, Japanese and Korean have letters of their own."""
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer(language)
    return Characters(moses.IsAlnum, moses.IsAlpha, moses.IsLower, moses.IsN)


def moses_prefixes(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Words whose period does not end a sentence: those always, and those before digits only.

    A language that has no list has the English one.
    """
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer(language)
    numeric = frozenset(moses.NUMERIC_ONLY_PREFIXES)
    return frozenset(moses.NONBREAKING_PREFIXES) - numeric, numeric
