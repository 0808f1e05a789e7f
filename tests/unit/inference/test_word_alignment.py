"""Word alignments: weights of words from those of subwords, and links."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.config import TextConfig
from nmtkit.inference.word_alignment import Alignment, word_alignment
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.bpe import BPE


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


def test_hard_alignment_takes_the_highest_weight_and_never_eos():
    matrix = torch.tensor([[0.1, 0.3, 0.6], [0.5, 0.4, 0.1], [0.0, 0.0, 1.0]])
    alignment = Alignment(["a", "b"], ["x", "y"], matrix)
    assert alignment.links() == [(1, 0), (0, 1)]
    assert alignment.moses() == "1-0 0-1"
    assert alignment.columns == ["a", "b", "</s>"]
    assert alignment.rows == ["x", "y", "</s>"]


def test_an_unfinished_target_has_no_row_for_the_end():
    alignment = Alignment(["a", "b"], ["x"], torch.tensor([[0.1, 0.3, 0.6]]))
    assert alignment.links() == [(1, 0)]
    assert alignment.rows == ["x"]


@pytest.mark.parametrize(("src", "tgt"), [([], ["x", "y"]), (["a"], []), ([], [])])
def test_without_words_there_are_no_links(src, tgt):
    matrix = torch.full((len(tgt) + 1, len(src) + 1), 1 / (len(src) + 1))
    assert Alignment(src, tgt, matrix).links() == []
    assert Alignment(src, tgt, matrix).moses() == ""


def test_pieces_of_the_source_are_summed_and_of_the_target_averaged():
    matrix = torch.tensor(
        [
            [0.1, 0.2, 0.3, 0.4],
            [0.5, 0.3, 0.2, 0.0],
            [0.0, 0.2, 0.7, 0.1],
            [0.2, 0.2, 0.2, 0.4],
        ]
    )
    alignment = word_alignment(BPE.join(["a@@", "b", "c"]), BPE.join(["x@@", "y", "z"]), matrix)
    assert (alignment.src_words, alignment.tgt_words) == (["ab", "c"], ["xy", "z"])
    expected = torch.tensor([[0.55, 0.25, 0.2], [0.2, 0.7, 0.1], [0.4, 0.2, 0.4]])
    assert torch.allclose(alignment.matrix, expected)


def test_a_trailing_subword_that_expects_another_ends_its_word():
    matrix = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    alignment = word_alignment(BPE.join(["a"]), BPE.join(["x@@", "y@@"]), matrix)
    assert (alignment.tgt_words, alignment.rows) == (["xy"], ["xy"])
    assert torch.allclose(alignment.matrix, torch.tensor([[0.375, 0.625]]))


def test_without_subwords_the_separator_is_part_of_the_word():
    matrix = torch.full((2, 3), 1 / 3)
    text = TextPipeline("en", TextConfig(), None)
    alignment = word_alignment(text.join(["a@@", "b"]), text.join(["x@@"]), matrix)
    assert alignment.src_words == ["a@@", "b"] and torch.equal(alignment.matrix, matrix)
