"""Word alignments: which target words have a link."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.inference.word_alignment import Alignment


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
@pytest.mark.parametrize(("times", "is_linked"), [(0, True), (3, True), (5, False)])
def test_a_word_is_linked_unless_the_end_has_far_more_weight(
    times: int, is_linked: bool, weights: list[float]
) -> None:
    """The weight of `</s>` is so many times that of the best word."""
    row = torch.tensor([*weights, times * max(weights)])
    words = [f"w{n}" for n in range(len(weights))]
    alignment = Alignment(words, ["x"], (row / row.sum()).unsqueeze(0))
    assert alignment.is_linked(0) == is_linked


def test_without_source_words_nothing_is_linked() -> None:
    assert not Alignment([], ["x"], torch.ones(1, 1)).is_linked(0)
