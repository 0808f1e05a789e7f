"""Marker tokens: spacing that a detokenizer would not guess, and the case of words.

Most blanks of a line follow from its tokens: a comma joins the word before it. Where they do not
(`A / B` and `A/B` have the same tokens), a marker token between two tokens says what stands there:

    | marker   | between the two tokens is              |
    | `￭`      | nothing                                |
    | `␣`      | one blank                              |
    | `⍽`      | one no-break space                     |
    | `⍽202f`  | the space character of this code point |

A marker is one character, so that subwords never split the frequent ones. A token of the text that
begins with one of the characters of markers gets `￭` in front, hence no text is taken for a marker.
"""

from collections.abc import Iterable, Sequence
from unicodedata import category

OPENING, CLOSING, POINTS = "⦃⦅⦇⦉⦋⦑⦓⦕⦗", "⦄⦆⦈⦊⦌⦒⦔⦖⦘", "⧀⧁⧂⧃⧄⧅⧆⧇⧈"
"""Symbols of the tags of elements with contents, and of elements without (`markup_symbols.py`)."""

SYMBOLS = frozenset(OPENING + CLOSING + POINTS)

HYPHEN = "@-@"
"""Moses's token for a hyphen within a word."""

JOINED = "￭"
BLANK = "␣"
NO_BREAK = "⍽"
CAPITAL = "⇧"
UPPER = "⇪"

MARKERS = frozenset((JOINED, BLANK, NO_BREAK, CAPITAL, UPPER))
"""Characters that no token of a text may begin with."""

_SPACES = {JOINED: "", BLANK: " ", NO_BREAK: "\xa0"}
_MAX_DIGITS = 4


def protect(token: str) -> str:
    """Return a token of the text so that it cannot be taken for a marker."""
    return JOINED + token if token[:1] in MARKERS else token


def unprotect(token: str) -> str:
    """Undo `protect`."""
    return token[1:] if len(token) > 1 and token[0] == JOINED else token


def spacing_markers(gap: str) -> list[str]:
    """Return the markers of what stands between two tokens: space characters, or nothing."""
    return [_marker(space) for space in gap] if gap else [JOINED]


def _marker(space: str) -> str:
    if space == " ":
        return BLANK
    return NO_BREAK if space == "\xa0" else f"{NO_BREAK}{ord(space):x}"


def spacing(token: str) -> str | None:
    """Return the space characters that a marker stands for, or None for another token."""
    space = _SPACES.get(token)
    if space is None and token[:1] == NO_BREAK and len(token) <= _MAX_DIGITS + 1:
        return _coded_space(token[1:])
    return space


def is_marker(token: str) -> bool:
    """Return whether a token is a marker, of spacing or of case."""
    return token in MARKERS or spacing(token) is not None


def _coded_space(digits: str) -> str | None:
    try:
        space = chr(int(digits, 16))
    except ValueError:
        return None
    return space if category(space) == "Zs" and f"{ord(space):x}" == digits else None


def without_markers(text: str) -> str:
    """Return tokens separated by blanks without markers."""
    if MARKERS.isdisjoint(text):
        return text
    return " ".join(token for token in text.split(" ") if not is_marker(token))


def read_spacing(tokens: Iterable[str]) -> tuple[list[str], dict[int, str]]:
    """Separate tokens of the text from spacing markers.

    :return: the tokens, and what stands before some of them, by their index.
    """
    words: list[str] = []
    gaps: dict[int, str] = {}
    for token in tokens:
        space = spacing(token) if token[:1] in MARKERS else None
        if space is None:
            words.append(unprotect(token))
        else:
            gaps[len(words)] = gaps.get(len(words), "") + space
    return words, gaps


def mark_spacing(tokens: Sequence[str], joined: Sequence[bool], line: str) -> list[str]:
    """Put markers where a line is spaced otherwise than predicted.

    :param tokens: the tokens of the line, which hold all its characters but spaces.
    :param joined: for each token, whether it is predicted to follow the one before without a blank.
    :return: tokens and markers; no spacing markers if the tokens are not those of the line.
    """
    marked: list[str] = []
    position = 0
    for token, join in zip(tokens, joined, strict=False):
        surface = "-" if token == HYPHEN else token
        start = line.find(surface, position)
        if start - position != (not join) or not (join or line[position] == " "):
            gap = line[position:start]
            if start < 0 or gap.strip():
                return [protect(token) for token in tokens]
            if marked:
                marked += spacing_markers(gap)
        marked.append(protect(token) if token[0] in MARKERS else token)
        position = start + len(surface)
    return marked
