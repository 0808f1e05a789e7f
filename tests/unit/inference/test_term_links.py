"""Tokens of terms are aligned with the words that the glossary says they translate."""

import pytest
import torch

from nmtkit.inference.term_links import with_term_links
from nmtkit.search.constraints import Constraints
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.special_symbols import EOS


def hypothesis(*tokens: int) -> Hypothesis:
    generator = torch.Generator().manual_seed(len(tokens))
    alignment = torch.rand(len(tokens) + 1, 5, generator=generator).softmax(1)
    return Hypothesis([*tokens, EOS], -1.0, [], True, alignment)


def test_tokens_of_a_term_are_aligned_with_its_source() -> None:
    before = hypothesis(7, 4, 5, 8)
    found = with_term_links(before, Constraints((((9,), (4, 5)),), ((1, 2),)))
    assert found.alignment is not None and before.alignment is not None
    assert found.alignment[1:3].tolist() == [[0.0, 0.5, 0.5, 0.0, 0.0]] * 2
    for row in (0, 3, 4):
        assert found.alignment[row].equal(before.alignment[row])
    assert found.alignment.sum(1).tolist() == pytest.approx([1.0] * 5)


@pytest.mark.parametrize("first", [0, 2])
def test_of_several_places_that_counts_which_looks_at_the_source(first: int) -> None:
    """Two equal terms take one each."""
    one = hypothesis(4, 7, 4)
    assert one.alignment is not None
    one.alignment[first] = torch.tensor([0.1, 0.0, 0.9, 0.0, 0.0])
    twice = Constraints((((4,),), ((4,),)), ((2,), (0,)))
    found = with_term_links(one, twice).alignment
    assert found is not None
    assert found[first].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert found[2 - first].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


def test_what_has_no_terms_or_alignment_stays() -> None:
    one = hypothesis(4, 5)
    assert with_term_links(one, Constraints()) is one
    bare = Hypothesis([4, EOS], -1.0, [], True)
    assert with_term_links(bare, Constraints((((4,),),), ((0,),))) is bare
    found = with_term_links(one, Constraints((((6,),), ((4,),)), ((0,), ()))).alignment
    assert found is not None and one.alignment is not None and found.equal(one.alignment)
