"""The best tokens by blocks are those of a full sort."""

import pytest
import torch

from nmtkit.search.token_blocks import GROUP_TOKENS, best_tokens


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("count", [1, 6, 100])
def test_the_best_tokens_are_those_of_a_full_sort(groups: int, count: int) -> None:
    random = torch.Generator().manual_seed(count)
    values = torch.randn(5, groups * GROUP_TOKENS, generator=random)
    values[1, 7:] = -torch.inf
    best, tokens = best_tokens(values, count)
    expected = values.sort(dim=1, descending=True).values[:, :count]
    assert best.equal(expected)
    assert values.gather(1, tokens).equal(best)
    assert all(len(set(row.tolist())) == count for row in tokens)
