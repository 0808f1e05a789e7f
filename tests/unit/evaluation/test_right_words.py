"""Which words of a translation the reference has."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.evaluation.right_words import right_pieces, right_words

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)


@given(WORDS, WORDS)
def test_as_many_are_right_as_both_sides_have(words, reference):
    right = right_words(words, reference)
    common = (Counter(words) & Counter(reference)).total()
    assert len(right) == len(words) and sum(right) == common
    assert right_words(words, list(reversed(reference))) == right


@pytest.mark.parametrize(
    ("words", "expected"),
    [("a man a man", [1, 1, 0, 0]), ("reads a", [1, 1]), ("", [])],
)
def test_repeated_words_are_wrong(words, expected):
    assert right_words(words.split(), "a man reads".split()) == list(map(bool, expected))


def test_text_without_blanks_may_be_cut_otherwise():
    assert right_pieces(["中央", "に", "中央", ""], "中央に揃え") == [True, True, False, False]
