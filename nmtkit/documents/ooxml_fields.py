"""Fields of Word, whose marks are runs: begin, instruction, separate, result, end.

    { HYPERLINK "http://x.org" | a link }    { PAGE | 3 }

The text of a link is translated. Any other result is what Word computes, and stays until the field
is updated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nmtkit.documents.paragraphs import GAP, Item, Span, kept_item
from nmtkit.text.markup_pieces import PieceKind

FIELD = "field "
"""Beginning of the names of marks: `field begin`, `field separate`, `field end`."""

INSTRUCTION = "instruction"
"""Name of an item with a part of the instruction in its text."""

_TRANSLATED = ("HYPERLINK", "TOC")
"""Instructions with a result that is text of the document."""


@dataclass(frozen=True)
class _Field:
    """A field within one paragraph: numbers of its items; separate: None without a result."""

    begin: int
    separate: int | None
    end: int


def with_fields(items: Sequence[Item]) -> list[Item]:
    """Return the items of a paragraph with each field as one that is kept, or as a container.

    Marks of a field that goes on in another paragraph end a sentence, so that they stay in order.
    """
    if not any(item.name.startswith(FIELD) for item in items):
        return list(items)
    fields = {field.begin: field for field in _find_fields(items)}
    ends: set[int] = set()
    result: list[Item] = []
    number = 0
    while number < len(items):
        field, item = fields.get(number), items[number]
        number += 1
        if field is not None and _is_translated(items, field):
            assert field.separate is not None
            source = _source(items[field.begin : field.separate + 1])
            result.append(Item(PieceKind.OPENING, source, "field"))
            ends.add(field.end)
            number = field.separate + 1
        elif field is not None:
            result.append(_kept(items, field))
            number = field.end + 1
        elif number - 1 in ends:
            result.append(Item(PieceKind.CLOSING, item.source, "field"))
        else:
            is_mark = item.name == INSTRUCTION or item.name.startswith(FIELD)
            result.append(item._replace(name=GAP, text="") if is_mark else item)
    return result


def _find_fields(items: Sequence[Item]) -> list[_Field]:
    """Return the fields whose marks are in the same container."""
    fields: list[_Field] = []
    containers = [-1]
    waiting: list[tuple[int, int, int | None]] = []  # begin, its container, separate
    for number, item in enumerate(items):
        if item.kind is PieceKind.OPENING and not item.mark:
            containers.append(number)
        elif item.kind is PieceKind.CLOSING and not item.mark:
            containers.pop()
        elif item.name == f"{FIELD}begin":
            waiting.append((number, containers[-1], None))
        elif item.name == f"{FIELD}separate" and waiting:
            begin, container, _ = waiting.pop()
            waiting.append((begin, container if container == containers[-1] else -2, number))
        elif item.name == f"{FIELD}end" and waiting:
            begin, container, separate = waiting.pop()
            if container == containers[-1]:
                fields.append(_Field(begin, separate, number))
    return fields


def _is_translated(items: Sequence[Item], field: _Field) -> bool:
    if field.separate is None:
        return False
    inner = items[field.begin : field.separate]
    words = "".join(item.text for item in inner if item.name == INSTRUCTION).split()
    return bool(words) and words[0].upper() in _TRANSLATED


def _kept(items: Sequence[Item], field: _Field) -> Item:
    """Return a field as one item, for which its result stands."""
    first = field.end if field.separate is None else field.separate
    shown = (item.text for item in items[first : field.end] if item.kind is PieceKind.TEXT)
    return kept_item(_source(items[field.begin : field.end + 1]), "".join(shown), "field")


def _source(items: Sequence[Item]) -> tuple[str | Span, ...]:
    return tuple(part for item in items for part in item.source)
