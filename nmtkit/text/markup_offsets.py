"""Where the words of a line with markup stand in it, beside its tags and entities."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmtkit.text.markers import SYMBOLS
from nmtkit.text.markup import keep_untranslated, parse_markup, with_whole_messages
from nmtkit.text.markup_pieces import Markup, Piece, PieceKind, character_of, split_pieces
from nmtkit.text.markup_symbols import has_symbols
from nmtkit.text.pipeline import TextPipeline

Span = tuple[int, int]
"""Offsets where something begins and ends."""


class PlacedText(NamedTuple):
    """The text of a line without markup, and for each character its place in the line.

    The character of an entity has the place of the entity; a space that the line has not has the
    place, without length, of what follows it.
    """

    text: str
    spans: list[Span]


def place_text(line: str, markup: Markup) -> PlacedText:
    """Return the text of `parse_markup` and where it stands in the line."""
    marked = parse_markup(line, markup)
    added = marked.added_spaces()
    spans: list[Span] = []
    offset = 0
    for piece in with_whole_messages(keep_untranslated(list(split_pieces(line, markup)))):
        for start, end in _character_spans(piece, markup):
            while len(spans) in added:
                spans.append((offset + start, offset + start))
            spans.append((offset + start, offset + end))
        offset += len(piece.source)
    spans += [(offset, offset)] * (len(marked.text) - len(spans))
    return PlacedText(marked.text, spans)


def _character_spans(piece: Piece, markup: Markup) -> Iterator[Span]:
    """Yield for each character of the text of a piece its place in the piece."""
    text, indices = "", list(range(len(piece.source)))
    if piece.kind is PieceKind.TEXT:
        text = piece.source
    elif piece.kind is PieceKind.ENTITY:
        text = character_of(piece.source)
    elif piece.kind is PieceKind.KEPT:
        text, indices = piece.name, _text_indices(piece.source, markup)
    if text == "".join(piece.source[index] for index in indices):
        yield from ((index, index + 1) for index in indices)
    else:  # something else stands for the piece
        yield from ((0, len(piece.source)) for _ in text)


def _text_indices(line: str, markup: Markup) -> list[int]:
    """Return the offsets of the characters that are neither of tags nor of entities."""
    indices: list[int] = []
    offset = 0
    for piece in split_pieces(line, markup):
        if piece.kind is PieceKind.TEXT:
            indices += range(offset, offset + len(piece.source))
        offset += len(piece.source)
    return indices


def offsets_in_markup(
    words: Sequence[str], line: str, markup: Markup, pipeline: TextPipeline
) -> list[Span]:
    """Return where words stand in their line, as `TextPipeline.offsets` does for plain text.

    Symbols of markup and words that are not found stand, without length, where the one before ends.
    """
    _, plain = pipeline.split_tag(line)
    before = len(line) - len(plain)
    text, spans = place_text(plain, markup)
    symbols = frozenset[str]() if has_symbols(text) else SYMBOLS
    shown = ["" if word in symbols else word for word in words]
    result: list[Span] = []
    for start, end in pipeline.offsets(shown, text):
        last = spans[end - 1][1] if end else 0
        first = spans[start][0] if start < end else last
        result.append((before + first, before + last))
    return result
