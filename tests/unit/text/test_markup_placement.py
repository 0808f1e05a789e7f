"""Markup in a translation: nothing is lost, all stays nested, and words keep their elements."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.markup import parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.markup_placement import Aligned, Place, place_elements, write_markup
from nmtkit.text.word_offsets import word_offsets
from tests.unit.text.alignments import aligned

TAGS = st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<br/>", "a", "bc", "x", "d,", " ", " e "])
lines = st.lists(TAGS, max_size=25).map("".join)


def placed(source: str, target: str, links: str) -> str:
    """Put the markup of a line into a translation, by links such as "0-0 1-2"."""
    marked = parse_markup(source, Markup.HTML)
    translation = aligned(marked.text, target, links)
    translation.weights[:] /= np.maximum(translation.weights.sum(1, keepdims=True), 1)
    return write_markup(marked, place_elements(marked.elements, translation), translation)


@given(
    lines,
    st.lists(st.sampled_from(["x", "y", "abc", "xx", "bcx"]), max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_any_weights_keep_all_markup_and_all_words(line: str, words: list[str], seed: int) -> None:
    marked, text = parse_markup(line, Markup.HTML), " ".join(words)
    src = marked.text.split()
    weights = np.random.default_rng(seed).random((len(words), len(src)), np.float32)
    offsets = word_offsets(src, marked.text), word_offsets(words, text)
    translation = Aligned(text, *offsets, weights)
    ends = np.random.default_rng(seed).integers(-2, len(words) + 2, (len(marked.elements), 2))
    known = {
        number: Place(*sorted(pair)) for number, pair in enumerate(ends.tolist()) if pair[0] % 2
    }
    places = place_elements(marked.elements, translation, known)
    output = write_markup(marked, places, translation)
    assert sorted(re.findall("<[^>]*>", output)) == sorted(re.findall("<[^>]*>", line))
    assert re.sub("<[^>]*>", "", output).replace(" ", "") == text.replace(" ", "")
    again = parse_markup(output, Markup.HTML)
    pairs = [sorted((e.opening, e.closing) for e in m.elements) for m in (marked, again)]
    assert pairs[0] == pairs[1] or not all(e.closing or "/>" in e.opening for e in marked.elements)


def test_known_places_are_kept_and_others_stand_beside_them() -> None:
    marked = parse_markup("<b>a</b> <i>b</i><br/> <u>c</u>", Markup.HTML)
    offsets = [(0, 1), (2, 3), (4, 5)]
    translation = Aligned("x y z", offsets, offsets, np.eye(3, dtype=np.float32))
    known = {0: Place(1, 2), 2: Place(0, 0), 3: Place(1, 3)}  # the last one is within the first
    places = place_elements(marked.elements, translation, known)
    assert places == [Place(1, 2), Place(1, 1), Place(0, 0), Place(2, 3)]


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("a <b>red</b> car", "une voiture rouge", "0-0 1-2 2-1", "une voiture <b>rouge</b>"),
        ("<b>a red car</b>", "une voiture rouge", "0-0 1-2 2-1", "<b>une voiture rouge</b>"),
        ("<i>a <b>b</b></i> c", "x y z", "0-1 1-2 2-0", "x <i>y <b>z</b></i>"),
        ("<i>a</i> <b>b</b>", "x y", "0-1 1-0", "<b>x</b> <i>y</i>"),
        ("a<br/>b", "x y", "0-0 1-1", "x<br/>y"),
        ("a <br/>b", "x y", "0-0 1-1", "x <br/>y"),
        ("<p>a</p><p>b</p>", "x y", "0-0 1-1", "<p>x</p><p>y</p>"),
        ("<br/>a b<hr>", "x y", "0-0 1-1", "<br/>x y<hr>"),
        ("<b>do not</b> go", "ne va pas", "0-0 1-2 2-1", "<b>ne</b> va pas"),
        ("<b>gone</b> a", "x", "1-0", "<b></b>x"),
        ("<b><i>a</i></b>", "x", "0-0", "<b><i>x</i></b>"),
        ("<b>a</b>", "", "", "<b></b>"),
        ("<b></b>", "", "", "<b></b>"),
        ("a H<sub>2</sub>O b", "x y H2O", "0-0 1-2 2-1", "x y H<sub>2</sub>O"),
        ("m<sup>2</sup> a", "x m2", "0-1 1-0", "x m<sup>2</sup>"),
        ("m<sup>2</sup> a", "x m²", "0-1 1-0", "x <sup>m²</sup>"),
        ("a<b>b<i>c</i> d</b>e f", "f abc de", "0-1 1-2 2-0", "f a<b>b<i>c</i> d</b>e"),
        ("a<b>b c<i>d</i></b>", "cd ab", "0-1 1-0", "<b>c<i>d</i> ab</b>"),
    ],
)
def test_markup_goes_where_its_words_went(
    source: str, target: str, links: str, expected: str
) -> None:
    assert placed(source, target, links) == expected


def test_a_stray_link_does_not_stretch_an_element() -> None:
    line = "<b>a b</b> c d e f"
    assert placed(line, "u v w x y z", "0-0 1-1 2-2 3-3 4-4 5-5 0-5") == "<b>u v</b> w x y z"


def test_many_siblings_and_many_levels_take_little_time() -> None:
    siblings = "<b>a</b> " * 2000
    assert placed(siblings, "x " * 20, "0-0").count("<b>") == 2000
    levels = "<b>" * 2000 + "a" + "</b>" * 2000
    assert placed(levels, "x", "0-0") == levels.replace("a", "x")
