"""Hand-written backward passes against the plain loop and finite differences."""

import pytest
import torch

from nmtkit.models.fast.attention import attention_scan
from nmtkit.models.fast.gru import gru_scan, gru_scan_inference, gru_step
from nmtkit.models.fast.int8 import Int8Matrices
from nmtkit.models.fast.matmul import Prepacked
from nmtkit.models.layers import masked_softmax
from tests.unit.models.fast.packings import packing_of

T_X = 4
N, ALIGN = 3, 5
LENGTHS = [[1], [3], [2, 2], [1, 4, 2], [5, 3, 3, 1]]


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def by_sentence(packing, batch):
    """Return the packed rows of each sentence, in packed order."""
    rows: list[list[int]] = [[] for _ in range(batch)]
    for start, end in packing.steps():
        for sentence, row in enumerate(range(start, end)):
            rows[sentence].append(row)
    return rows


def scan(arguments, packing):
    x, h_0, U_zr, U = arguments
    return gru_scan(x, h_0, U_zr, U, packing)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(
    ("ready", "least", "most"), [(Prepacked, 0.0, 1e-5), (Int8Matrices, 1e-6, 0.05)]
)
def test_gru_scan_inference_is_close_to_gru_scan(lengths, ready, least, most):
    packing, batch = packing_of(lengths), len(lengths)
    x, h_0 = torch.randn(2, sum(lengths), 3 * N), torch.randn(2, batch, N)
    U_zr, U = torch.randn(2, N, 2 * N), torch.randn(2, N, N)
    actual = gru_scan_inference(x, h_0, ready(U_zr), ready(U), packing)
    error = (actual - gru_scan(x, h_0, U_zr, U, packing)).abs()
    assert least <= error.max() < most


def with_gates(x, gates):
    return torch.cat([x[..., : 2 * N] + gates, x[..., 2 * N :]], -1)


def plain_gated_scan(arguments, packing):
    x, h_0, U_zr, U = arguments
    result = {}
    for unit in range(len(U)):
        for sentence, rows in enumerate(by_sentence(packing, h_0.size(1))):
            h = h_0[unit, sentence]
            for row in rows:
                h = gru_step(with_gates(x[unit, row], h @ U_zr[unit]), h, U[unit])
                result[unit, row] = h
    return torch.stack(
        [torch.stack([result[unit, row] for row in range(x.size(1))]) for unit in range(len(U))]
    )


def plain_attention_scan(x, s_0, memory, weights, packing):
    keys, values, mask = memory
    W_query, U, v_a = weights
    result = {}
    for sentence, rows in enumerate(by_sentence(packing, s_0.size(0))):
        s = s_0[sentence]
        for row in rows:
            energies = torch.tanh(s @ W_query[:, :ALIGN] + keys[sentence]) @ v_a
            alpha = masked_softmax(energies, mask[sentence])
            inputs = x[row] + alpha @ values[sentence]
            after = gru_step(with_gates(inputs, s @ W_query[:, ALIGN:]), s, U)
            result[row] = (s, after, alpha)
            s = after
    return tuple(torch.stack([result[row][i] for row in range(len(x))]) for i in range(3))


def gated_arguments(lengths, units):
    torch.manual_seed(len(lengths) + 10 * units)
    x, h_0 = leaf(units, sum(lengths), 3 * N), leaf(units, len(lengths), N)
    return [x, h_0, leaf(units, N, 2 * N), leaf(units, N, N)]


def attention_arguments(lengths, padded=True):
    lengths = sorted(lengths, reverse=True)  # the order that the scan needs
    torch.manual_seed(len(lengths))
    batch = len(lengths)
    mask = torch.ones(batch, T_X, dtype=torch.bool)
    if padded:
        for row in range(batch):
            mask[row, T_X - row % T_X :] = row % T_X == 0
    memory = (leaf(batch, T_X, ALIGN), leaf(batch, T_X, 3 * N), mask)
    weights = (leaf(N, ALIGN + 2 * N), leaf(N, N), leaf(ALIGN))
    return leaf(sum(lengths), 3 * N), leaf(batch, N), memory, weights, packing_of(lengths)


def flat(x, s_0, memory, weights, _):
    return [x, s_0, memory[0], memory[1], *weights]


def test_gru_step_computes_the_units_equations():
    torch.manual_seed(0)
    x, h = torch.randn(2, 3 * N).double(), torch.randn(2, N).double()
    U_z, U_r, U = (torch.randn(N, N).double() for _ in range(3))
    z = torch.sigmoid(x[:, :N] + h @ U_z)
    r = torch.sigmoid(x[:, N : 2 * N] + h @ U_r)
    candidate = torch.tanh(x[:, 2 * N :] + (r * h) @ U)
    actual = gru_step(with_gates(x, h @ torch.cat([U_z, U_r], 1)), h, U)
    torch.testing.assert_close(actual, (1 - z) * h + z * candidate)


@pytest.mark.parametrize("units", [1, 2, 3])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_gru_scan_is_repeated_gru_step(lengths, units):
    arguments, packing = gated_arguments(lengths, units), packing_of(lengths)
    actual, expected = scan(arguments, packing), plain_gated_scan(arguments, packing)
    torch.testing.assert_close(actual, expected)
    weights = torch.randn_like(expected)
    ours = torch.autograd.grad((actual * weights).sum(), arguments)
    theirs = torch.autograd.grad((expected * weights).sum(), arguments)
    torch.testing.assert_close(ours, theirs)


