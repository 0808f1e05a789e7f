"""Softmax over words, maxout, dropout and random orthogonal matrices."""

import pytest
import torch
from torch.nn import functional

from nmtkit.models.fast import matmul, softmax
from nmtkit.models.layers import (
    dropout,
    masked_softmax,
    maxout,
    orthogonal,
    softmax_cost,
    target_log_probs,
)

SMOOTHING = [0.0, 0.1, 0.9]


def words(rows, size=7, width=4, seed=0):
    """Return [hidden, W, bias] and targets."""
    torch.manual_seed(seed)
    inputs = [
        torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        for shape in ((rows, width), (size, width), (size,))
    ]
    return inputs, torch.randint(0, size, (rows,))


def cost_of(inputs, targets, smoothing):
    hidden, W, bias = inputs
    return softmax_cost(hidden, W, bias, targets, smoothing)


def expected_cost(inputs, targets, smoothing):
    hidden, W, bias = inputs
    return cross_entropy(hidden, W, bias, targets, smoothing)


def cross_entropy(hidden, W, bias, targets, smoothing=0.0):
    logits = hidden @ W.t() + bias
    return functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)


@pytest.fixture(params=[1, 2, 64], ids=lambda chunk: f"rows {chunk}")
def chunk(request, monkeypatch):
    """Set the number of rows of logits computed at a time."""
    monkeypatch.setattr(softmax, "_chunk_size", lambda W: request.param)


@pytest.mark.parametrize(
    ("words", "width", "rows"),
    [(10_000, 128, 192), (10_000, 500, 512), (80_000, 620, 64), (30_000, 256, 256), (7, 4, 64)],
)
def test_chunks_of_logits_are_small_and_need_no_copies(words, width, rows):
    actual = softmax._chunk_size(torch.empty(words, width, device="meta"))
    assert actual == rows and actual % matmul.LARGE_ROW_MULTIPLE == 0
    assert actual * words <= softmax.MAX_LOGITS or actual == matmul.LARGE_ROW_MULTIPLE


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("rows", [1, 5, 6])
def test_softmax_cost_and_gradients_equal_torchs(chunk, rows, smoothing):
    inputs, targets = words(rows)
    actual = cost_of(inputs, targets, smoothing)
    expected = expected_cost(inputs, targets, smoothing)
    torch.testing.assert_close(actual, expected)
    ours, theirs = (torch.autograd.grad(3 * cost, inputs) for cost in (actual, expected))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_softmax_cost_gradcheck(chunk, smoothing):
    inputs, targets = words(3)
    assert torch.autograd.gradcheck(lambda *i: cost_of(i, targets, smoothing), inputs)


@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_softmax_cost_of_nothing_is_0(chunk, smoothing):
    inputs, targets = words(0)
    cost = cost_of(inputs, targets, smoothing)
    assert cost.item() == 0
    for gradient, value in zip(torch.autograd.grad(cost, inputs), inputs, strict=True):
        assert torch.equal(gradient, torch.zeros_like(value))


@pytest.mark.parametrize("argument", range(3))
def test_softmax_cost_gives_the_gradient_of_any_one_argument(argument):
    inputs, targets = words(4)
    inputs = [value.detach() for value in inputs]
    inputs[argument].requires_grad_()
    actual, expected = cost_of(inputs, targets, 0.1), expected_cost(inputs, targets, 0.1)
    ours, theirs = (torch.autograd.grad(cost, inputs[argument]) for cost in (actual, expected))
    torch.testing.assert_close(ours, theirs)


def test_softmax_cost_without_gradients(chunk):
    inputs, targets = words(5)
    expected = cost_of(inputs, targets, 0.1)
    with torch.no_grad():
        assert torch.equal(cost_of(inputs, targets, 0.1), expected)


def test_softmax_cost_survives_logits_beyond_exp():
    (hidden, W, bias), targets = words(3)
    with torch.no_grad():
        W.mul_(1e4)
    actual = softmax_cost(hidden, W, bias, targets)
    expected = cross_entropy(hidden, W, bias, targets)
    assert actual.isfinite() and actual.item() > 1000
    torch.testing.assert_close(actual, expected)
    assert torch.autograd.grad(actual, W)[0].isfinite().all()


