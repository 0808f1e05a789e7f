"""Messages of ICU, which have variants for numbers, genders and the like.

{count, plural, =0 {No file} one {# file} other {# files}}
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nmtkit.text.placeholders import MESSAGE_PATTERN

_BRACE = re.compile("[{}]")
_ARGUMENT = re.compile(r"\{\s*(\w*)[^{}]*\}")
_ONE, _MANY = "1", "5"


class Variant(NamedTuple):
    """A variant: the offsets of its text in the line, and a number to which it belongs."""

    start: int
    end: int
    number: str


def find_variants(line: str, start: int, end: int) -> Iterator[Variant]:
    """Yield the variants of a message that are not empty.

    :param start, end: offsets of the message in the line.
    """
    depth = first = 0
    position = start
    number = _MANY
    for found in _BRACE.finditer(line, start, end):
        depth += 1 if found[0] == "{" else -1
        if found[0] == "{" and depth == 2:
            selector = line[position : found.start()].split()[-1:]
            first, number = found.end(), _ONE if selector in (["one"], ["=1"]) else _MANY
        elif found[0] == "}" and depth == 1:
            text = line[first : found.start()]
            if text.strip():
                last = first + len(text.rstrip())
                yield Variant(last - len(text.strip()), last, number)
        position = found.end()


def plain_message(message: str) -> str:
    """Return what stands for a message in a text to be translated: words of its last variant."""
    variants = list(find_variants(message, 0, len(message)))
    text = message[variants[-1].start : variants[-1].end] if variants else _MANY
    text = MESSAGE_PATTERN.sub(lambda found: plain_message(found[0]), text)
    return _ARGUMENT.sub(r"\1", text).replace("#", _MANY)
