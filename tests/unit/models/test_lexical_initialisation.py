"""Source embeddings near those of their translations."""

import torch

from nmtkit.models.lexical_initialisation import SIMILARITY, lexical_embeddings

K_Y = 4


def test_embeddings_are_those_of_the_docstring_and_keep_their_lengths() -> None:
    torch.manual_seed(1)
    E_x, E_y = torch.randn(5, 64).double(), torch.randn(K_Y, 64).double()
    strengths = {(0, 2): 0.81, (3, 1): 0.04, (3, 2): 0.36}
    keys = torch.tensor([x * K_Y + y for x, y in strengths])
    values = torch.tensor(list(strengths.values()))
    actual = lexical_embeddings(E_x, E_y, keys, values)
    for x in range(5):
        mean = sum(
            (g**0.5 * E_y[y] for (word, y), g in strengths.items() if word == x),
            start=torch.zeros(64).double(),
        )
        expected = E_x[x]
        if mean.norm() > 0:
            own, target = E_x[x] / E_x[x].norm(), mean / mean.norm()
            expected = E_x[x].norm() * (0.9 * target + (1 - 0.81) ** 0.5 * own)
            assert abs(torch.cosine_similarity(expected, mean, dim=0) - SIMILARITY) < 0.1
            assert abs(expected.norm() / E_x[x].norm() - 1) < 0.25
        torch.testing.assert_close(actual[x], expected, atol=1e-7, rtol=1e-5)


def test_no_pairs_change_nothing() -> None:
    E_x, E_y = torch.randn(3, 2), torch.randn(K_Y, 2)
    none = torch.zeros(0, dtype=torch.int64)
    assert torch.equal(lexical_embeddings(E_x, E_y, none, torch.zeros(0)), E_x)