def test_gru_scan_gradcheck():
    packing = packing_of([2, 4, 1])
    assert torch.autograd.gradcheck(
        lambda *arguments: scan(arguments, packing), tuple(gated_arguments([2, 4, 1], 2))
    )


@pytest.mark.parametrize("argument", range(4))
def test_gru_scan_gives_the_gradient_of_any_one_argument(argument):
    packing = packing_of([3, 1])
    arguments = [a.detach().clone() for a in gated_arguments([3, 1], 2)]
    arguments[argument].requires_grad_()
    assert torch.autograd.gradcheck(lambda *a: scan(a, packing), tuple(arguments))


def test_gru_scan_without_gradients_gives_the_same():
    arguments, packing = gated_arguments([5, 4, 2], 2), packing_of([5, 4, 2])
    plain = scan([a.detach() for a in arguments], packing)
    assert torch.equal(plain, scan(arguments, packing))


def test_a_changed_output_does_not_give_a_wrong_gradient():
    arguments, packing = gated_arguments([3, 2], 2), packing_of([3, 2])
    states = scan(arguments, packing)
    with torch.no_grad():
        states.fill_(7.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(states.sum(), arguments)


def test_products_take_the_type_of_autocast_and_states_keep_theirs():
    packing = packing_of([6, 4])
    arguments = [a.detach().float().requires_grad_() for a in gated_arguments([6, 4], 2)]
    exact = scan(arguments, packing)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = scan(arguments, packing)
    assert rounded.dtype == torch.float32
    assert 0 < (exact - rounded).abs().max() < 0.05
    gradients = [torch.autograd.grad(states.sum(), arguments) for states in (exact, rounded)]
    for ours, theirs in zip(*gradients, strict=True):
        assert theirs.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, rtol=0.1, atol=0.1)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_attention_scan_is_the_plain_loop(lengths):
    arguments = attention_arguments(lengths)
    actual, expected = attention_scan(*arguments), plain_attention_scan(*arguments)
    torch.testing.assert_close(actual, expected)
    factors = [torch.randn_like(value) for value in expected]
    costs = [
        sum((value * factor).sum() for value, factor in zip(values, factors, strict=True))
        for values in (actual, expected)
    ]
    ours, theirs = (torch.autograd.grad(cost, flat(*arguments)) for cost in costs)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("output", [0, 1, 2], ids=["before", "after", "alignment"])
def test_attention_scan_gives_gradients_where_one_output_is_used(output):
    arguments = attention_arguments([4, 1, 3])
    costs = [
        (scan(*arguments)[output] ** 2).sum() for scan in (attention_scan, plain_attention_scan)
    ]
    ours, theirs = (
        torch.autograd.grad(cost, flat(*arguments), materialize_grads=True) for cost in costs
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("padded", [False, True])
def test_attention_scan_gradcheck(padded):
    x, s_0, (keys, values, mask), weights, packing = attention_arguments([1, 3, 2], padded)

    def attend(x, s_0, keys, values, *weights):
        return attention_scan(x, s_0, (keys, values, mask), weights, packing)

    assert torch.autograd.gradcheck(attend, (x, s_0, keys, values, *weights))


def test_attention_is_exactly_0_at_padding_and_gives_it_no_gradient():
    arguments = attention_arguments([4, 4, 4])
    keys, values, mask = arguments[2]
    _, after, alignment = attention_scan(*arguments)
    torch.testing.assert_close(alignment.sum(1), torch.ones(12).double())
    assert (alignment.view(4, 3, T_X).masked_select(~mask) == 0).all()
    gradients = torch.autograd.grad(after.sum() + alignment.square().sum(), [keys, values])
    for gradient in gradients:
        assert (~mask).any() and (gradient[~mask] == 0).all() and (gradient[mask] != 0).all()


def test_a_single_source_word_gets_all_the_weight():
    x, s_0, (keys, values, _), weights, packing = attention_arguments([3, 3])
    only = torch.tensor([[False, True, False, False]] * 2)
    alignment = attention_scan(x, s_0, (keys, values, only), weights, packing)[2]
    assert torch.equal(alignment, only[[0] * 6].double())


def test_attention_scan_under_autocast_is_close_to_the_exact_one():
    x, s_0, memory, weights, packing = attention_arguments([6, 4, 2])
    keys, values, mask = memory

    def attend(x, s_0, keys, values, *weights):
        return attention_scan(x, s_0, (keys, values, mask), weights, packing)

    leaves = [t.detach().float().requires_grad_() for t in (x, s_0, keys, values, *weights)]
    exact = attend(*leaves)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = attend(*leaves)
    for ours, theirs in zip(exact, rounded, strict=True):
        assert theirs.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, rtol=0.1, atol=0.05)
    for ours, theirs in zip(
        *(torch.autograd.grad(sum(o.sum() for o in s), leaves) for s in (exact, rounded)),
        strict=True,
    ):
        assert theirs.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, rtol=0.1, atol=0.2)
