"""The loops with a backward pass of their own, against the plain loop and finite differences."""

import pytest
import torch

from nmtkit.models.layers import masked_softmax
from nmtkit.models.scan import attention_scan, close_at_padding, gated_scan, gated_step

T_X = 4
N, ALIGN = 3, 5


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def plain_gated_scan(x, h_0, U_zr, U):
    units = []
    for unit in range(len(U)):
        h, states = h_0[unit], []
        for t in range(len(x)):
            h = gated_step(x[t, unit], h @ U_zr[unit], h, U[unit])
            states.append(h)
        units.append(torch.stack(states))
    return torch.stack(units, dim=1)


def plain_attention_scan(x, s_0, memory, weights):
    keys, values, mask = memory
    W_query, U, v_a = weights
    s, states, alignments = s_0, [s_0], []
    for t in range(len(x)):
        energies = torch.tanh((s @ W_query[:, 2 * N :]).unsqueeze(1) + keys) @ v_a
        alpha = masked_softmax(energies, mask)
        context = torch.einsum("bj,bjv->bv", alpha, values)
        s = gated_step(x[t] + context, s @ W_query[:, : 2 * N], s, U)
        states.append(s)
        alignments.append(alpha)
    return torch.stack(states), torch.stack(alignments)


def gated_arguments(steps, units, batch):
    torch.manual_seed(steps + 10 * batch)
    x, h_0 = leaf(steps, units, batch, 3 * N), leaf(units, batch, N)
    return x, h_0, leaf(units, N, 2 * N), leaf(units, N, N)


def attention_arguments(steps, batch, padded=True):
    torch.manual_seed(steps + 10 * batch)
    mask = torch.ones(batch, T_X, dtype=torch.bool)
    if padded:
        for row in range(batch):
            mask[row, T_X - row % T_X :] = row % T_X == 0
    memory = (leaf(batch, T_X, ALIGN), leaf(batch, T_X, 3 * N), mask)
    weights = (leaf(N, 2 * N + ALIGN), leaf(N, N), leaf(ALIGN))
    return leaf(steps, batch, 3 * N), leaf(batch, N), memory, weights


def flat(x, s_0, memory, weights):
    return [x, s_0, memory[0], memory[1], *weights]


def test_gated_step_is_the_units_equations():
    torch.manual_seed(0)
    x, h = torch.randn(2, 3 * N).double(), torch.randn(2, N).double()
    U_z, U_r, U = (torch.randn(N, N).double() for _ in range(3))
    z = torch.sigmoid(x[:, :N] + h @ U_z)
    r = torch.sigmoid(x[:, N : 2 * N] + h @ U_r)
    candidate = torch.tanh(x[:, 2 * N :] + (r * h) @ U)
    found = gated_step(x, h @ torch.cat([U_z, U_r], 1), h, U)
    torch.testing.assert_close(found, (1 - z) * h + z * candidate)


@pytest.mark.parametrize(("steps", "units", "batch"), [(1, 1, 1), (5, 2, 3), (4, 3, 1)])
def test_gated_scan_is_repeated_gated_step(steps, units, batch):
    arguments = gated_arguments(steps, units, batch)
    found, expected = gated_scan(*arguments), plain_gated_scan(*arguments)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(expected)
    ours = torch.autograd.grad((found * weights).sum(), arguments)
    theirs = torch.autograd.grad((expected * weights).sum(), arguments)
    torch.testing.assert_close(ours, theirs)


def test_gated_scan_gradcheck():
    assert torch.autograd.gradcheck(gated_scan, gated_arguments(4, 2, 3))


@pytest.mark.parametrize("wanted", range(4))
def test_gated_scan_gives_the_gradient_of_any_one_argument(wanted):
    arguments = [a.detach().clone() for a in gated_arguments(3, 2, 2)]
    arguments[wanted].requires_grad_()
    assert torch.autograd.gradcheck(gated_scan, tuple(arguments))


def test_gated_scan_without_gradients_gives_the_same():
    arguments = gated_arguments(5, 2, 3)
    with torch.no_grad():
        assert torch.equal(gated_scan(*arguments), gated_scan(*arguments).detach())
    assert torch.equal(gated_scan(*(a.detach() for a in arguments)), gated_scan(*arguments))


