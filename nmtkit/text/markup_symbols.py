"""Symbols that stand for the inline markup of a line, for models that learn where it goes.

In the text of such a model each element with contents has a pair of brackets of its own, such as
`⦃` and `⦄`, and one without contents a sign, such as `⧀`. They are single characters, which no
subword model splits, and words of the vocabulary. A model that reads them knows what is marked, a
menu or a name, and writes them around the words that it marks.

On both sides of a training pair an element has the same symbol.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from nmtkit.text.markers import CLOSING, HYPHEN, OPENING, POINTS, SYMBOLS
from nmtkit.text.markup import MarkedText, MarkupElement, parse_markup, tag_events
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.word_offsets import word_offsets

_SYMBOL = re.compile(f"[{OPENING}{CLOSING}{POINTS}]")
_NAME = re.compile(r"</?([\w:.-]+)")


class TagSymbols(NamedTuple):
    """The symbols of an element; one without contents has no closing one."""

    opening: str
    closing: str


class PlacedSymbol(NamedTuple):
    """A symbol, and the offset in the text before which it stands."""

    symbol: str
    offset: int


def has_symbols(text: str) -> bool:
    """Return whether a text has any of the symbols."""
    return _SYMBOL.search(text) is not None


def symbols_of(elements: Sequence[MarkupElement]) -> list[TagSymbols] | None:
    """Return the symbols of elements in their order; None if there are too few symbols."""
    pairs = iter(map(TagSymbols, OPENING, CLOSING))
    points = iter(TagSymbols(point, "") for point in POINTS)
    found = [next(pairs if element.closing else points, None) for element in elements]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def with_symbols(marked: MarkedText, symbols: Sequence[TagSymbols] | None = None) -> str | None:
    """Return the text of a line, with a symbol in place of each tag.

    :param symbols: of the elements; by default those of `symbols_of`.
    :return: None if there are too few symbols, or the text has some of its own.
    """
    symbols = symbols_of(marked.elements) if symbols is None else symbols
    if symbols is None or has_symbols(marked.text):
        return None
    elements = [
        replace(element, opening=opening, closing=closing)
        for element, (opening, closing) in zip(marked.elements, symbols, strict=True)
    ]
    parts, position = [], 0
    for event in tag_events(elements):
        parts += [marked.text[position : event.offset], event.source]
        position = event.offset
    return "".join([*parts, marked.text[position:]])


def symbol_pair(src: str, tgt: str, markup: Markup) -> tuple[str, str]:
    """Return a pair of lines with symbols in place of markup.

    If the sides have not the same elements, or more than there are symbols for, their markup is
    left out.
    """
    if not any(sign in line for sign in "<&" for line in (src, tgt)):
        return src, tgt
    sides = parse_markup(src, markup), parse_markup(tgt, markup)
    symbols = symbols_of(sides[0].elements)
    matched = None if symbols is None else _matched(sides[0].elements, symbols, sides[1].elements)
    if matched is None:
        return sides[0].text, sides[1].text
    source, target = with_symbols(sides[0], symbols), with_symbols(sides[1], matched)
    if source is None or target is None:
        return sides[0].text, sides[1].text
    return source, target


def _matched(
    src: Sequence[MarkupElement], symbols: Sequence[TagSymbols], tgt: Sequence[MarkupElement]
) -> list[TagSymbols] | None:
    """Return the symbols of the target's elements; None if they are not those of the source.

    Of elements that are equal the first belongs to the first. Attributes may differ, as the
    language in an address, but equal ones go first.
    """
    if len(src) != len(tgt):
        return None
    waiting = dict(enumerate(symbols))
    matched: dict[int, TagSymbols] = {}
    for key_of in (_whole, _named):
        numbers: dict[tuple[str, bool], deque[int]] = defaultdict(deque)
        for number in waiting:
            numbers[key_of(src[number])].append(number)
        for number, element in enumerate(tgt):
            if number not in matched and numbers[key_of(element)]:
                matched[number] = waiting.pop(numbers[key_of(element)].popleft())
    return [matched[number] for number in range(len(tgt))] if not waiting else None


def _whole(element: MarkupElement) -> tuple[str, bool]:
    return element.opening, bool(element.closing)


def _named(element: MarkupElement) -> tuple[str, bool]:
    """Return what equal elements share if their attributes may differ."""
    found = _NAME.match(element.opening)
    return found[1] if found else element.opening, bool(element.closing)


def take_symbols(line: str) -> tuple[str, list[PlacedSymbol]]:
    """Return a line without its symbols, and these with their offsets in that."""
    parts, symbols = [], []
    position = length = 0
    for found in _SYMBOL.finditer(line):
        part = line[position : found.start()]
        parts.append(part)
        length, position = length + len(part), found.end()
        symbols.append(PlacedSymbol(found[0], length))
    return "".join([*parts, line[position:]]), symbols


def split_at_symbols(words: Sequence[str], symbols: Sequence[PlacedSymbol], text: str) -> list[str]:
    """Split words within which symbols stand.

    Elements often touch: `<b>Cmd</b><i>Ctrl</i>` has two words, which `CmdCtrl` would hide.

    :param words: of the text, without markers.
    """
    places = sorted({symbol.offset for symbol in symbols})
    offsets = word_offsets(["-" if word == HYPHEN else word for word in words], text)
    parts: list[str] = []
    for word, (start, end) in zip(words, offsets, strict=True):
        inside = places[bisect_right(places, start) : bisect_left(places, end)]
        if not inside or word != text[start:end]:
            parts.append(word)
        else:
            parts += [text[first:last] for first, last in pairwise([start, *inside, end])]
    return parts


def put_symbols(
    words: Sequence[str], offsets: Sequence[tuple[int, int]], symbols: Sequence[PlacedSymbol]
) -> list[str]:
    """Put symbols between the words of a text, also where they stood within a word.

    :param offsets: of the words in the text; those of words without text are empty.
    :param symbols: in the order of the text, as they are in the result.
    """
    visible = [number for number, (start, end) in enumerate(offsets) if start < end]
    starts = [offsets[number][0] for number in visible]
    ends = [offsets[number][1] for number in visible]
    places = [*visible, len(words)]
    result: list[str] = []
    done = 0
    for symbol, offset in symbols:
        if symbol in CLOSING:
            before = bisect_left(starts, offset)
            place = visible[before - 1] + 1 if before else 0
        else:
            place = places[bisect_right(ends, offset)]
        place = max(place, done)
        result += [*words[done:place], symbol]
        done = place
    return [*result, *words[done:]]


def insert_symbols(words: Sequence[str], offsets: Sequence[tuple[int, int]], text: str) -> str:
    """Put the symbols among words into the text that the other words make.

    :param words: words and symbols.
    :param offsets: of the words that are no symbols in the text.
    """
    visible = [number for number, (start, end) in enumerate(offsets) if start < end]
    starts = [*(offsets[number][0] for number in visible), len(text)]
    ends = [0, *(offsets[number][1] for number in visible)]
    parts: list[str] = []
    number = position = 0
    for word in words:
        if word not in SYMBOLS:
            number += 1
            continue
        before = bisect_left(visible, number)
        place = max(ends[before] if word in CLOSING else starts[before], position)
        parts += [text[position:place], word]
        position = place
    return "".join([*parts, text[position:]])