def test_softmax_cost_does_not_change_its_inputs():
    inputs, targets = words(3)
    copies = [value.detach().clone() for value in inputs]
    cost_of(inputs, targets, 0.1).backward()
    assert all(torch.equal(value, copy) for value, copy in zip(inputs, copies, strict=True))


@pytest.mark.parametrize("rows", [0, 1, 6])
def test_target_log_probs_equal_torchs(chunk, rows):
    (hidden, W, bias), targets = words(rows)
    expected = torch.log_softmax(hidden @ W.t() + bias, 1)[torch.arange(rows), targets]
    actual = target_log_probs(hidden, W, bias, targets)
    torch.testing.assert_close(actual, expected.detach())
    assert not actual.requires_grad and actual.dtype == torch.float64


def test_masked_softmax_is_the_softmax_of_unmasked_positions():
    energies = torch.randn(2, 3, 5, dtype=torch.float64)
    mask = torch.tensor([[True, False, True, True, False], [True] * 5]).unsqueeze(1)
    actual = masked_softmax(energies, mask)
    torch.testing.assert_close(actual[1], energies[1].softmax(-1))
    kept = torch.tensor([0, 2, 3])
    torch.testing.assert_close(actual[0][:, kept], energies[0][:, kept].softmax(-1))
    assert (actual[0][:, [1, 4]] == 0).all()


def test_maxout_takes_the_larger_of_two_neighbours():
    values = torch.tensor([[1.0, 2.0, -3.0, -4.0, 5.0, 5.0], [0.0, -1.0, 7.0, 8.0, -9.0, 9.0]])
    assert maxout(values).tolist() == [[2, -3, 5], [0, 8, 9]]
    assert maxout(torch.randn(2, 3, 8)).shape == (2, 3, 4)


@pytest.mark.parametrize("shape", [(5, 5), (3, 6, 6), (1, 1)])
def test_orthogonal_matrices_are_orthogonal(shape):
    torch.manual_seed(0)
    matrices = orthogonal(*shape)
    assert matrices.shape == shape
    product = matrices @ matrices.transpose(-1, -2)
    torch.testing.assert_close(product, torch.eye(shape[-1]).expand(shape), atol=1e-5, rtol=0)
    assert not torch.equal(orthogonal(*shape), matrices) or shape == (1, 1)


def test_dropout_with_share_0_is_the_identity():
    values = torch.randn(3, 4)
    assert dropout(values, 0.0) is values


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_dropout_meets_its_share_and_keeps_the_expectation(share):
    torch.manual_seed(8)
    count = 200_000
    dropped = dropout(torch.ones(count, dtype=torch.float64), share)
    actual = float((dropped == 0).double().mean())
    assert abs(actual - share) < 4 * (share * (1 - share) / count) ** 0.5 + 1 / 65536
    assert set(dropped.unique().tolist()) <= {0.0, 1 / (1 - share)}
    assert abs(float(dropped.mean()) - 1) < 0.05


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 127])
def test_dropout_works_on_any_number_of_values(count):
    values = torch.arange(1.0, count + 1)
    dropped = dropout(values, 0.5)
    assert dropped.shape == values.shape and dropped.dtype == values.dtype
    assert all(d in (0, 2 * v) for d, v in zip(dropped.tolist(), values.tolist(), strict=True))


def test_dropout_decides_on_neighbours_independently():
    torch.manual_seed(3)
    kept = (dropout(torch.ones(40_000, 4), 0.5) != 0).double()
    correlations = torch.corrcoef(kept.t()) - torch.eye(4)
    assert correlations.abs().max() < 0.02


def test_dropout_is_decided_by_the_seed_and_differs_from_call_to_call():
    values = torch.ones(50, 20)
    torch.manual_seed(1)
    first, second = dropout(values, 0.3), dropout(values, 0.3)
    torch.manual_seed(1)
    assert torch.equal(dropout(values, 0.3), first)
    assert not torch.equal(first, second)


def test_the_gradient_of_dropout_passes_where_values_passed():
    values = torch.ones(1000, requires_grad=True)
    dropped = dropout(values, 0.4)
    (gradient,) = torch.autograd.grad(dropped.sum(), values)
    torch.testing.assert_close(gradient, dropped.detach())
