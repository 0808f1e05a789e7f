"""Taking lines of HTML and XML apart."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.markup import Atom, MarkedText, MarkupElement, parse_markup
from nmtkit.text.markup_pieces import Markup

HTML, XML = Markup.HTML, Markup.XML

pieces = st.sampled_from(
    ["<b>", "</b>", "<i class='x'>", "</i>", "<br>", "<br/>", "&amp;", "&lt;", "&nosuch;", "a", " "]
    + ["<!-- c -->", "<", ">", "&", '"', "'", "<a href='<b>'>", "</a>", "<![CDATA[ x ]]>", "<?p?>"]
    + ["<script>", "</script>", "<span translate='no'>", "</span>", "<3", "é", "</", "<!--"]
)
lines = st.lists(pieces, max_size=20).map("".join) | st.text(max_size=40)


@given(lines, st.sampled_from(Markup))
def test_nothing_is_lost_and_elements_are_nested(line: str, markup: Markup) -> None:
    marked = parse_markup(line, markup)
    sources = [part for element in marked.elements for part in (element.opening, element.closing)]
    atoms = [atom.source for atom in marked.atoms]
    outside = sum(len(marked.text[atom.start : atom.end]) for atom in marked.atoms)
    added = sum(element.separates + element.separates_end for element in marked.elements)
    assert sum(map(len, [*sources, *atoms])) + len(marked.text) - outside - added == len(line)
    for element in marked.elements:
        assert 0 <= element.start <= element.end <= len(marked.text)
        if element.parent >= 0:
            parent = marked.elements[element.parent]
            assert parent.start <= element.start and element.end <= parent.end
            assert parent.closing
    ends = [0, *(offset for atom in marked.atoms for offset in (atom.start, atom.end))]
    assert ends == sorted(ends)


@given(st.text(st.characters(exclude_characters="<&"), max_size=40))
def test_text_without_markup_is_text(line: str) -> None:
    assert parse_markup(line, HTML) == MarkedText(line, (), ())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "a <b>c <i>d</i></b>",
            MarkedText(
                "a c d",
                (MarkupElement(2, 5, "<b>", "</b>"), MarkupElement(4, 5, "<i>", "</i>", 0)),
                (),
            ),
        ),
        ("x<wbr>y", MarkedText("xy", (MarkupElement(1, 1, "<wbr>"),), ())),
        ("x<br>y", MarkedText("x y", (MarkupElement(2, 2, "<br>", separates=True),), ())),
        ("x <br>y", MarkedText("x y", (MarkupElement(2, 2, "<br>"),), ())),
        (
            "<p>a</p><p>b</p>",
            MarkedText(
                "a b",
                (
                    MarkupElement(0, 1, "<p>", "</p>", separates_end=True),
                    MarkupElement(2, 3, "<p>", "</p>"),
                ),
                (),
            ),
        ),
        ("R&amp;D", MarkedText("R&D", (), (Atom(1, 2, "&amp;"),))),
        ("&nosuch; 1 < 2", MarkedText("&nosuch; 1 < 2", (), (Atom(0, 8, "&nosuch;"),))),
        ("a</b>", MarkedText("a", (MarkupElement(1, 1, "</b>"),), ())),
        (
            "<b>a<i>b</b>c</i>",
            MarkedText(
                "abc",
                (
                    MarkupElement(0, 2, "<b>", "</b>"),
                    MarkupElement(1, 1, "<i>", "", 0),
                    MarkupElement(3, 3, "</i>"),
                ),
                (),
            ),
        ),
        ("a<!-- <b> -->", MarkedText("a", (MarkupElement(1, 1, "<!-- <b> -->"),), ())),
        (
            "<script>if (a<b)</script>",
            MarkedText("", (MarkupElement(0, 0, "<script>if (a<b)</script>"),), ()),
        ),
        (
            '<span translate="no">a <span>b</span></span> c',
            MarkedText("a b c", (), (Atom(0, 3, '<span translate="no">a <span>b</span></span>'),)),
        ),
    ],
)
def test_html(line: str, expected: MarkedText) -> None:
    assert parse_markup(line, HTML) == expected


def test_letters_quotes_and_invisible_characters_are_text() -> None:
    marked = parse_markup("caf&eacute; don&#39;t &quot;a&shy;b&zwnj;&quot; &amp;&thinsp;c", HTML)
    assert marked.text == 'café don\'t "a\xadb\u200c" &\u2009c'
    assert [atom.source for atom in marked.atoms if not atom.is_text] == ["&amp;", "&thinsp;"]


def test_names_of_xml_have_cases_and_no_element_is_void() -> None:
    assert not parse_markup("<B>a</b>", XML).elements[0].closing
    assert parse_markup("<B>a</b>", HTML).elements[0].closing
    assert parse_markup("<br>a</br>", XML).elements == (MarkupElement(0, 1, "<br>", "</br>"),)


@pytest.mark.parametrize(
    "unit", ["<b>", "</b>", "<!--", "<", "&", "<script>", "<a '", '<a "', "<![CDATA[", "<b/>"]
)
def test_time_grows_with_the_length(unit: str) -> None:
    started = time.process_time()
    parse_markup(unit * 50_000, HTML)
    assert time.process_time() - started < 5


def test_a_thousand_levels_are_no_more_than_one() -> None:
    marked = parse_markup("<b>" * 1000 + "x" + "</b>" * 1000, HTML)
    assert all(element.closing for element in marked.elements)
    assert marked.elements[-1].parent == 998


@pytest.mark.parametrize(
    ("line", "kept"),
    [("a <b translate=no>C</b>s", "Cs"), ("re<b translate=no>c</b> d", "rec")]
    + [("使用<b translate=no>c</b>可以", "c"), ("a<b translate=no>-</b>b", "-")],
)
def test_latin_letters_beside_what_is_kept_are_kept(line: str, kept: str) -> None:
    marked = parse_markup(line, Markup.HTML)
    assert [marked.text[atom.start : atom.end] for atom in marked.atoms] == [kept]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("{n, plural, one {<b>#</b> file} other {# files}}", None),
        ("{n, plural, other {<x/>}}{m, select, a {<i>b</i>} other {c}}", None),
        ("{n, plural, one {# &amp; a} other {b}}", None),
        ("<b>{n, plural, one {c} other {<br/> d}}</b>", "{n, plural, one {c} other {<br/> d}}"),
        ("{n, plural, one {<b>a} other {b}}</b>", ""),
        ("{n, <b>x</b>}", ""),
    ],
)
def test_messages_with_tags_are_kept_whole(line: str, kept: str | None) -> None:
    for markup in Markup:
        marked = parse_markup(f"one {line} two", markup)
        assert "".join(atom.source for atom in marked.atoms) == (line if kept is None else kept)