def test_a_changed_output_does_not_spoil_the_gradient():
    arguments = gated_arguments(3, 2, 2)
    expected = torch.autograd.grad(plain_gated_scan(*arguments).sum(), arguments)
    states = gated_scan(*arguments)
    with torch.no_grad():
        states.fill_(7.0)
    torch.testing.assert_close(torch.autograd.grad(states.sum(), arguments), expected)


def test_a_closed_unit_keeps_its_state_exactly():
    x, h_0, U_zr, U = gated_arguments(4, 2, 3)
    closed = close_at_padding(x, torch.zeros(4, 2, 3, dtype=torch.bool))
    states = gated_scan(closed, h_0, U_zr, U)
    assert all(torch.equal(state, h_0) for state in states)
    gradients = torch.autograd.grad(states.sum(), [x, U_zr, U])
    assert all((gradient == 0).all() for gradient in gradients)


def test_closing_leaves_real_positions_alone_and_passes_their_gradients():
    x = leaf(4, 2, 3 * N)
    mask = torch.tensor([[True, True], [True, False], [False, True], [False, False]])
    closed = close_at_padding(x, mask)
    assert torch.equal(closed[mask], x[mask])
    assert torch.equal(closed[..., N:], x[..., N:])
    (gradient,) = torch.autograd.grad(closed.sum(), x)
    assert (gradient[mask] == 1).all() and (gradient[~mask][:, :N] == 0).all()


def test_masked_positions_are_passed_over_in_float32_too():
    torch.manual_seed(1)
    x = torch.randn(6, 1, 1, 3 * N)
    h_0, U_zr, U = torch.zeros(1, 1, N), torch.randn(1, N, 2 * N), torch.randn(1, N, N)
    mask = torch.tensor([False, True, True, False, True, False]).view(6, 1, 1)
    found = gated_scan(close_at_padding(x, mask), h_0, U_zr, U)
    expected = gated_scan(x[mask.flatten()], h_0, U_zr, U)
    torch.testing.assert_close(found[[1, 2, 4]], expected)
    assert torch.equal(found[3], found[2]) and torch.equal(found[5], found[4])


@pytest.mark.parametrize(("steps", "batch"), [(1, 1), (5, 4), (3, 1)])
def test_attention_scan_is_the_plain_loop(steps, batch):
    arguments = attention_arguments(steps, batch)
    found, expected = attention_scan(*arguments), plain_attention_scan(*arguments)
    torch.testing.assert_close(found, expected)
    assert found[0].shape == (steps + 1, batch, N) and found[1].shape == (steps, batch, T_X)
    factors = [torch.randn_like(value) for value in expected]
    costs = [
        sum((value * factor).sum() for value, factor in zip(values, factors, strict=True))
        for values in (found, expected)
    ]
    ours, theirs = (torch.autograd.grad(cost, flat(*arguments)) for cost in costs)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("output", [0, 1], ids=["states", "alignment"])
def test_attention_scan_gives_gradients_where_one_output_is_used(output):
    arguments = attention_arguments(4, 3)
    costs = [
        (scan(*arguments)[output] ** 2).sum() for scan in (attention_scan, plain_attention_scan)
    ]
    ours, theirs = (
        torch.autograd.grad(cost, flat(*arguments), materialize_grads=True) for cost in costs
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("padded", [False, True])
def test_attention_scan_gradcheck(padded):
    x, s_0, (keys, values, mask), weights = attention_arguments(3, 3, padded)

    def scan(x, s_0, keys, values, *weights):
        return attention_scan(x, s_0, (keys, values, mask), weights)

    assert torch.autograd.gradcheck(scan, (x, s_0, keys, values, *weights))


def test_attention_is_exactly_0_at_padding_and_gives_it_no_gradient():
    arguments = attention_arguments(4, 3)
    keys, values, mask = arguments[2]
    states, alignment = attention_scan(*arguments)
    torch.testing.assert_close(alignment.sum(2), torch.ones(4, 3).double())
    assert (alignment.masked_select(~mask) == 0).all()
    gradients = torch.autograd.grad(states.sum() + alignment.square().sum(), [keys, values])
    for gradient in gradients:
        assert (~mask).any() and (gradient[~mask] == 0).all() and (gradient[mask] != 0).all()


def test_a_single_source_word_gets_all_the_weight():
    x, s_0, (keys, values, _), weights = attention_arguments(3, 2)
    only = torch.tensor([[False, True, False, False]] * 2)
    _, alignment = attention_scan(x, s_0, (keys, values, only), weights)
    assert torch.equal(alignment, only.double().expand(3, 2, T_X))
