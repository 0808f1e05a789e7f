"""The text of a segment, and the markup in it that comes back into its translation."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from nmtkit.documents.document import Segment, Syntax
from nmtkit.documents.markdown_inline import markdown_pieces
from nmtkit.documents.xhtml import xhtml_pieces
from nmtkit.io.xml_reader import local_name
from nmtkit.text.markup import (
    LINE_BREAK,
    SEPARATING,
    MarkedText,
    join_pieces,
    keep_untranslated,
)
from nmtkit.text.markup_pieces import (
    VOID,
    Markup,
    Piece,
    PieceKind,
    character_of,
    find_partners,
    split_pieces,
)
from nmtkit.text.placeholders import MESSAGE_PATTERN

KEPT_ELEMENTS = frozenset("code kbd samp var math svg".split())
"""Elements of HTML within a text that are not translated."""

_BREAK = "break"
"""Name of what breaks a line in Markdown, XLIFF and TMX."""

_SEPARATING = SEPARATING | {_BREAK}
_XML_SEPARATING = frozenset(f"escaped {name}" for name in SEPARATING) | {_BREAK}
"""Names of pieces that separate words."""

_CODES = frozenset("bpt ept it ph ut bx ex x sc ec sm em cp".split())
"""Elements of XLIFF and TMX whose contents are codes of another format."""

_BEGINNINGS = frozenset(["bpt", "bx", "sc", "sm"])
_PAIR_ATTRIBUTE = {
    "bpt": ("rid", "i", "id"),
    "ept": ("rid", "i", "id"),
    "bx": ("rid", "id"),
    "ex": ("rid", "id"),
    "sc": ("id",),
    "ec": ("startRef",),
    "sm": ("id",),
    "em": ("startRef",),
}
"""Attributes that tell which beginning belongs to which end; the first one that is there counts."""

_ANGULAR_TAG = re.compile(r"(START|CLOSE)_([A-Z0-9_]+?)(?:_[0-9]+)?\Z")
"""The id of a code that Angular writes for a tag, as in `<x id="START_LINK_1"/>`."""

_ATTRIBUTE = re.compile(r"""\s([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*')""")
_PROTECTED = re.compile(r"""\smtype\s*=\s*["']protected["']|\stranslate\s*=\s*["']no["']""")
_ESCAPED_TAG = re.compile(
    r"&lt;(/?)([A-Za-z][\w:-]*|[0-9]{1,3}(?=\s*/?(?:&gt;|>)))"
    r"((?:[^<>&]|&(?!lt;|gt;)|(?!))*+)(?:&gt;|>)"
)
_ESCAPED_ENTITY = re.compile(
    r"&amp;(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
)
_SIGN = re.compile(r"[+/→>-]")
_SUBTITLE_CODE = re.compile(
    r"\{\\(?P<style>[bius])(?P<value>[01])\}|\{\\[^{}\n]*\}|\{[yYcCfFsSpP]:[^{}\s]*\}"
    r"|<[0-9][0-9:.]*>|\\N"
)
"""Codes of SubStation Alpha and MicroDVD, a time of WebVTT, and a line break."""

_READINGS = ("rt", "rp")
_NUMBERED_TAG = re.compile(r"<(/?)([0-9]{1,3})\s*(/?)>")
_BARE_TAG = re.compile(r"<[A-Za-z_]\w*>")
_CONVERSION = re.compile(r"[-+#0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsp](?!\w)")

_NUMBER_SIGN = re.compile("[A-Za-z]*#[A-Za-z]*")
"""The sign that stands for a number, with letters that belong to it: `#px`."""

_ENTITY_START = re.compile(r"&[^&;\s]{1,65};")


def parse_segment(segment: Segment) -> MarkedText:
    """Return the text of a segment, and what comes back into its translation."""
    is_plain = segment.syntax is Syntax.TEXT and not segment.number
    if is_plain and not MESSAGE_PATTERN.search(segment.source):
        return MarkedText(segment.source, (), ())
    pieces = list(_pieces(segment))
    if segment.number:
        pieces = list(_with_numbers(pieces, segment.number))
    is_xml = segment.syntax is Syntax.XML
    return join_pieces(pieces, _XML_SEPARATING if is_xml else _SEPARATING)


def _pieces(segment: Segment) -> Iterable[Piece]:
    source = segment.source
    if segment.syntax is Syntax.TEXT:
        return [Piece(PieceKind.TEXT, source)]
    if segment.syntax in (Syntax.HTML, Syntax.XHTML):
        is_html = segment.syntax is Syntax.HTML
        pieces = split_pieces(source, Markup.HTML) if is_html else xhtml_pieces(source)
        found = with_numbered_tags(with_named_conversions(list(pieces)))
        return _joined(keep_untranslated(without_readings(found), KEPT_ELEMENTS))
    if segment.syntax is Syntax.XML:
        return keep_untranslated(list(code_pieces(source)))
    if segment.syntax is Syntax.SUBTITLE:
        return subtitle_pieces(source)
    if segment.syntax is Syntax.MARKDOWN:
        found = without_readings(markdown_pieces(source, segment.labels))
        return keep_untranslated(found, KEPT_ELEMENTS)
    return entity_pieces(source)


def _with_numbers(pieces: Iterable[Piece], number: str) -> Iterator[Piece]:
    """Yield pieces in which each `#` of the text is kept, and a number stands for it."""

    def kept(found: re.Match[str]) -> Piece:
        return Piece(PieceKind.KEPT, found[0], found[0].replace("#", number))

    for piece in pieces:
        if piece.kind is PieceKind.TEXT:
            yield from _split_at(_NUMBER_SIGN, piece.source, kept)
        else:
            yield piece


def without_readings(pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces in which each reading of ruby has no text: `<rt>kan</rt>`, `<rp>(</rp>`.

    It says how the text before it is pronounced, and models must not read both as one word. Its
    end tag may be missing.
    """
    result: list[Piece] = []
    number = 0
    while number < len(pieces):
        piece, stop = pieces[number], number + 1
        if piece.kind is PieceKind.OPENING and piece.name in _READINGS:
            while stop < len(pieces) and not _ends_reading(pieces[stop]):
                stop += 1
            if stop < len(pieces) and pieces[stop].name == piece.name:
                stop += pieces[stop].kind is PieceKind.CLOSING
            piece = Piece(PieceKind.POINT, _source_of(pieces[number:stop]), piece.name)
        result.append(piece)
        number = stop
    return result


def _ends_reading(piece: Piece) -> bool:
    """Return whether a reading ends at a piece, or before it."""
    is_tag = piece.kind in (PieceKind.OPENING, PieceKind.CLOSING)
    return is_tag and piece.name in (*_READINGS, "rb", "rtc", "ruby")


def with_numbered_tags(pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces in which `<0>here</0>` and `<1/>` are tags, as programs in React have them.

    A number without a partner is text.
    """
    result: list[Piece] = []
    for piece in pieces:
        if piece.kind is PieceKind.TEXT:
            result += _split_at(_NUMBERED_TAG, piece.source, _numbered_tag)
        else:
            result.append(piece)
    partners = find_partners(result)
    tags = (PieceKind.OPENING, PieceKind.CLOSING)
    return [
        Piece(PieceKind.TEXT, piece.source)
        if piece.kind in tags and piece.name.isdigit() and number not in partners
        else piece
        for number, piece in enumerate(result)
    ]


def _numbered_tag(found: re.Match[str]) -> Piece:
    if found[3]:
        return Piece(PieceKind.POINT, found[0], found[2])
    return Piece(PieceKind.CLOSING if found[1] else PieceKind.OPENING, found[0], found[2])


def with_named_conversions(pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces in which an argument of Ruby, `%<price>.2f`, is kept, and no tag in it."""
    partners = find_partners(pieces)
    result: list[Piece] = []
    for number, piece in enumerate(pieces):
        last = result[-1] if result else piece
        is_alone = piece.kind is PieceKind.OPENING and number not in partners
        if is_alone and last.kind is PieceKind.TEXT and last.source.endswith("%"):
            if _BARE_TAG.fullmatch(piece.source):
                result[-1] = last._replace(source=last.source[:-1])
                source = f"%{piece.source}"
                piece = Piece(PieceKind.KEPT, source, source)
        elif piece.kind is PieceKind.TEXT and last.kind is PieceKind.KEPT:
            if found := _CONVERSION.match(piece.source):
                source = last.source + found[0]
                result[-1] = Piece(PieceKind.KEPT, source, source)
                piece = piece._replace(source=piece.source[found.end() :])
        result.append(piece)
    return [piece for piece in result if piece.source]


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Join kept elements with a sign between them, as in `<kbd>Ctrl</kbd>+<kbd>S</kbd>`."""
    result: list[Piece] = []
    for piece in pieces:
        is_kept = piece.kind is PieceKind.KEPT and bool(piece.name)
        if is_kept and len(result) > 1 and _SIGN.fullmatch(result[-1].source):
            if result[-2].kind is PieceKind.KEPT and result[-2].name:
                sign, first = result.pop(), result.pop()
                source = first.source + sign.source + piece.source
                piece = Piece(PieceKind.KEPT, source, first.name + sign.source + piece.name)
        result.append(piece)
    return result


def _split_at(
    pattern: re.Pattern[str], source: str, piece_of: Callable[[re.Match[str]], Piece | None]
) -> Iterator[Piece]:
    """Yield each match of a pattern as a piece, and the text around them.

    :param piece_of: returns None for a match that is a part of the text.
    """
    position = 0
    for found in pattern.finditer(source):
        piece = piece_of(found)
        if piece is not None:
            if position < found.start():
                yield Piece(PieceKind.TEXT, source[position : found.start()])
            yield piece
            position = found.end()
    if position < len(source):
        yield Piece(PieceKind.TEXT, source[position:])


def entity_pieces(source: str) -> Iterator[Piece]:
    """Yield the text and the entities of an attribute."""
    return _split_at(_ENTITY_START, source, _entity)


def _entity(found: re.Match[str]) -> Piece | None:
    """Return the piece of an entity, or None for other text."""
    pieces = list(split_pieces(found[0], Markup.XML))
    return pieces[0] if len(pieces) == 1 and pieces[0].kind is PieceKind.ENTITY else None


def subtitle_pieces(source: str) -> Iterator[Piece]:
    """Yield the pieces of a subtitle: tags, times between words, and codes of styles.

    Classes in the names of WebVTT's tags are no part of these: `</c>` ends `<c.yellow>`.
    """
    for piece in without_readings(list(split_pieces(source, Markup.HTML))):
        if piece.kind is PieceKind.TEXT:
            yield from _split_at(_SUBTITLE_CODE, piece.source, _subtitle_code)
        else:
            yield piece._replace(name=piece.name.partition(".")[0])


def _subtitle_code(found: re.Match[str]) -> Piece:
    """Return the piece of a code; those that switch a style on and off are like tags."""
    if found["style"]:
        kind = PieceKind.CLOSING if found["value"] == "0" else PieceKind.OPENING
        return Piece(kind, found[0], f"code {found['style']}")
    return Piece(PieceKind.POINT, found[0], _BREAK if found[0][0] == "\\" else "code")


def code_pieces(source: str) -> Iterator[Piece]:
    """Yield the pieces of a segment of XLIFF or TMX.

    An element of codes is one piece with its contents. Beginnings and ends of codes that belong
    together are like the tags of an element.
    """
    pieces = list(_with_escaped_tags(source))
    partners = find_partners(pieces)
    number = 0
    while number < len(pieces):
        piece = pieces[number]
        stop = partners.get(number, number) if piece.kind is PieceKind.OPENING else number
        name = local_name(piece.name)
        if name in _CODES and piece.kind in (PieceKind.OPENING, PieceKind.POINT):
            yield _code(name, piece.source, _source_of(pieces[number : stop + 1]))
            number = stop
        elif name == "mrk" and stop > number and _PROTECTED.search(piece.source):
            inner = pieces[number : stop + 1]
            yield Piece(PieceKind.KEPT, _source_of(inner), _text_of(inner))
            number = stop
        else:
            yield piece
        number += 1


def _with_escaped_tags(source: str) -> Iterator[Piece]:
    """Yield the pieces of XML, in which `&lt;b&gt;` is a tag, too, unless it is an attribute."""
    text: list[str] = []
    for piece in split_pieces(source, Markup.XML):
        if piece.kind in (PieceKind.TEXT, PieceKind.ENTITY):
            text.append(piece.source)
        else:
            yield from _escaped_tags("".join(text))
            text = []
            yield piece
    yield from _escaped_tags("".join(text))


def _escaped_tags(source: str) -> Iterator[Piece]:
    """Yield the pieces of a text without tags, in which there may be escaped ones."""
    position = 0
    for found in _ESCAPED_TAG.finditer(source):
        yield from _escaped_entities(source[position : found.start()])
        name, position = f"escaped {found[2].lower()}", found.end()
        if found[1]:
            yield Piece(PieceKind.CLOSING, found[0], name)
        elif found[3].endswith("/") or found[2].lower() in VOID:
            yield Piece(PieceKind.POINT, found[0], name)
        else:
            yield Piece(PieceKind.OPENING, found[0], name)
    yield from _escaped_entities(source[position:])


def _escaped_entities(source: str) -> Iterator[Piece]:
    """Yield the pieces of a text in which `&amp;nbsp;` is an entity of HTML, escaped."""
    for piece in _split_at(_ESCAPED_ENTITY, source, _escaped_entity):
        if piece.kind is PieceKind.TEXT:
            yield from split_pieces(piece.source, Markup.XML)
        else:
            yield piece


def _escaped_entity(found: re.Match[str]) -> Piece | None:
    """Return the piece of an entity, or None if HTML has none of its name."""
    entity = found[0].replace("&amp;", "&", 1)
    is_known = html.unescape(entity) != entity
    return Piece(PieceKind.KEPT, found[0], character_of(entity)) if is_known else None


def _source_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.source for piece in pieces)


def _text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.source for piece in pieces if piece.kind is PieceKind.TEXT)


def _code(name: str, tag: str, whole: str) -> Piece:
    """Return the piece of an element of codes."""
    if name == "x" and (found := _ANGULAR_TAG.match(attribute_value(tag, "id") or "")):
        kind = PieceKind.OPENING if found[1] == "START" else PieceKind.CLOSING
        return Piece(kind, whole, f"angular {found[2]}")
    for attribute in _PAIR_ATTRIBUTE.get(name, ()):
        value = attribute_value(tag, attribute)
        if value is not None:
            kind = PieceKind.OPENING if name in _BEGINNINGS else PieceKind.CLOSING
            return Piece(kind, whole, f"pair {value}")
    return Piece(PieceKind.POINT, whole, _BREAK if LINE_BREAK.match(whole) else name)


def attribute_value(tag: str, name: str) -> str | None:
    """Return the value of an attribute of an XML tag as it is written, or None."""
    found = find_attribute(tag, name)
    return found[2][1:-1] if found else None


def find_attribute(tag: str, name: str) -> re.Match[str] | None:
    """Return where an attribute stands in an XML tag, with the blank before it.

    Group 2 is its value with the quotes, in which there may be what looks like an attribute.
    """
    return next((found for found in _ATTRIBUTE.finditer(tag) if found[1] == name), None)
