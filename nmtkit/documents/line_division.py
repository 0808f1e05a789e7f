"""Division of a line of a subtitle into some of about the same width.

Words stay whole. Between characters of Chinese and Japanese a line may be divided nearly
everywhere, but better behind punctuation. Japanese typesetting (JIS X 4051, "kinsoku") keeps
some characters from the beginning or the end of a line.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from nmtkit.columns import columns
from nmtkit.text.characters import is_grapheme_boundary
from nmtkit.text.punctuation import UNSPACED_SIGNS
from nmtkit.text.scripts import IDEOGRAPHIC, KANA

NOT_FIRST = (
    "\\])}〕〉》」』】〙〗〟’”｠»›｝］）｣…‥、。，．・：；？！｡､･\"'!?,.:;‐–—〜～ー゠々〻ゝゞヽヾ%％"
    "ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶㇰ-ㇿｧ-ｰﾞﾟ"
)
"""Closing marks, small kana and signs that belong to the character before, as a class."""

MAX_UNDIVIDED = 26
"""Columns of a line that is not divided between characters; 13 wide ones are usual in Japan."""

_COMMAS = "、，；："
_UNSPACED = f"{IDEOGRAPHIC}{KANA}{UNSPACED_SIGNS}{_COMMAS}・」』】）〉》"
_PLACE = re.compile(
    r"(?<=\S) +(?=\S)"
    rf"|(?<=[{_UNSPACED}])(?=[^\s\u2060{NOT_FIRST}])"
)
_SENTENCE_END = re.compile(rf"[{UNSPACED_SIGNS}]")
_PHRASE_END = re.compile(rf"[{_COMMAS}]")
_PARTICLE = re.compile(r"[\u3041-\u3096][^\u3041-\u3096]")
_CODE = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_WORD_JOINER = "\u2060"
"""Stands for each character of a code: it has no width, and a line is not divided beside it."""


class _Place(NamedTuple):
    """Where a line may be divided: offsets of the blank there, if there is one.

    penalty: how much farther from the goal a place without one may be, in widths of a line.
    """

    start: int
    end: int
    penalty: float

    @property
    def is_blank(self) -> bool:
        """Whether there is a blank."""
        return self.start < self.end


def divided_line(line: str, most: int) -> list[str]:
    """Divide a line into some of about the same width.

    :param line: without blanks at its ends; blanks within it are single.
    :param most: of the lines.
    """
    widths = [0, *accumulate(map(columns, line))]
    places = _Places(line, widths)
    lines: list[str] = []
    start = 0
    for count in range(most, 1, -1):
        place = places.best(start, (widths[-1] - widths[start]) / count)
        if place is None:
            break
        lines.append(line[start : place.start])
        start = place.end
    return [*lines, line[start:]]


class _Places:
    """The places where a line may be divided."""

    def __init__(self, line: str, widths: Sequence[int]) -> None:
        shown = _CODE.sub(lambda found: _WORD_JOINER * len(found[0]), line)
        self._widths = widths
        self._shown = [0, *accumulate(map(columns, shown))]  # without codes
        self._places = list(_places(shown))
        self._starts = [place.start for place in self._places]

    def best(self, start: int, goal: float) -> _Place | None:
        """Return the best place behind an offset for a line of the width that is the goal."""
        before = self._widths[start]
        limit = bisect_right(self._widths, before + 2 * goal)
        first = bisect_right(self._starts, start)
        stop = bisect_left(self._starts, limit, first)
        fits = self._shown[-1] - self._shown[start] <= MAX_UNDIVIDED
        near = [place for place in self._places[first : stop + 1] if place.is_blank or not fits]

        def cost(place: _Place) -> float:
            return abs(self._widths[place.start] - before - goal) + place.penalty * goal

        return min(near, key=cost, default=None)


def _places(line: str) -> Iterator[_Place]:
    """Yield the places where a line may be divided."""
    for found in _PLACE.finditer(line):
        start, end = found.span()
        if is_grapheme_boundary(line, end):
            yield _Place(start, end, 0.0 if start < end else _penalty(line[start - 1 : start + 1]))


def _penalty(pair: str) -> float:
    """Return the penalty of a place between two characters of Chinese or Japanese."""
    if _SENTENCE_END.match(pair):
        return -0.1
    if _PHRASE_END.match(pair):
        return 0.0
    return 0.3 if _PARTICLE.match(pair) else 0.5  # a particle ends its phrase
