"""Sentences of a text with markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.marked_sentences import split_marked
from nmtkit.text.markup import parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.sentences import Lines


@pytest.mark.parametrize(
    ("line", "sentences", "rest"),
    [
        ("<b>One. Two</b> three.", ["One.", "Two</b> three."], ""),
        ("<b>One.</b> <i>Two.</i>", ["One.", "Two."], "</i>"),
        ("A <b>dog. It</b> ran.", ["A <b>dog.", "It</b> ran."], ""),
        ("One.<br>Two", ["One.", "Two"], ""),
        ("ერთი <br>ორი", ["ერთი", "ორი"], ""),
        ("One <br>two", ["One <br>two"], ""),
        ("<img> One <img> two <img>", ["One <img> two"], " <img>"),
        ("&nbsp;One&nbsp;", ["One"], "&nbsp;"),
        ("<b><i>One</i> two.</b> Go", ["<i>One</i> two.", "Go"], ""),
    ],
)
def test_sentences(line: str, sentences: list[str], rest: str) -> None:
    split = split_marked(parse_markup(line, Markup.HTML), "en", Lines.FOLD)
    assert [one.source for one in split.sentences] == sentences
    assert split.after == rest


PARTS = st.sampled_from(
    ["One", " two.", " ", "Three", "<b>", "</b>", "<i>", "</i>", "<br>", "<img>", "&nbsp;", "&amp;"]
    + ["<u>", "</u>", "<p>", "</p>", "<span translate=no>x. Y</span>", "<span translate=no></span>"]
)


@given(st.lists(PARTS, max_size=20).map("".join))
def test_sentences_and_what_is_between_make_the_line(line: str) -> None:
    marked = parse_markup(line, Markup.HTML)
    split = split_marked(marked, "en", Lines.FOLD)
    assert split.joined([one.source for one in split.sentences]) == line
    for one in split.sentences:
        for number, element in enumerate(one.marked.elements):
            assert 0 <= element.start <= element.end <= len(one.marked.text)
            assert -1 <= element.parent < number
        tags = sum(bool(tag) for e in one.marked.elements for tag in (e.opening, e.closing))
        assert all(one.source.count(atom.source) for atom in one.marked.atoms)
        kept = one.source.replace("<span translate=no>x. Y</span>", "")
        assert tags <= kept.count("<")


@pytest.mark.parametrize(
    ("line", "language", "spaced", "joined"),
    [
        ("走吧。" * 2, "zh", True, "Go Go"),
        ("走吧，" * 400, "zh", True, "Go Go"),
        ("走吧" * 600, "zh", True, "Go Go"),
        ("<b>走吧。</b>走吧。", "zh", True, "Go</b> Go"),
        ("走吧。" * 2, "zh", False, "GoGo"),
        ("go, " * 400, "en", False, "GoGo "),
        ("go " * 500, "en", False, "GoGo "),
        ("go " * 500, "en", True, "Go Go "),
        ("a" * 1500, "en", True, "GoGo"),
        ("One.<br>Two", "en", True, "Go<br>Go"),
        ("One. Two", "en", False, "GoGo"),
        ("One | Two", "en", False, "Go | Go"),
    ],
)
def test_spaces_between_translations_are_those_of_their_language(
    line: str, language: str, spaced: bool, joined: str
) -> None:
    split = split_marked(parse_markup(line, Markup.HTML), language, Lines.FOLD)
    texts = [one.source if one.source == "|" else "Go" for one in split.sentences]
    assert split.joined(texts, spaced).removeprefix("<b>") == joined


def test_gaps_between_translations_stay() -> None:
    split = split_marked(parse_markup("One   Two\tThree", Markup.HTML), "en", Lines.KEEP)
    assert split.joined(["Go"] * 3, spaced=False) == "Go   Go\tGo"
