"""GrConv's composition against plain autograd, node by node, and finite differences."""

import pytest
import torch

from nmtkit.models.fast.grconv_ops import compose, level_sizes
from tests.unit.models.fast.packings import packing_of

N = 3
LENGTHS = [[1], [4], [2, 2], [1, 4, 2], [5, 3, 3, 1]]


def leaves(lengths):
    torch.manual_seed(1)
    shapes = [(sum(lengths), N), (N, 2 * (N + 3)), (N + 3,)]
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def composed(leaves, packing):
    h, W, b = leaves
    return compose(h, W, b, packing)


def plain(leaves, packing):
    """Compose each sentence and each node separately."""
    h, W, b = leaves
    tops = []
    for rank in range(packing.sizes[0]):
        rows = [start + rank for start, end in packing.steps() if rank < end - start]
        level = [h[row] for row in rows]
        while len(level) > 1:
            level = [joined(a, c, W, b) for a, c in zip(level, level[1:], strict=False)]
        tops.append(level[0])
    return torch.stack(tops)


def joined(left, right, W, b):
    asked = left @ W[:, : N + 3] + right @ W[:, N + 3 :] + b
    w = torch.softmax(asked[N:], dim=0)
    return w[0] * torch.relu(asked[:N]) + w[1] * left + w[2] * right


@pytest.mark.parametrize("lengths", LENGTHS)
def test_top_nodes_and_gradients_are_those_of_the_plain_loop(lengths):
    packing, ours, theirs = packing_of(lengths), leaves(lengths), leaves(lengths)
    actual, _ = composed(ours, packing)
    expected = plain(theirs, packing)
    torch.testing.assert_close(actual, expected)
    weights = torch.randn_like(actual)
    (actual * weights).sum().backward()
    (expected * weights).sum().backward()
    for mine, other in zip(ours, theirs, strict=True):
        grad = torch.zeros_like(other) if other.grad is None else other.grad
        torch.testing.assert_close(mine.grad, grad)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_gradients_equal_finite_differences(lengths):
    packing = packing_of(lengths)
    assert torch.autograd.gradcheck(lambda *a: composed(a, packing)[0], leaves(lengths))


def test_only_the_papers_nodes_are_computed():
    packing = packing_of([5, 3, 3, 1])
    assert level_sizes(packing) == [12, 8, 5, 2, 1]
    _, coefficients = composed(leaves([5, 3, 3, 1]), packing)
    assert len(coefficients) == sum(length * (length - 1) // 2 for length in (5, 3, 3, 1))
    torch.testing.assert_close(coefficients.sum(1), torch.ones(16, dtype=torch.float64))
    assert not coefficients.requires_grad


def test_errors_under_autocast_are_within_bfloat16_rounding():
    packing = packing_of([5, 3, 3, 1])
    h, W, b = (leaf.detach().float().requires_grad_() for leaf in leaves([5, 3, 3, 1]))
    expected, _ = compose(h, W, b, packing)
    with torch.autocast("cpu", torch.bfloat16):
        actual, _ = compose(h, W, b, packing)
    assert actual.dtype == torch.float32
    assert 0 < (actual - expected).abs().max() < 0.1
    actual.sum().backward()  # outside of autocast, as in training
    assert W.grad is not None and W.grad.dtype == torch.float32
    (exact,) = torch.autograd.grad(compose(h, W, b, packing)[0].sum(), W)
    assert 1e-3 < (W.grad - exact).abs().max() / exact.abs().max() < 0.1
    assert (W.grad.bfloat16().float() == W.grad).all()  # computed as a product in bfloat16
