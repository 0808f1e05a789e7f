"""Spaces around tags, as they were in the source.

A translation has one space between two words, wherever a tag between them stands. In the source it
may stand before the tag, behind it, or on both sides.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from nmtkit.text.markup import MarkedText, TagEvent, tag_events


class TagSpaces(NamedTuple):
    """Whitespace directly before and behind a tag in the source."""

    before: str
    after: str


NO_SPACES = TagSpaces("", "")

Part = tuple[str, TagSpaces | None]
"""Text of a translation, or a tag with its spaces."""


def source_spaces(marked: MarkedText) -> dict[tuple[int, bool], TagSpaces]:
    """Return the spaces of each tag, by the index of its element and whether it opens it."""
    events, text, added = tag_events(marked.elements), marked.text, marked.added_spaces()
    spaces: dict[tuple[int, bool], TagSpaces] = {}
    for number, event in enumerate(events):
        before = after = ""
        start = _offset(events, number - 1, 0)
        stop = _offset(events, number + 1, len(text))
        if event.offset - 1 not in added:
            before = _trailing_space(text[start : event.offset])
        if event.offset not in added:
            after = _leading_space(text[event.offset : stop])
        spaces[event.element, event.opens] = TagSpaces(before, after)
    return spaces


def _offset(events: Sequence[TagEvent], number: int, default: int) -> int:
    return events[number].offset if 0 <= number < len(events) else default


def _leading_space(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _trailing_space(text: str) -> str:
    return text[len(text.rstrip()) :]


def spaced(parts: Sequence[Part]) -> str:
    """Return a translation whose spaces beside tags stand where they stood in the source.

    Where the translation has no space at all, none is added: not every script has them.
    """
    result: list[str] = []
    gap: list[Part] = []
    for text, spaces in _split(parts):
        if spaces is None and not text.isspace():
            result += [*_arranged(gap), text]
            gap = []
        else:
            gap.append((text, spaces))
    return "".join([*result, *(text for text, _ in gap)])


def _split(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield parts with the whitespace at both ends of a text by itself."""
    for text, spaces in parts:
        if spaces is not None or text.isspace():
            yield text, spaces
        elif text:
            start, end = _leading_space(text), _trailing_space(text)
            yield from ((one, None) for one in (start, text.strip(), end) if one)


def _arranged(gap: Sequence[Part]) -> list[str]:
    """Return the tags and spaces between two words, in their order.

    Tags that did not stand beside one another in the source have one space among them.
    """
    tags = [(text, spaces) for text, spaces in gap if spaces is not None]
    is_wanted = any(spaces.before or spaces.after for _, spaces in tags)
    if len(tags) == len(gap) or not is_wanted:
        return [text for text, _ in gap]
    result: list[str] = []
    after = ""
    for text, spaces in tags:
        result += [after or spaces.before, text]
        after = spaces.after
    result.append(after)
    is_as_it_was = all(one.after == other.before for (_, one), (_, other) in pairwise(tags))
    if not is_as_it_was:
        first = next(number for number in range(0, len(result), 2) if result[number])
        result[first + 2 :: 2] = [""] * len(result[first + 2 :: 2])
    return result
