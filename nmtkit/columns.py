"""The width of text on a terminal and in plain-text files."""

import unicodedata


def columns(text: str) -> int:
    """Return the number of columns of a text in one line.

    Characters that Unicode (annex 11) calls wide, as most of East Asia's, take two; marks, joiners,
    direction marks and the vowels and finals of single jamo stand in the columns of others.
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return int(character == "\N{SOFT HYPHEN}")
    if "\u1160" <= character <= "\u11ff":
        return 0
    return 1 + (unicodedata.east_asian_width(character) in "WF")
