"""Expansions rank by their scores and credits."""

import pytest
import torch

from nmtkit.search.expansions import Expansions


@pytest.mark.parametrize("credit", [0.0, 1.5])
def test_expansions_rank_higher_by_their_credit(credit):
    scores, none = torch.tensor([[-1.0, -2.0]]), torch.zeros(1, 2, dtype=torch.int64)
    credits = torch.tensor([[0.0, credit]])
    assert (Expansions(scores, none, none, credits).ranks - scores).equal(credits)
    assert Expansions(scores, none, none).ranks.equal(scores)
