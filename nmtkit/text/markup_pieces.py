"""Pieces of a line of HTML or XML: text, entities, tags, comments.

A line is read once, from left to right, and nothing in it is an error: a `<` that begins nothing is
text.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from enum import StrEnum
from html.entities import html5
from typing import NamedTuple

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""Elements of HTML that have no contents and no end tag."""

OPAQUE = frozenset("script style xmp".split())
"""Elements of HTML whose contents are not text."""

MAX_TAG = 10_000_000
"""Longest tag in characters; what is longer is text. An image may stand in its tag."""

# Python before 3.11.5 forgets where it is if an alternative of a possessive group fails in its
# midst. `(?!)` as the last alternative never matches, but sets it back.
CODE = r"<(?:%(?:[^%]|%(?!>)|(?!)){0,300}+%|\?(?:[^?]|\?(?!>)|(?!)){0,300}+\?)>"
"""Pattern of code of a template in a tag."""

ATTRIBUTES = rf"""(?:[^<>"']|"[^"]*"|'[^']*'|{CODE}|(?!))*+"""
"""Pattern of what stands behind the name in a tag; in templates code may stand there, too."""

_TAG = re.compile(
    r"""</?([A-Za-z_][\w:.-]*)"""  # the name
    rf"""({ATTRIBUTES})>"""  # attributes, and the sign that it has no contents
)
_ENTITY = re.compile(r"&(?:[A-Za-z_][\w.-]{0,63}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});", re.ASCII)
_OLD_ENTITY = re.compile(
    rf"&(?:#[0-9]{{1,7}}|#[xX][0-9A-Fa-f]{{1,6}}|{'|'.join(n for n in html5 if n[-1] != ';')})"
    r"(?![A-Za-z0-9;=])"
)
"""An entity of HTML without its semicolon, which browsers read."""

_NOT_TRANSLATED = re.compile(
    r"""\stranslate\s*=\s*["']?no\b|\sclass\s*=\s*(?:"[^"]*|'[^']*|)(?<![\w-])notranslate(?![\w-])"""
    r"""|\sepub:type\s*=\s*["'](?:page-list|pagebreak)["']""",
    re.IGNORECASE,
)
"""Attributes of elements that stay; in e-books also the names of printed pages, such as `xii`."""

COMMENT_ENDS = ("-->", "--!>")
"""Ends of a comment; HTML takes the second one, a typing error, for an end, too."""

_SECTIONS = (
    ("<!--", re.compile("|".join(COMMENT_ENDS))),
    ("<![CDATA[", re.compile("]]>")),
    ("<?", re.compile(r"\?>")),
    ("<%", re.compile("%>")),
    ("<!", re.compile(">")),
)
"""Beginnings and ends of comments, code of templates and the like, the longer beginning first."""


class Markup(StrEnum):
    """What is markup in a line."""

    HTML = "html"
    XML = "xml"


class PieceKind(StrEnum):
    """Kinds of pieces of a line."""

    TEXT = "text"
    ENTITY = "entity"
    OPENING = "opening"
    CLOSING = "closing"
    POINT = "point"
    KEPT = "kept"


class Piece(NamedTuple):
    """A piece of a line; name: of its element, lower case in HTML; of what is kept, its text."""

    kind: PieceKind
    source: str
    name: str = ""


def is_untranslated(piece: Piece) -> bool:
    """Return whether a tag says that its element is not to be translated."""
    return bool(_NOT_TRANSLATED.search(piece.source))


def find_partners(pieces: Sequence[Piece]) -> dict[int, int]:
    """Return for each tag that has a partner the index of that.

    A closing tag belongs to the last open element of its name; what was opened since and is not
    closed has no partner.
    """
    partners: dict[int, int] = {}
    waiting: list[int] = []
    count: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        if piece.kind is PieceKind.OPENING:
            waiting.append(number)
            count[piece.name] = count.get(piece.name, 0) + 1
        elif piece.kind is PieceKind.CLOSING and count.get(piece.name):
            while waiting:
                opening = waiting.pop()
                name = pieces[opening].name
                count[name] -= 1
                if name == piece.name:
                    partners[opening], partners[number] = number, opening
                    break
    return partners


def split_pieces(line: str, markup: Markup) -> Iterator[Piece]:
    """Divide a line into pieces, in time that grows with its length."""
    missing: set[str] = set()  # beginnings of sections whose ends do not come any more
    position = text_from = 0
    while (position := _next_sign(line, position)) >= 0:
        piece = _entity(line, position, markup) or _section(line, position, missing)
        piece = piece or _tag(line, position, markup, missing)
        if piece is None:
            position += 1
            continue
        if text_from < position:
            yield Piece(PieceKind.TEXT, line[text_from:position])
        yield piece
        position = text_from = position + len(piece.source)
    if text_from < len(line):
        yield Piece(PieceKind.TEXT, line[text_from:])


_SIGN = re.compile("[<&]")


def _next_sign(line: str, position: int) -> int:
    found = _SIGN.search(line, position)
    return found.start() if found else -1


def _entity(line: str, position: int, markup: Markup) -> Piece | None:
    found = _ENTITY.match(line, position)
    if found is None and markup is Markup.HTML:
        found = _OLD_ENTITY.match(line, position)
    return Piece(PieceKind.ENTITY, found[0]) if found else None


def _section(line: str, position: int, missing: set[str]) -> Piece | None:
    for begin, end in _SECTIONS:
        if line.startswith(begin, position) and begin not in missing:
            if found := end.search(line, position + len(begin)):
                return Piece(PieceKind.POINT, line[position : found.end()])
            missing.add(begin)
    return None


def _tag(line: str, position: int, markup: Markup, missing: set[str]) -> Piece | None:
    found = _TAG.match(line, position, position + MAX_TAG)
    if not found:
        return None
    is_html = markup is Markup.HTML
    name = found[1].lower() if is_html else found[1]
    if line[position + 1] == "/":
        return Piece(PieceKind.CLOSING, found[0], name)
    if is_html and name in OPAQUE and name not in missing:
        end = _OPAQUE_ENDS[name].search(line, found.end())
        if end:
            return Piece(PieceKind.POINT, line[position : end.end()], name)
        missing.add(name)
    if found[2].endswith("/") or (is_html and name in VOID | OPAQUE):
        return Piece(PieceKind.POINT, found[0], name)
    return Piece(PieceKind.OPENING, found[0], name)


_OPAQUE_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in OPAQUE}


def character_of(entity: str) -> str:
    """Return what stands for an entity in the text: its character, or itself if it is unknown.

    One that HTML forbids, as `&#8;`, has no character.
    """
    character = html.unescape(entity)
    is_shown = character.isprintable() or unicodedata.category(character[0]) in ("Cf", "Zs")
    return character if character and is_shown else entity
