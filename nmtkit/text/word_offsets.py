"""Where the words of a tokenised line stand in its text.

Tokenising and its reverse change spaces, now and then a character (`’` for `'`), or the case of a
letter; the other characters stay, in their order. So words and text are read side by side, with
accents taken apart (NFD), as either may have them as marks of their own.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

from nmtkit.text.characters import is_mark

MAX_SKIP = 30
"""Characters that may be skipped on a side to find where both go on alike."""

_DOTLESS = str.maketrans({"ı": "i", "\u0307": None})
"""Makes İ, i, I and ı one letter: which of them are a pair depends on the language."""


def word_offsets(words: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return for each word the offsets in the text where it begins and ends.

    A word whose characters are not found stands, without length, where the one before ends. Offsets
    never decrease, and none is between a character and its marks.
    """
    characters = [(char, number) for number, word in enumerate(words) for char in _folded(word)]
    places = [(char, index) for char, index in _folded_places(text) if not char.isspace()]
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    mine = theirs = 0
    while mine < len(characters) and theirs < len(places):
        if characters[mine][0] == places[theirs][0]:
            number, index = characters[mine][1], places[theirs][1]
            starts[number] = min(starts.get(number, index), index)
            ends[number] = max(ends.get(number, 0), index + 1)
            mine, theirs = mine + 1, theirs + 1
        else:
            mine, theirs = _resumed(characters, places, mine, theirs)
    offsets: list[tuple[int, int]] = []
    last = 0
    for number in range(len(words)):
        start = _behind_marks(text, max(starts.get(number, last), last))
        last = _behind_marks(text, max(ends.get(number, start), start))
        offsets.append((start, last))
    return offsets


def original_offsets(
    offsets: Sequence[tuple[int, int]], origins: Sequence[int]
) -> list[tuple[int, int]]:
    """Return offsets in a text from those in its normalised form.

    :param offsets: as `word_offsets` returns them.
    :param origins: for each character of the normalised form where it is from, and the text's end;
        they never decrease.
    """
    moved: list[tuple[int, int]] = []
    last = 0
    for start, end in offsets:
        if start < end:
            behind = bisect_right(origins, origins[end - 1], end)
            stop = origins[min(behind, len(origins) - 1)]
            moved.append((max(origins[start], last), max(stop, last)))
        else:
            moved.append((last, last))
        last = moved[-1][1]
    return moved


def _behind_marks(text: str, offset: int) -> int:
    """Return an offset, or where the marks behind it end if it stands before some."""
    while 0 < offset < len(text) and is_mark(text[offset]):
        offset += 1
    return offset


def _folded(text: str) -> str:
    return unicodedata.normalize("NFD", text.casefold()).translate(_DOTLESS)


def _folded_places(text: str) -> list[tuple[str, int]]:
    """Return the characters of `_folded`, each with the index in the text that it is from.

    Several marks on one character are in Unicode's order, whatever theirs in the text.
    """
    places = [(char, index) for index, raw in enumerate(text) for char in _folded(raw)]
    start = 0
    for end in range(len(places) + 1):
        if end == len(places) or not unicodedata.combining(places[end][0]):
            places[start:end] = sorted(places[start:end], key=_combining_class)
            start = end + 1
    return places


def _combining_class(place: tuple[str, int]) -> int:
    return unicodedata.combining(place[0])


def _resumed(
    characters: Sequence[tuple[str, int]],
    places: Sequence[tuple[str, int]],
    mine: int,
    theirs: int,
) -> tuple[int, int]:
    """Return where both go on alike: two characters in a row, with the fewest skipped."""
    for skipped in range(1, 2 * MAX_SKIP):
        for here in range(max(0, skipped - MAX_SKIP), min(skipped, MAX_SKIP) + 1):
            one, other = mine + here, theirs + skipped - here
            if one >= len(characters) or other >= len(places):
                continue
            is_last = one + 1 == len(characters) or other + 1 == len(places)
            follows = is_last or characters[one + 1][0] == places[other + 1][0]
            if characters[one][0] == places[other][0] and follows:
                return one, other
    return mine + 1, theirs + 1
