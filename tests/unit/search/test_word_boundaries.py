"""Bytes of characters among the tokens of a vocabulary."""

import pytest

from nmtkit.search.word_boundaries import WordBoundaries

BYTES = {token: value for token, value in enumerate("é€😀".encode(), start=2)}
BOUNDARIES = WordBoundaries([(True, True)] * 20, BYTES)


@pytest.mark.parametrize(
    ("tokens", "is_inside"),
    [([], False), ([1], False), ([2], True), ([2, 3], False), ([1, 4, 5], True)]
    + [([4, 5, 6], False), ([7, 8, 9], True), ([7, 8, 9, 10], False), ([2, 1], False)]
    + [([2, 2], True), ([3], False)],
)
def test_parts_of_characters_are_known(tokens: list[int], is_inside: bool) -> None:
    assert BOUNDARIES.ends_inside(tokens) == is_inside


def test_words_have_no_bytes() -> None:
    assert not WordBoundaries.none(5).ends_inside([1, 2, 3])
