"""Markup where a model has written its symbols in the translation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nmtkit.text.markers import SYMBOLS
from nmtkit.text.markup import Element
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


def written_places(elements: Sequence[Element], positions: Positions) -> list[Place] | None:
    """Return the places of elements by their symbols.

    :return: None if not all symbols are there, each once, and nested as the elements are.
    """
    symbols = symbols_of(elements)
    if symbols is None or not all(len(found) == 1 for found in positions.values()):
        return None
    if set(positions) != {symbol for pair in symbols for symbol in pair if symbol}:
        return None
    places = [
        Place(positions[opening][0], positions[closing or opening][0])
        for opening, closing in symbols
    ]
    return places if _are_nested(elements, places) else None


def _are_nested(elements: Sequence[Element], places: Sequence[Place]) -> bool:
    """Return whether each place is within that of its parent, and beside its siblings."""
    siblings: dict[int, list[Place]] = defaultdict(list)
    for element, place in zip(elements, places, strict=True):
        siblings[element.parent].append(place)
    for parent, inner in siblings.items():
        first, stop = places[parent] if parent >= 0 else (0, max(p.stop for p in inner))
        for place in sorted(inner):
            if not first <= place.first <= place.stop <= stop:
                return False
            first = place.stop
    return True
