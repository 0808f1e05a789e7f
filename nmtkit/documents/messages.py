"""Messages of ICU: the texts of their variants are segments, and the syntax around them stays.

{count, plural, =0 {No file} one {# file} other {# files}}
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nmtkit.documents.document import Edit, Segment, Syntax, Write, apply_edits
from nmtkit.text.markup_pieces import Markup, PieceKind, split_pieces
from nmtkit.text.messages import Variant, find_variants
from nmtkit.text.placeholders import MESSAGE_PATTERN

_QUOTING = re.compile("(?<!')'(?=[{}#])")
"""An apostrophe that makes what follows plain text."""


def with_variants(segment: Segment) -> Segment:
    """Return a segment with the variants of its messages within it, which have their own, too.

    Those of a segment that has others within its tags are not translated.
    """
    messages = [found.span() for found in MESSAGE_PATTERN.finditer(segment.source)]
    if messages and segment.syntax is not Syntax.TEXT:
        messages = _outside_tags(segment.source, messages)
    if not messages or segment.inner:
        return segment
    inner = [
        _variant(segment, variant)
        for message in messages
        for variant in find_variants(segment.source, *message)
    ]
    write = _write_messages(segment, messages)
    return replace(segment, write=write, inner=inner, accelerators=())


def _outside_tags(source: str, messages: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the messages that do not begin in a tag, whose attributes stay as they are."""
    ends = [0]
    pieces = list(split_pieces(source, Markup.HTML))
    for piece in pieces:
        ends.append(ends[-1] + len(piece.source))
    kinds = (PieceKind.TEXT, PieceKind.ENTITY)
    return [
        message for message in messages if pieces[bisect_right(ends, message[0]) - 1].kind in kinds
    ]


def _variant(segment: Segment, variant: Variant) -> Segment:
    """Return the segment of a variant; what it changes has offsets in the source around it."""
    start, end, number = variant
    source = segment.source[start:end]

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        if translation != source:
            translation = _QUOTING.sub("''", translation)
        return [Edit(start, end, translation)]

    return with_variants(
        replace(segment, source=source, write=write, accelerators=(), number=number)
    )


def _write_messages(segment: Segment, messages: Sequence[tuple[int, int]]) -> Write:
    """Return the function that writes a segment whose messages stand in its translation."""

    def write(translation: str, inner: Sequence[Edit]) -> Iterable[Edit]:
        changed: dict[str, str] = {}
        for start, end in messages:
            edits = [edit for edit in inner if start <= edit.start < end]
            source = segment.source[start:end]
            changed[source] = apply_edits(source, edits, offset=start)
        pattern = "|".join(map(re.escape, sorted(changed, key=len, reverse=True)))
        translation = re.sub(pattern, lambda found: changed[found[0]], translation)
        return segment.write(translation, ())

    return write
