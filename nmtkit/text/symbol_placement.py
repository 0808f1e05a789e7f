"""Markup where a model has written its symbols in the translation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nmtkit.text.markers import SYMBOLS
from nmtkit.text.markup import MarkupElement
from nmtkit.text.markup_placement import Aligned, Place
from nmtkit.text.markup_symbols import symbols_of

Positions = Mapping[str, Sequence[int]]
"""For each symbol of a translation how many other words stand before it, at each of its places."""


def without_symbols(aligned: Aligned) -> tuple[Aligned, Positions]:
    """Return a translation without its symbols, and their positions."""
    positions: dict[str, list[int]] = defaultdict(list)
    parts: list[str] = []
    offsets: list[tuple[int, int]] = []
    rows: list[int] = []
    position = length = 0
    for row, (start, end) in enumerate(aligned.tgt):
        between, word = aligned.text[position:start], aligned.text[start:end]
        position = max(position, end)
        if between[:1].isspace() and (not parts or parts[-1][-1:].isspace()):
            between = between[1:]  # a symbol stood between two spaces
        if between:
            parts.append(between)
            length += len(between)
        if word in SYMBOLS:
            positions[word].append(len(rows))
            continue
        parts.append(word)
        offsets.append((length, length + len(word)))
        length += len(word)
        rows.append(row)
    text = "".join([*parts, aligned.text[position:]]).rstrip()
    return replace(aligned, text=text, tgt=offsets, weights=aligned.weights[rows]), positions


def written_places(elements: Sequence[MarkupElement], positions: Positions) -> dict[int, Place]:
    """Return the places of the elements whose symbols are there, each once and in order.

    :return: by the number of the element.
    """
    places: dict[int, Place] = {}
    for number, (opening, closing) in enumerate(symbols_of(elements) or ()):
        first, stop = positions.get(opening, ()), positions.get(closing or opening, ())
        if len(first) == len(stop) == 1 and first[0] <= stop[0]:
            places[number] = Place(first[0], stop[0])
    return places
