"""Markup put back into a translation: where its words went.

Weights say how much each source word has become each word of the translation. An element with
contents goes around the interval of the translation that has most of its words and least of
others; one without contents goes where the words around it went. Elements stay nested as they
were, and each comes back once, whatever the weights are.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmtkit.text.markup import MarkedText, MarkupElement
from nmtkit.text.tag_spacing import NO_SPACES, Part, source_spaces, spaced

NEARNESS = 3.0
"""Source words within which those around an empty element tell 1 / e as much where it goes."""

REACH = 24
"""Source words on each side that are looked at for that."""

Weights = npt.NDArray[np.float32]
Offsets = Sequence[tuple[int, int]]


class Place(NamedTuple):
    """Words of the translation that an element stands around, from `first` to before `stop`."""

    first: int
    stop: int


NOWHERE: Mapping[int, Place] = {}

Owners = npt.NDArray[np.int64]
"""For each word of the translation, what else already stands around it, or -1."""


@dataclass(frozen=True)
class Aligned:
    """A translation, and which words of it came from where.

    text: of the translation. src, tgt: offsets of the words in both texts. weights: of the source
    words for each word of the translation; rows need not sum to 1. Shape: [tgt, src].
    """

    text: str
    src: Offsets
    tgt: Offsets
    weights: Weights

    @cached_property
    def _src(self) -> npt.NDArray[np.int64]:
        """Offsets of the source words as an array. Shape: [2, src]."""
        return np.array(self.src, np.int64).reshape(-1, 2).T

    @cached_property
    def _totals(self) -> Weights:
        """Sum of each row."""
        totals: Weights = self.weights.sum(1)
        return totals

    @property
    def whole(self) -> Place:
        """All words of the translation."""
        return Place(0, len(self.tgt))

    def columns(self, start: int, end: int) -> npt.NDArray[np.intp]:
        """Return the source words that stand between two offsets, or a part of them does."""
        starts, ends = self._src
        return np.flatnonzero((starts < end) & (ends > start))

    def interval(
        self, columns: npt.NDArray[np.intp], within: Place, owners: Owners
    ) -> Place | None:
        """Return the interval with the largest sum of gains; None if all are losses.

        What the given source words weigh in a word of the translation is its gain, what others
        weigh its loss.

        :param owners: words that belong to something else are in no interval.
        """
        if not len(columns):
            return None
        part = slice(*within)
        gain = self.weights[part, columns[0] : columns[-1] + 1].sum(1)
        gains = 2 * gain - self._totals[part]
        gains[owners[part] >= 0] = -np.inf
        best, total, first = (0.0, 0, 0), 0.0, 0
        for index, value in enumerate(gains.tolist()):
            if total <= 0:
                total, first = 0.0, index
            total += value
            best = max(best, (total, -first, index + 1))
        score, start, stop = best
        return Place(within.first - start, within.first + stop) if score > 0 else None

    def gap(self, start: int, end: int, within: Place) -> int:
        """Return the word of the translation before which a place in the source went.

        :param start, end: offsets of the place; words between tell nothing.
        """
        starts, ends = self._src
        before, after = starts + ends <= 2 * start, starts + ends >= 2 * end
        if not (before.any() and (after & ~before).any()):
            return within.stop if before.any() else within.first
        position = int(before.sum())
        first = max(0, position - REACH)
        columns = slice(first, position + REACH)
        distance = np.abs(np.arange(first, min(len(starts), position + REACH)) + 0.5 - position)
        sign = np.where(before[columns], 1.0, np.where(after[columns], -1.0, 0.0))
        sums = np.cumsum(
            self.weights[slice(*within), columns] @ (sign * np.exp(-distance / NEARNESS))
        )
        return within.first + int(np.argmax(np.concatenate([[0.0], sums])))


def place_elements(
    elements: Sequence[MarkupElement], aligned: Aligned, known: Mapping[int, Place] = NOWHERE
) -> list[Place]:
    """Return the place of each element, within that of its parent and beside its siblings.

    :param known: places of some elements, by their number. They count where they are nested as the
        elements are; alignment places the others around them.
    """
    places: list[Place] = []
    owners: dict[int, Owners] = {}
    kept: dict[int, Place] = {}
    for number, element in enumerate(elements):
        parent = places[element.parent] if element.parent >= 0 else aligned.whole
        if element.parent not in owners:
            owners[element.parent] = np.full(len(aligned.tgt), -1)
            siblings = {n: known[n] for n in known if elements[n].parent == element.parent}
            kept |= _reserved(siblings, parent, owners[element.parent])
        owner = owners[element.parent]
        place = kept.get(number)
        if place is None:
            place = aligned.interval(aligned.columns(element.start, element.end), parent, owner)
        if place is None:
            gap = _outside_siblings(aligned.gap(element.start, element.end, parent), owner)
            place = Place(gap, gap)
        owner[place.first : place.stop] = number
        places.append(place)
    return places


def _reserved(siblings: Mapping[int, Place], parent: Place, owner: Owners) -> dict[int, Place]:
    """Return the known places of siblings that are within their parent and beside each other.

    Words of these places get their owner.
    """
    reserved: dict[int, Place] = {}
    for number, (first, stop) in sorted(
        siblings.items(), key=lambda one: one[1].first == one[1].stop
    ):
        inside = parent.first <= first <= stop <= parent.stop
        if inside and (owner[first:stop] < 0).all() and _outside_siblings(first, owner) == first:
            reserved[number] = Place(first, stop)
            owner[first:stop] = number
    return reserved


def around_nearest_words(
    elements: Sequence[MarkupElement], places: Sequence[Place], aligned: Aligned
) -> list[Place]:
    """Return places in which an element that has lost its words stands around the nearest word.

    It stays around nothing if another element beside it has that word.
    """
    result = list(places)
    taken: dict[int, npt.NDArray[np.bool_]] = {}
    for element, place in zip(elements, places, strict=True):
        words = taken.setdefault(element.parent, np.zeros(len(aligned.tgt), bool))
        words[slice(*place)] = True
    for number, element in enumerate(elements):
        place, words = result[number], taken[element.parent]
        if not has_lost_words(element, place, aligned):
            continue
        parent = result[element.parent] if element.parent >= 0 else aligned.whole
        for word in (place.first, place.first - 1):
            if parent.first <= word < parent.stop and not words[word]:
                result[number], words[word] = Place(word, word + 1), True
                break
    return result


def has_lost_words(element: MarkupElement, place: Place, aligned: Aligned) -> bool:
    """Return whether an element had words in the source and has none in the translation."""
    return place.first == place.stop and len(aligned.columns(element.start, element.end)) > 0


def _outside_siblings(gap: int, owner: Owners) -> int:
    """Return a place for an element without contents: the nearest that is within no sibling."""
    if not 0 < gap < len(owner) or owner[gap] < 0 or owner[gap - 1] != owner[gap]:
        return gap
    words = np.flatnonzero(owner == owner[gap])
    first, stop = int(words[0]), int(words[-1]) + 1
    return first if gap - first <= stop - gap else stop


def write_markup(marked: MarkedText, places: Sequence[Place], aligned: Aligned) -> str:
    """Return the translation with its elements."""
    spans = _uncrossed(marked.elements, list(_spans(marked, places, aligned)))
    spaces = source_spaces(marked)
    children: dict[int, list[int]] = {}
    for number, element in enumerate(marked.elements):
        children.setdefault(element.parent, []).append(number)
    for numbers in children.values():
        numbers.sort(key=lambda number: (*spans[number], number))
    parts: list[Part] = []
    position = 0
    waiting = [(number, True) for number in reversed(children.get(-1, []))]
    while waiting:
        number, opens = waiting.pop()
        element, offset = marked.elements[number], spans[number][0 if opens else 1]
        if offset > position:
            between = aligned.text[position:offset]
            parts.append((between.rstrip() if opens and element.separates else between, None))
            position = offset
        tag = element.opening if opens else element.closing
        parts.append((tag, spaces.get((number, opens), NO_SPACES)))
        if not opens and element.separates_end:
            position += len(aligned.text[position:]) - len(aligned.text[position:].lstrip())
        if opens:
            waiting.append((number, False))
            waiting += [(child, True) for child in reversed(children.get(number, []))]
    parts.append((aligned.text[position:], None))
    return spaced([part for part in parts if part[0]])


def _spans(
    marked: MarkedText, places: Sequence[Place], aligned: Aligned
) -> Iterator[tuple[int, int]]:
    """Yield the offsets in the translation between which each element stands.

    One that begins or ends within a word, as in `H<sub>2</sub>O`, does so if the word is the same.
    """
    starts = [start for start, _ in aligned.tgt]
    ends = [end for _, end in aligned.tgt]
    words = _SameWords(marked, aligned)
    spans: list[tuple[int, int]] = []
    for element, place in zip(marked.elements, places, strict=True):
        around = spans[element.parent] if element.parent >= 0 else (0, len(aligned.text))
        if place.first < place.stop:
            start = words.offset(element.start, place.first, starts[place.first])
            end = words.offset(element.end, place.stop - 1, ends[place.stop - 1])
        else:
            start = end = _offset_of_gap(marked.text, element, place.first, aligned)
        start = min(max(start, around[0]), around[1])
        spans.append((start, min(max(start, end), around[1])))
        yield spans[-1]


def _uncrossed(
    elements: Sequence[MarkupElement], spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return offsets in which no element begins before one ends that began in another sentence.

    In `<i>… two</i> <b>three …</b>` the tag `<b>`, whose end is in another sentence, too, must not
    come before `</i>`.
    """
    ends = [spans[number][1] for number, one in enumerate(elements) if not one.opening]
    begun: set[int] = set()  # elements that go on in the next sentence, and those within them
    for number, one in enumerate(elements):
        if one.parent in begun or (not one.closing and one.start < one.end):
            begun.add(number)
    first = max(ends, default=0)
    return [
        (max(start, first), max(end, first)) if number in begun else (start, end)
        for number, (start, end) in enumerate(spans)
    ]


def _offset_of_gap(text: str, element: MarkupElement, gap: int, aligned: Aligned) -> int:
    """Return the offset of an element without contents, before a word or behind the one before."""
    follows_space = not element.start or text[element.start - 1].isspace()
    if gap == len(aligned.tgt) or (gap and not follows_space):
        return aligned.tgt[gap - 1][1] if gap else len(aligned.text)
    return aligned.tgt[gap][0]


class _SameWords:
    """Words of the source that the translation has, too, by offsets within them."""

    def __init__(self, marked: MarkedText, aligned: Aligned) -> None:
        self._text, self._aligned = marked.text, aligned
        self._starts = [start for start, _ in aligned.src]

    def offset(self, offset: int, number: int, default: int) -> int:
        """Return where an offset within a word of the source is in a word of the translation.

        :param number: of the word of the translation. default: if it is not the same word.
        """
        source = bisect_left(self._starts, offset) - 1
        if source < 0:
            return default
        start, end = self._aligned.src[source]
        first, last = self._aligned.tgt[number]
        is_same = self._text[start:end] == self._aligned.text[first:last]
        return first + offset - start if is_same and start < offset < end else default
