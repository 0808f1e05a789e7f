"""What counts as kept and placed in the measurement of markup."""

import random
from types import SimpleNamespace
from typing import cast

import markup
import numpy as np
import pytest
import torch
from timing import BenchError

from nmtkit import Aligner
from nmtkit.config import TextConfig
from nmtkit.evaluation.aer import GoldLinks
from nmtkit.text.markup import parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.markup_placement import Aligned, Place
from nmtkit.text.pipeline import TextPipeline


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("a <b>c</b> &amp;", "<b>x</b> y &amp;", True),
        ("a <b>c</b>", "x y", False),
        ("a <b>c</b>", "x <b>y</b> <b></b>", False),
        ("a <b>c</b>", "x </b>y<b>", False),
    ],
)
def test_all_markup_is_kept_or_not(source: str, output: str, expected: bool) -> None:
    assert markup.is_kept(source, output) is expected


def test_elements_are_compared_by_name_and_words() -> None:
    spans = [
        markup.spans_of(parse_markup(line, Markup.HTML))
        for line in ('<a href="en">x</a> <b>y z</b><br>', '<b>y z</b> <a href="de">v</a>')
    ]
    assert spans[0] == [("a", "x"), ("b", "y z")]
    assert markup.same(*spans) == 1


def test_shares_count_lines_and_elements() -> None:
    pairs = [
        ('<a href="en">x</a> y', '<a href="de">u</a> v'),
        ("<b>x</b> <i>y</i>", "<i>v</i> <b>u</b>"),
        ("x <b>y</b>", "<b>u</b> <b>v</b>"),
        ("x", "u"),
    ]
    outputs = ['<a href="en">u</a> v', "<b>v</b> <i>v</i>", "u v", "w"]
    shares = markup.MarkupShares.of(outputs, pairs)
    assert (shares.lines, shares.elements) == (75.0, 3)
    assert shares.words == pytest.approx(200 / 3)
    with pytest.raises(BenchError, match="3 lines with markup, not 4"):
        markup.MarkupShares.of(outputs[1:], pairs)
    with pytest.raises(BenchError, match="no element has contents"):
        markup.MarkupShares.of(outputs[2:], pairs[2:])


def test_markup_of_the_source_is_placed_in_the_target() -> None:
    """By the links or by the strongest ones alone, which here cross."""
    text = TextPipeline("en", TextConfig(), None)
    weights = torch.tensor([[0.1, 0.9, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]])
    alignment = SimpleNamespace(src_words=["x", "y"], tgt_words=["u", "v"], matrix=weights)
    aligner = SimpleNamespace(
        model=SimpleNamespace(src_text=text, tgt_text=text),
        align=lambda pairs, rounds: [alignment for _ in pairs],
    )
    for hard in (False, True):
        lines = list(markup.placed(cast(Aligner, aligner), [("<b>x</b> y", "u v")], 1, hard))
        assert lines == ["u <b>v</b>"]


def test_hard_places_reach_from_the_first_to_the_last_link() -> None:
    elements = parse_markup("<b>a</b> c", Markup.HTML).elements
    weights = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], np.float32)
    aligned = Aligned("x y z", [(0, 1), (2, 3)], [(0, 1), (2, 3), (4, 5)], weights)
    assert markup.hard_places(elements, aligned) == [Place(0, 3)]


def test_words_stand_where_the_text_of_the_model_says() -> None:
    """Let markers stand nowhere, and a word whose characters are written otherwise at its place."""
    settings = TextConfig(joiners=True, case="markers")
    text = TextPipeline("en", settings, None)
    words = ["⇧", "a", "@-@", "b", "￭", "(", "⇪", "c"]
    alignment = SimpleNamespace(src_words=words, tgt_words=words, matrix=torch.eye(9))
    aligner = SimpleNamespace(
        model=SimpleNamespace(src_text=text, tgt_text=text),
        align=lambda pairs, rounds: [alignment for _ in pairs],
    )
    (found,) = markup.aligned_texts(cast(Aligner, aligner), [("A-b(C", "A-b (C")], 1)
    assert found.src == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5)]
    assert found.tgt == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 3), (4, 5), (5, 5), (5, 6)]
    assert found.weights.shape == (8, 8)


def test_a_phrase_has_a_true_place_if_its_links_and_no_others_reach_one_interval() -> None:
    gold = GoldLinks(frozenset({(0, 1), (1, 0), (2, 2), (3, 2), (4, 3), (4, 5), (5, 4)}))
    found = markup.true_places(gold, 6)
    assert {key: place for key, place in found.items() if key[1] - key[0] == 1} == {
        (0, 1): Place(1, 2),
        (1, 2): Place(0, 1),
        (5, 6): Place(4, 5),
    }
    assert found[0, 2] == Place(0, 2)
    assert found[2, 4] == Place(2, 3)
    assert found[4, 6] == Place(3, 6)
    assert (1, 3) not in found and (3, 5) not in found


def test_a_word_and_a_longer_phrase_are_drawn() -> None:
    gold = GoldLinks(frozenset((word, word) for word in range(4)))
    for seed in range(10):
        one, more = markup.drawn(gold, 4, random.Random(seed))
        assert one[1] - one[0] == 1 and 2 <= more[1] - more[0] <= markup.MAX_PHRASE
        for first, stop, place in (one, more):
            assert place == Place(first, stop)
    assert markup.drawn(GoldLinks(frozenset()), 4, random.Random(1)) == []
