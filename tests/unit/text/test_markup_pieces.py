"""Pieces of a line: nothing is lost, and each has its kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.markup_pieces import Markup, PieceKind, character_of, find_partners, split_pieces

signs = st.sampled_from(
    [
        "<b>",
        "</b>",
        "<BR>",
        "<i/>",
        "<!--",
        "--!>",
        "-->",
        "<![CDATA[",
        "]]>",
        "<%",
        "%>",
        "<?",
        "?>",
    ]
    + ["<script>", "</script>", "<!x>", "<", ">", "&", "&lt;", "&#65;", "&copy", "'", '"', "a", " "]
)
lines = st.lists(signs, max_size=25).map("".join) | st.text(max_size=40)


@given(lines, st.sampled_from(Markup))
def test_pieces_are_the_line(line: str, markup: Markup) -> None:
    assert "".join(piece.source for piece in split_pieces(line, markup)) == line


@given(lines, st.sampled_from(Markup))
def test_partners_have_one_name_and_are_nested(line: str, markup: Markup) -> None:
    pieces = list(split_pieces(line, markup))
    partners = find_partners(pieces)
    waiting: list[int] = []
    for number, piece in enumerate(pieces):
        partner = partners.get(number)
        if partner is not None and partner > number:
            waiting.append(number)
            assert pieces[partner].name == piece.name
        elif partner is not None:
            assert waiting.pop() == partner
    assert not waiting


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("<b>", PieceKind.OPENING),
        ("</b>", PieceKind.CLOSING),
        ("<b/>", PieceKind.POINT),
        ("<br>", PieceKind.POINT),
        ("<!-- a > b -->", PieceKind.POINT),
        ("<!-- a --!>", PieceKind.POINT),
        ("<script>a < b</script>", PieceKind.POINT),
        ("<% if a > b %>", PieceKind.POINT),
        ("<a title='>'>", PieceKind.OPENING),
        ("&eacute;", PieceKind.ENTITY),
        ("&eacute", PieceKind.ENTITY),
        ("< b >", PieceKind.TEXT),
        ("a & b", PieceKind.TEXT),
    ],
)
def test_a_piece_has_its_kind(source: str, kind: PieceKind) -> None:
    assert [(piece.kind, piece.source) for piece in split_pieces(source, Markup.HTML)] == [
        (kind, source)
    ]


def test_xml_knows_neither_void_elements_nor_entities_without_semicolons() -> None:
    kinds = [piece.kind for piece in split_pieces("<br>&eacute", Markup.XML)]
    assert kinds == [PieceKind.OPENING, PieceKind.TEXT]


@pytest.mark.parametrize(
    ("entity", "character"),
    [
        ("&eacute;", "é"),
        ("&nbsp;", "\xa0"),
        ("&thinsp;", "\u2009"),
        ("&zwnj;", "\u200c"),
        ("&#0;", "�"),
        ("&#10;", "&#10;"),
        ("&no;", "&no;"),
        ("&#8;", "&#8;"),
        ("&#8", "&#8"),
    ],
)
def test_an_unprintable_or_unknown_entity_stands_for_itself(entity: str, character: str) -> None:
    assert character_of(entity) == character
