"""Inline markup of Markdown: emphasis, links, code, and HTML in a paragraph (CommonMark 0.31)."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from nmtkit.text.markup_pieces import Markup, Piece, PieceKind, find_partners, split_pieces
from nmtkit.text.placeholders import SPACED_LETTER

_FIRST = re.compile(
    r"(?P<break>\\\r?\n)"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?:\{[A-Za-z][\w:+.-]{0,60}\})?`+)"
    r"|(?P<kept><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>|<[^\s<>@]{1,64}@[^\s<>]{1,255}>"
    r"|!?\[\[[^\[\]|\n]{1,200}\]\](?![(\[])|!\[\[[^\[\]\n]{1,400}\]\]"
    r"|\[\^[^\]\s]{1,100}\]|\[[ xX]\](?=\s)|\[[^\[\]\n]{1,200}\]\[\]"
    r"|\$\$[^$\n]{1,500}\$\$|"
    rf"(?<!\$)(?<!{SPACED_LETTER})\$(?![\s$])[^$\n]{{1,500}}(?<![\s\\])\$(?!\$|{SPACED_LETTER})"
    rf"|(?<!:)(?<!{SPACED_LETTER}):(?:[+-]1|100|1234|[a-z][a-z0-9_+-]{{0,40}}):(?!:|{SPACED_LETTER}))"
    r"|(?P<wiki>\[\[[^\[\]|\n]{1,200}\|)(?=[^\[\]\n]{1,200}\]\])"
    r"|(?P<link>\]\((?:[^()\\\n]|\\.|\([^()\n]*\)|(?!))*+\)|\]\[[^\[\]\n]{1,200}\])"
    r"|!?\[(?P<label>[^\[\]\n]{1,200})\](?![\[(:])"
)
_SECOND = re.compile(r"!?\[|\]|\*+|_+|~~")
EMPHASIS = re.compile(r"[*_~]+")
"""Signs around words. Around nothing they are text, or begin a block of code."""

_WIKI = "[["
"""Name of a link of a wiki with a text, as in `[[page|text]]`."""

_LONGEST = 3
"""Longest run of `*` or `_` that is markup."""


class _Token(NamedTuple):
    """A part of a paragraph; name: of its kind of markup."""

    kind: PieceKind
    start: int
    end: int
    name: str = ""


def label_of(text: str) -> str:
    """Return the label of a reference as labels are compared."""
    return " ".join(text.split()).casefold()


def markdown_pieces(source: str, labels: Collection[str] = ()) -> list[Piece]:
    """Return the pieces of a paragraph, in time that grows with its length.

    :param labels: of references that the file defines; `[label]` is a link.
    """
    tokens = _with_brackets(_with_emphasis(list(_tokens(source, labels)), source))
    pieces = [Piece(t.kind, source[t.start : t.end], t.name) for t in tokens]
    partners = find_partners(pieces)
    is_sign = [token.name[:1] in ("*", "_", "~", "[") for token in tokens]
    for number, piece in enumerate(pieces):
        is_tag = piece.kind in (PieceKind.OPENING, PieceKind.CLOSING)
        if is_tag and number not in partners and is_sign[number]:
            pieces[number] = Piece(PieceKind.TEXT, piece.source)
    return pieces


def _tokens(source: str, labels: Collection[str]) -> Iterator[_Token]:
    """Yield what takes precedence, and the other parts divided at tags and signs."""
    runs = _code_runs(source)
    position = start = 0
    while found := _FIRST.search(source, position):
        if found["label"] is not None and label_of(found["label"]) not in labels:
            position = found.start("label")
            continue
        token = _first_token(found, runs, source)
        position = found.end() if token is None else token.end
        if token is not None:
            yield from _second_tokens(source, start, token.start)
            yield token
            start = token.end
            if token.name == _WIKI:
                start = position = source.index("]]", start) + 2
                yield from _second_tokens(source, token.end, start - 2)
                yield _Token(PieceKind.CLOSING, start - 2, start, _WIKI)
    yield from _second_tokens(source, start, len(source))


def _first_token(found: re.Match[str], runs: dict[int, list[int]], source: str) -> _Token | None:
    start, end = found.span()
    if found.lastgroup == "break":
        return _Token(PieceKind.POINT, start, end, "break")
    if found.lastgroup == "escape":
        return _Token(PieceKind.KEPT, start, end, found[0][1:])
    if found.lastgroup == "kept":
        name = found[0][2:-2] if found[0].startswith("[[") else found[0].strip("<>")
        return _Token(PieceKind.KEPT, start, end, name)
    if found.lastgroup == "label":
        return _Token(PieceKind.KEPT, start, end, found["label"])
    if found.lastgroup == "wiki":
        return _Token(PieceKind.OPENING, start, end, _WIKI)
    if found.lastgroup == "link":
        return _Token(PieceKind.CLOSING, start, end, "[")
    ticks = len(found[0]) - found[0].index("`")  # before them may be a role, as in {ref}`label`
    ends = runs[ticks]
    while ends and ends[-1] < end:
        ends.pop()
    if not ends:
        return None
    stop = ends[-1] + ticks
    return _Token(PieceKind.KEPT, start, stop, source[end : ends[-1]])


def _code_runs(source: str) -> dict[int, list[int]]:
    """Return the offsets of runs of backticks by their length, the last one first."""
    runs: dict[int, list[int]] = defaultdict(list)
    for found in re.finditer("`+", source):
        runs[len(found[0])].append(found.start())
    for offsets in runs.values():
        offsets.reverse()
    return runs


def _second_tokens(source: str, start: int, end: int) -> Iterator[_Token]:
    """Yield tags, entities, signs and text of a part."""
    for piece in split_pieces(source[start:end], Markup.HTML):
        stop = start + len(piece.source)
        if piece.kind is not PieceKind.TEXT:
            yield _Token(piece.kind, start, stop, piece.name)
        else:
            position = start
            for found in _SECOND.finditer(source, start, stop):
                if position < found.start():
                    yield _Token(PieceKind.TEXT, position, found.start())
                yield _Token(PieceKind.TEXT, *found.span(), found[0])
                position = found.end()
            if position < stop:
                yield _Token(PieceKind.TEXT, position, stop)
        start = stop


def _with_emphasis(tokens: list[_Token], source: str) -> list[_Token]:
    """Return tokens in which signs of emphasis are opening or closing tags."""
    result: list[_Token] = []
    waiting: list[str] = []
    count: dict[str, int] = defaultdict(int)
    for token in tokens:
        name = token.name
        if token.kind is not PieceKind.TEXT or name[:1] not in ("*", "_", "~"):
            result.append(token)
            continue
        opens, closes = _flanking(source, token)
        parts = _closed(name, waiting, count) if closes and len(name) <= _LONGEST else []
        position = token.start
        for part in parts:
            result.append(_Token(PieceKind.CLOSING, position, position + len(part), part))
            position += len(part)
        if not parts and opens and len(name) <= _LONGEST:
            waiting.append(name)
            count[name] += 1
            result.append(token._replace(kind=PieceKind.OPENING))
        elif not parts:
            result.append(token._replace(name=""))
    return result


def _closed(name: str, waiting: list[str], count: dict[str, int]) -> list[str]:
    """Return the signs that a run closes, and take them from those that wait."""
    if count[name]:
        while waiting:
            last = waiting.pop()
            count[last] -= 1
            if last == name:
                return [name]
    pair = waiting[-2:]
    if len(pair) == 2 and pair[0] + pair[1] == name:
        del waiting[-2:]
        for part in pair:
            count[part] -= 1
        return [pair[1], pair[0]]
    return []


def _flanking(source: str, token: _Token) -> tuple[bool, bool]:
    """Return whether a run of signs can open and can close emphasis."""
    before = source[max(0, token.start - 1) : token.start]
    after = source[token.end : token.end + 1]
    opens = bool(after) and not after.isspace()
    closes = bool(before) and not before.isspace()
    if token.name[0] == "_":
        opens = opens and not before.isalnum()
        closes = closes and not after.isalnum()
    return opens, closes


def _with_brackets(tokens: list[_Token]) -> list[_Token]:
    """Return tokens in which brackets of links are tags, and others are text."""
    waiting: list[int] = []
    for number, token in enumerate(tokens):
        if token.kind is PieceKind.CLOSING and token.name == "[":
            if waiting:
                opening = waiting.pop()
                tokens[opening] = tokens[opening]._replace(kind=PieceKind.OPENING, name="[")
            else:
                tokens[number] = token._replace(kind=PieceKind.TEXT, name="")
        elif token.kind is PieceKind.TEXT and token.name in ("[", "!["):
            waiting.append(number)
        elif token.kind is PieceKind.TEXT and token.name == "]" and waiting:
            waiting.pop()
    return tokens
