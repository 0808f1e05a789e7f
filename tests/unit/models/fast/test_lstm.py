"""The LSTM's loop against plain autograd step by step, and finite differences."""

import pytest
import torch

from nmtkit.models.fast.lstm import lstm_scan, lstm_step
from tests.unit.models.fast.packings import packing_of

N = 3
LENGTHS = [[1], [3], [2, 2], [1, 4, 2], [5, 3, 3, 1]]


def leaves(lengths):
    torch.manual_seed(1)
    batch = len(lengths)
    shapes = [(sum(lengths), 4 * N), (batch, N), (batch, N), (N, 4 * N), (3, N)]
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def scan(leaves, packing, peepholes=True):
    x, h_0, c_0, U, p = leaves
    return lstm_scan(x, (h_0, c_0), U, p if peepholes else None, packing)


def plain(leaves, packing, peepholes=True):
    x, h, c, U, p = leaves
    result = []
    for start, end in packing.steps():
        h, c = h[: end - start], c[: end - start]
        h, c = lstm_step(x[start:end] + h @ U, c, p if peepholes else None)
        result.append((h, c))
    return tuple(torch.cat(values) for values in zip(*result, strict=True))


@pytest.mark.parametrize("peepholes", [True, False])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_states_and_gradients_are_those_of_the_plain_loop(lengths, peepholes):
    packing, ours, theirs = packing_of(lengths), leaves(lengths), leaves(lengths)
    actual = scan(ours, packing, peepholes)
    expected = plain(theirs, packing, peepholes)
    weights = torch.randn(2, *actual[0].shape, dtype=torch.float64)
    for mine, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(mine, other)
    (torch.stack(actual) * weights).sum().backward()
    (torch.stack(expected) * weights).sum().backward()
    for mine, other in zip(ours[: 4 + peepholes], theirs, strict=False):
        torch.testing.assert_close(mine.grad, other.grad)


@pytest.mark.parametrize("peepholes", [True, False])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_gradients_equal_finite_differences(lengths, peepholes):
    packing = packing_of(lengths)
    inputs = leaves(lengths)
    if not peepholes:
        inputs[4].requires_grad_(False)
    assert torch.autograd.gradcheck(lambda *a: scan(a, packing, peepholes), inputs)


def test_the_state_is_that_of_torchs_lstm():
    """Torch's LSTM has no peepholes, and its gates are in the order i, f, g, o."""
    torch.manual_seed(2)
    unit = torch.nn.LSTM(4, N, batch_first=True).double()
    i, f, g, o = (slice(k * N, (k + 1) * N) for k in range(4))
    order = [*range(*i.indices(99)), *range(*f.indices(99)), *range(*o.indices(99))]
    order += range(*g.indices(99))
    inputs = torch.randn(2, 5, 4, dtype=torch.float64)
    packing = packing_of([5, 5])
    parameters = dict(unit.named_parameters())
    W, U = (parameters[f"weight_{of}_l0"].t()[:, order] for of in ("ih", "hh"))
    b = (parameters["bias_ih_l0"] + parameters["bias_hh_l0"])[order]
    x = packing.pack(inputs @ W + b)
    nothing = torch.zeros(2, N, dtype=torch.float64)
    actual, _ = lstm_scan(x, (nothing, nothing), U, None, packing)
    torch.testing.assert_close(packing.pad(actual), unit(inputs)[0])


def test_errors_under_autocast_are_within_bfloat16_rounding():
    packing = packing_of([5, 3, 3, 1])
    inputs = [leaf.detach().float().requires_grad_() for leaf in leaves([5, 3, 3, 1])]
    expected, _ = scan(inputs, packing)
    with torch.autocast("cpu", torch.bfloat16):
        actual, _ = scan(inputs, packing)
    assert actual.dtype == torch.float32
    assert 0 < (actual - expected).abs().max() < 0.05
    actual.sum().backward()
    assert all(value.grad is not None and value.grad.dtype == torch.float32 for value in inputs)
