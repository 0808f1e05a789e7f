"""Emphasis that readers of Markdown see as emphasis.

By CommonMark 0.31 (section 6.2) a closing sign between punctuation and a letter closes nothing, nor
does an opening one open between a letter and punctuation: `**注意：**保存` shows its asterisks. In
languages with blanks this hardly happens; in Chinese and Japanese, punctuation at the edges of such
an emphasis has to stand outside: `**注意**：保存`, `「**重要**」な点`.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import takewhile

from nmtkit.documents.markdown_inline import EMPHASIS, markdown_pieces
from nmtkit.text.markup_pieces import Piece, PieceKind, find_partners

_QUOTATIONS = (("Ps", "Pe"), ("Pi", "Pf"))
"""Categories of the first and the last character of brackets and of a quotation."""


def with_visible_emphasis(text: str) -> str:
    """Return a paragraph whose signs of emphasis open and close; punctuation is moved out."""
    if not EMPHASIS.search(text) or text.isascii():
        return text
    pieces = markdown_pieces(text)
    for closing, opening in sorted(find_partners(pieces).items()):
        if opening < closing and EMPHASIS.fullmatch(pieces[opening].source):
            _move_out(pieces, opening, closing)
    return "".join(piece.source for piece in pieces)


def _move_out(pieces: list[Piece], opening: int, closing: int) -> None:
    """Move punctuation out of an emphasis whose signs would be text."""
    before, after = _character(pieces, opening, -1), _character(pieces, closing, 1)
    first, last = pieces[opening + 1], pieces[closing - 1]
    is_wrong_end = _is_sign(last.source[-1:]) and _is_letter(after)
    is_wrong_start = _is_sign(first.source[:1]) and _is_letter(before)
    edges = filter(None, (first.source[:1], last.source[-1:]))
    is_quotation = tuple(map(unicodedata.category, edges)) in _QUOTATIONS
    if is_wrong_end or (is_wrong_start and is_quotation):
        _move_end(pieces, closing)
    if is_wrong_start or (is_wrong_end and is_quotation):
        _move_start(pieces, opening)


def _move_end(pieces: list[Piece], closing: int) -> None:
    sign, last = pieces[closing], pieces[closing - 1]
    size = _signs(reversed(last.source))
    words, marks = last.source[: len(last.source) - size], last.source[len(last.source) - size :]
    if last.kind is PieceKind.TEXT and words:
        pieces[closing - 1] = last._replace(source=words)
        pieces[closing] = sign._replace(source=sign.source + marks)


def _move_start(pieces: list[Piece], opening: int) -> None:
    sign, first = pieces[opening], pieces[opening + 1]
    size = _signs(first.source)
    if first.kind is PieceKind.TEXT and size < len(first.source):
        pieces[opening] = sign._replace(source=first.source[:size] + sign.source)
        pieces[opening + 1] = first._replace(source=first.source[size:])


def _signs(characters: Iterable[str]) -> int:
    """Return the number of signs before the first letter or blank."""
    return sum(1 for _ in takewhile(_is_sign, characters))


def _character(pieces: Sequence[Piece], number: int, step: int) -> str:
    """Return the character beside a piece, or ""."""
    number += step
    while 0 <= number < len(pieces) and not pieces[number].source:
        number += step
    source = pieces[number].source if 0 <= number < len(pieces) else ""
    return source[:1] if step > 0 else source[-1:]


def _is_sign(character: str) -> bool:
    """Return whether a character is punctuation or a symbol, as CommonMark has it."""
    return bool(character) and unicodedata.category(character)[0] in "PS"


def _is_letter(character: str) -> bool:
    """Return whether a character is neither a blank, nor the end of the text, nor a sign."""
    return bool(character) and not character.isspace() and not _is_sign(character)
