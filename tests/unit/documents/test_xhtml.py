"""XHTML: what was well-formed XML is so again, whatever becomes of the words."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast
from xml.dom import minidom

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.documents.xhtml import NAMESPACE, is_xhtml
from nmtkit.inference.document import translate_document
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.inference.word_alignment import Alignment
from tests.unit.documents.stand_ins import StandIn, copied, translated


def page(body: str, head: str = "") -> str:
    return f'<html xmlns="{NAMESPACE}"><head>{head}</head><body>{body}</body></html>'


def upper(body: str, head: str = "") -> str:
    """Return the body of a page translated into capitals."""
    text = translated(page(body, head), "html", str.upper).data.decode()
    return text.partition("<body>")[2].partition("</body>")[0]


class Reversed(StandIn):
    """Translates into capitals, in the opposite order, without every third word."""

    def translate(self, lines: Iterable[str], **options: Any) -> Iterator[list[Translation]]:
        for [one] in super().translate(lines, **options):
            assert one.word_alignment is not None and one.alignment is not None
            kept = [n for n in reversed(range(len(one.tokens))) if n % 3 != 2]
            words = [one.tokens[number] for number in kept]
            matrix = one.alignment[kept]
            alignment = Alignment(one.word_alignment.src_words, words, matrix)
            text = " ".join(words)
            yield [
                replace(one, text=text, tokens=words, alignment=matrix, word_alignment=alignment)
            ]


INLINE = "b i span a code ruby svg unknown script title".split()
BLOCKS = "p div li table blockquote h1 pre".split()
LEAVES = st.sampled_from(
    ["one ", "Two ", "four. ", "five, ", "&amp; ", "&#233;t", "'six' ", "<br/>", "<br></br>"]
    + ['<img alt="a \' &lt;"/>', "<!-- c -->", "<![CDATA[a < b]]>", "<script/>", "<a id='x'/>"]
    + ["<sup>1</sup>", "<sup><a>[2]</a></sup> ", "<a role='doc-noteref'>x</a>"]
    + ["<?x y?>", "<hr />", "<p/>", "<i title='x &quot;y'>z</i> "]
)


def _elements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    contents = st.lists(inner, max_size=4).map("".join)
    return st.builds("<{0}>{1}</{0}>".format, st.sampled_from(INLINE + BLOCKS), contents)


@settings(max_examples=300)
@example("<span>one <p>two three</p> four</span> <b>five <i>six</i> seven <div>eight</div></b>")
@example("one <br></br> two <b>three</b> four")
@given(st.lists(st.recursive(LEAVES, _elements, max_leaves=15), max_size=8).map("".join))
def test_well_formed_pages_stay_well_formed(body: str) -> None:
    """Put the words in another order: no tag crosses another, and each stays once."""
    data = page(body).encode()
    translator = cast(Translator, Reversed(str.upper))
    changed = translate_document(data, "html", translator).data
    assert _names(changed) == _names(data)
    assert translated(data, "html", copied).data == data


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["<i>{}</i>", "<b><u>{}</u></b>", "{}"]),
            st.lists(st.sampled_from(["one ", "two. ", "Three ", "Four. Five "]), min_size=1),
        ),
        max_size=5,
    )
)
def test_elements_over_several_sentences_do_not_cross(parts: list[tuple[str, list[str]]]) -> None:
    """One ends in a sentence in which the next one begins, and its words come later."""
    data = page("".join(around.format("".join(words)) for around, words in parts)).encode()
    translator = cast(Translator, Reversed(str.upper))
    assert _names(translate_document(data, "html", translator).data) == _names(data)


def _names(data: bytes) -> list[str]:
    """Return the names of the elements of a file, sorted."""
    return sorted(one.tagName for one in minidom.parseString(data).getElementsByTagName("*"))


def test_empty_elements_end_at_once() -> None:
    """In HTML a script and a title would go on to the next end tag."""
    for name in ("script", "style"):
        body = f"<p>one</p><{name}/><p>two</p><{name}>keep</{name}>"
        assert upper(body) == body.replace("one", "ONE").replace("two", "TWO")
    assert upper("<p>one</p>", '<script src="x"/><title/>') == "<p>ONE</p>"
    assert upper("<p>one<br></br>Two</p>") == "<p>ONE<br></br>TWO</p>"


def test_scripts_stay() -> None:
    script = "<script><![CDATA[a < b; '</script>' two]]></script>"
    assert upper(f"one {script} Two") == f"ONE {script} TWO"


@pytest.mark.parametrize(
    "note",
    [
        '<a epub:type="noteref" href="#n">a</a>',
        '<a class="x" role="doc-noteref"><sup>ii</sup></a>',
        "<sup>1</sup>",
        '<sup><a href="#n">[1]</a></sup>',
        '<a href="#n" id="r"><sup>*</sup></a>',
        '<span class="x"><a href="#n">1</a></span>',
        '<span epub:type="pagebreak" id="p">12</span>',
    ],
)
def test_a_reference_to_a_note_is_no_part_of_the_word_before_it(note: str) -> None:
    translator = StandIn(str.upper)
    namespace = 'xmlns:epub="http://www.idpf.org/2007/ops"'
    body = f"<p {namespace}>{{}}{note} {{}}{note}.</p>"
    data = page(body.format("one", "<i>two</i>")).encode()
    changed = translate_document(data, "html", cast(Translator, translator)).data.decode()
    assert translator.texts == [["one two."]]
    assert body.format("ONE", "<i>TWO</i>") in changed


@pytest.mark.parametrize(
    "text",
    ["see <a>12</a>.", "the 4<sup>th</sup> man", "<a>12</a> one", "one<b>2</b>"]
    + ["<b>page </b><a>12</a>", "one (<a>1995</a>)", "pages 12–<a>13</a>"],
)
def test_other_numbers_are_text(text: str) -> None:
    translator = StandIn(str.upper)
    translate_document(page(text).encode(), "html", cast(Translator, translator))
    assert translator.texts == [[re.sub("<[^>]*>", "", text)]]


def test_a_number_behind_a_no_break_space_is_text() -> None:
    translator = StandIn(str.upper)
    translate_document(page("page&#160;<a>12</a>").encode(), "html", cast(Translator, translator))
    assert translator.texts == [["page 12"]]


def test_prefixes_are_no_part_of_names() -> None:
    formula = "<m:math><m:mi>x</m:mi></m:math>"
    body = f'<div xmlns:m="M"><p>one {formula} two</p></div>'
    assert formula in upper(body)
    text = f'<h:html xmlns:h="{NAMESPACE}"><h:p>one. </h:p><h:p>two</h:p><h:pre>a</h:pre></h:html>'
    changed = translated(text, "html", str.upper).data.decode()
    assert "<h:p>ONE. </h:p><h:p>TWO</h:p><h:pre>a</h:pre>" in changed


DOCTYPE = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/xhtml11.dtd">'


@pytest.mark.parametrize(
    ("text", "is_xml"),
    [
        (page("<p>a</p>"), True),
        (f"<?xml version='1.0'?>\n{DOCTYPE}{page('a&nbsp;b')}", True),
        (page("a&nbsp;b"), False),
        (page("<p>a"), False),
        (page("a <br> b"), False),
        ("<html><p>a</p></html>", False),
        (f'<svg xmlns="{NAMESPACE}"/>', False),
        ("", False),
        ('<!DOCTYPE html [<!ENTITY a "b">]>' + page("&a;"), False),
    ],
)
def test_pages_are_xhtml_if_they_are_well_formed(text: str, is_xml: bool) -> None:
    assert is_xhtml(text.encode(), "x") is is_xml
    assert translated(text, "html", copied).data == text.encode()


def test_entities_of_the_document_type_stay() -> None:
    text = f"{DOCTYPE}{page('<p>a&nbsp;b</p>')}"
    changed = translated(text, "html", str.upper).data.decode()
    assert "<p>A&nbsp;B</p>" in changed
