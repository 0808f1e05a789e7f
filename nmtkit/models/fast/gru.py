"""The recurrent loops of the papers' gated unit, each with a backward pass of its own.

Automatic differentiation would keep every step's intermediate results and make a gradient of
every weight matrix at every step, to be added up. Here the loop keeps the gates alone, and the
gradient of a weight matrix is one product over all positions and sentences together.
What does not depend on the recurrent state stays outside: the caller hands in the inputs
already multiplied by their matrices. Positions are packed (`packing.py`): a sentence that is over
has left the loop, so that nothing is computed on padding.

The unit (Cho et al. 2014, section 2.3; Bahdanau et al. 2015, A.1.1), z meaning "replace":

    z = sigmoid(x_z + h U_z),  r = sigmoid(x_r + h U_r),  c = tanh(x_c + (r * h) U)
    h' = (1 - z) * h + z * c

Inputs, gates and their gradients lie side by side as [z | r | c], 3n wide.

Under `torch.autocast` the products are those of its type (bfloat16), their results rounded to it;
states, gates, alignments and everything else that is carried along stay in the inputs' type.
"""

from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.fast.int8 import Int8Matrices, Matrix, linear
from nmtkit.models.fast.matmul import Prepacked, matmul_dtype, matmul_transposed
from nmtkit.models.packing import Packing

Recurrent: TypeAlias = Prepacked | Int8Matrices


def gru_step(x: Tensor, h: Tensor, U: Matrix) -> Tensor:
    """One step of the unit, differentiated by autograd; used in search.

    :param x: inputs [z | r | c], h [U_z | U_r] already added to the first two. Shape: [..., 3n].
    :param h: the state. Shape: [..., n].
    :param U: the candidate's recurrent matrix. Shape: [n, n].
    """
    size = h.size(-1)
    z, r = torch.sigmoid(x[..., : 2 * size]).chunk(2, dim=-1)
    candidate = linear(r * h, U, x[..., 2 * size :])
    return torch.lerp(h, _tanh(candidate), z)


def gru_scan(x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor, packing: Packing) -> Tensor:
    """Run D independent gated units over the positions of a batch.

    :param x: inputs [z | r | c]. Shape: [D, N, 3n].
    :param h_0: states before the first position, in packed order. Shape: [D, B, n].
    :param U_zr: [U_z | U_r] of each unit. Shape: [D, n, 2n].
    :param U: the candidate's matrix of each unit. Shape: [D, n, n].
    :return: the state after each position. Shape: [D, N, n].
    """
    return _GatedScan.apply(x.to(U.dtype), h_0.to(U.dtype), U_zr, U, packing)  # type: ignore[no-any-return,no-untyped-call]


@torch.no_grad()
def gru_scan_inference(
    x: Tensor, h_0: Tensor, U_zr: Recurrent, U: Recurrent, packing: Packing
) -> Tensor:
    """`gru_scan` with matrices that were made ready: no gradient, nothing kept for one."""
    n, sizes = h_0.size(-1), packing.sizes
    x_zr, x_c = _by_step(x, sizes, 2 * n, n)
    states = x.new_empty(*x.shape[:2], n)
    after = torch.split(states, sizes, dim=1)
    h = h_0
    for t, size in enumerate(sizes):
        h = h[:, :size]
        z, r = U_zr.addmm(x_zr[t], h).sigmoid_().chunk(2, dim=-1)
        h = torch.lerp(h, _tanh(U.addmm(x_c[t], r * h)), z, out=after[t])
    return states


def attention_scan(
    x: Tensor,
    s_0: Tensor,
    memory: tuple[Tensor, Tensor, Tensor],
    weights: tuple[Tensor, Tensor, Tensor],
    packing: Packing,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run RNNsearch's decoder over the target positions (Bahdanau et al. 2015, A.1.1, A.1.2):

        e_ij = v_a . tanh(s_{i-1} W_a + keys_j),  alpha_i = softmax_j(e_ij)
        s_i = unit(x_i + sum_j alpha_ij values_j, s_{i-1})

    The sentences are those with the longest target first, as they are packed.

    :param x: inputs [z | r | c]. Shape: [N, 3n].
    :param s_0: Shape: [B, n].
    :param memory: `keys` U_a h_j [B, T_x, n'], `values` C h_j [B, T_x, 3n], and the source mask
        [B, T_x], True at real positions.
    :param weights: [W_a | U_z | U_r] [n, n' + 2n], U [n, n], v_a [n'].
    :return: s_{i-1} and s_i of each position [N, n], its alignment [N, T_x].
    """
    carried = (values.to(weights[0].dtype) for values in (x, s_0, *memory[:2]))
    return _AttentionScan.apply(*carried, memory[2], *weights, packing)  # type: ignore[no-any-return,no-untyped-call]


def _tanh(x: Tensor) -> Tensor:
    """tanh(x); torch's own takes several times as long on a processor."""
    return 2 * torch.sigmoid(2 * x) - 1


class _GatedScan(Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor, packing: Packing
    ) -> Tensor:
        kind = matmul_dtype(x)
        U_zr, U = U_zr.to(kind), U.to(kind)
        by_U_zr, by_U = Prepacked(U_zr), Prepacked(U)
        n, sizes = h_0.size(-1), packing.sizes
        states, gates = x.new_empty(*x.shape[:2], n), torch.empty_like(x)
        x_zr, x_c = _by_step(x, sizes, 2 * n, n)
        zr, c = _by_step(gates, sizes, 2 * n, n)
        z, r, _ = _by_step(gates, sizes, n, n, n)
        after = torch.split(states, sizes, dim=1)
        h = h_0
        with torch.autocast(x.device.type, enabled=False):
            for t, size in enumerate(sizes):
                h = h[:, :size]
                by_U_zr.addmm(x_zr[t], h, out=zr[t]).sigmoid_()
                by_U.addmm(x_c[t], r[t] * h, out=c[t]).tanh_()
                h = torch.lerp(h, c[t], z[t], out=after[t])
        ctx.packing = packing
        ctx.save_for_backward(states, gates, h_0, U_zr, U)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        states, gates, h_0, U_zr, U = ctx.saved_tensors
        kind, n, sizes = U.dtype, h_0.size(-1), ctx.packing.sizes
        h = ctx.packing.before(h_0, states)
        factors = [torch.split(factor, sizes, dim=1) for factor in _gate_factors(h, gates)]
        grads = torch.empty_like(gates)  # of x, and so of every gate's input
        by_gate, (zr, _) = _by_step(grads, sizes, n, n, n), _by_step(grads, sizes, 2 * n, n)
        r, arriving = _by_step(gates, sizes, n, n, n)[1], torch.split(grad, sizes, dim=1)
        carried = torch.zeros_like(h_0)
        by_U_zr_t, by_U_t = Prepacked(U_zr.transpose(1, 2)), Prepacked(U.transpose(1, 2))
        for t in reversed(range(len(sizes))):
            here = carried[:, : sizes[t]]
            here += arriving[t]
            reset_grad = _gate_grads(here, factors, by_gate, by_U_t, t)
            here *= factors[3][t]
            here.addcmul_(reset_grad, r[t])
            by_U_zr_t.addmm(here, zr[t], out=here)
        reset = gates[..., n : 2 * n] * h
        low = grads.to(kind)
        grad_U_zr = matmul_transposed(h.to(kind), low[..., : 2 * n])
        grad_U = matmul_transposed(reset.to(kind), low[..., 2 * n :])
        return grads, carried, grad_U_zr.to(h.dtype), grad_U.to(h.dtype), None


class _AttentionScan(Function):
    """Energies are computed as 2 v_a . sigmoid(2 keys + 2 query): tanh(a) = 2 sigmoid(2a) - 1, the
    sum of v_a that is left out is the same for all j and cancels in the softmax, and on a
    processor sigmoid takes a fifth of the time of tanh. (Its part of the gradient of v_a is 0 too,
    as the gradients of a softmax's inputs sum to 0.) The sigmoids are not kept for the backward
    pass but computed again: that is as fast as reading them back from memory, and N T_x n' numbers
    are the one thing here that would not fit for long sentences."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        s_0: Tensor,
        keys: Tensor,
        values: Tensor,
        src_mask: Tensor,
        W_query: Tensor,
        U: Tensor,
        v_a: Tensor,
        packing: Packing,
    ) -> tuple[Tensor, Tensor, Tensor]:
        kind = matmul_dtype(x)
        W_query, U = W_query.to(kind), U.to(kind)
        by_W_query, by_U = Prepacked(W_query), Prepacked(U)
        n, align, sizes = s_0.size(-1), v_a.size(0), packing.sizes
        after, gates = x.new_empty(x.size(0), n), torch.empty_like(x)
        queries = x.new_empty(x.size(0), align)
        alignment = x.new_empty(x.size(0), keys.size(1))
        keys, padding, weights = 2 * keys, ~src_mask, 2 * v_a
        scratch = torch.empty_like(keys)
        (zr, c), (z, r, _) = _by_step(gates, sizes, 2 * n, n), _by_step(gates, sizes, n, n, n)
        inputs, query, alpha, following = (
            torch.split(tensor, sizes) for tensor in (x.unsqueeze(1), queries, alignment, after)
        )
        s = s_0
        with torch.autocast(x.device.type, enabled=False):
            for t, size in enumerate(sizes):
                s = s[:size]
                asked, asked_zr = torch.split(by_W_query.matmul(s), [align, 2 * n], dim=1)
                query[t].copy_(asked)
                bent = _bent(keys, query[t], scratch)
                energies = (bent @ weights).masked_fill_(padding[:size], -torch.inf)
                torch.softmax(energies, dim=1, out=alpha[t])  # [size, T_x]
                g = torch.baddbmm(inputs[t], alpha[t].unsqueeze(1), values[:size]).squeeze(1)
                g_zr, g_c = torch.split(g, [2 * n, n], dim=1)
                torch.sigmoid(g_zr + asked_zr, out=zr[t])
                by_U.addmm(g_c, r[t] * s, out=c[t]).tanh_()
                s = torch.lerp(s, c[t], z[t], out=following[t])
        before = packing.before(s_0, after)
        ctx.packing = packing
        ctx.save_for_backward(before, gates, queries, alignment, keys, values, W_query, U, v_a)
        ctx.set_materialize_grads(False)
        return before, after, alignment

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        grad_before: Tensor | None,
        grad_after: Tensor | None,
        grad_alignment: Tensor | None,
    ) -> tuple[Tensor | None, ...]:
        s, gates, queries, alignment, keys, values, W_query, U, v_a = ctx.saved_tensors
        kind, n, align, sizes = U.dtype, s.size(-1), v_a.size(0), ctx.packing.sizes
        factors = [torch.split(factor, sizes) for factor in _gate_factors(s, gates)]
        # Gradients of the query s W_a and of [z | r | c]. [N, n' + 3n]
        grads = s.new_empty(s.size(0), align + 3 * n)
        d_query, *by_gate = _by_step(grads, sizes, align, n, n, n)
        (d_asked, _), (_, d_x) = (
            _by_step(grads, sizes, align + 2 * n, n),
            _by_step(grads, sizes, align, 3 * n),
        )
        r, query, alpha = (
            torch.split(tensor, sizes) for tensor in (gates[:, n : 2 * n], queries, alignment)
        )
        d_before, d_after, d_alignment = (
            None if given is None else torch.split(given, sizes)
            for given in (grad_before, grad_after, grad_alignment)
        )
        grad_keys = torch.zeros_like(keys)  # still to be multiplied by 4 v_a
        grad_v = torch.zeros_like(keys[:, 0])
        carried = s.new_zeros(keys.size(0), n)
        scratch = torch.empty_like(keys)
        by_W_query_t, by_U_t = Prepacked(W_query.t()), Prepacked(U.t())
        values_t, scale = values.transpose(1, 2), 4 * v_a
        for t in reversed(range(len(sizes))):
            live = slice(sizes[t])
            here = carried[live]
            if d_after is not None:
                here += d_after[t]
            reset_grad = _gate_grads(here, factors, by_gate, by_U_t, t)
            d_alpha = torch.bmm(d_x[t].unsqueeze(1), values_t[live]).squeeze(1)
            if d_alignment is not None:
                d_alpha += d_alignment[t]
            mean = (alpha[t] * d_alpha).sum(1, keepdim=True)
            d_energies = d_alpha.sub_(mean).mul_(alpha[t])
            bent = _bent(keys, query[t], scratch)
            grad_v[live] += torch.bmm(d_energies.unsqueeze(1), bent).squeeze(1)
            slope = torch.ops.aten.sigmoid_backward.grad_input(
                d_energies.unsqueeze(2), bent, grad_input=bent
            )
            grad_keys[live] += slope
            torch.mul(slope.sum(1), scale, out=d_query[t])
            here *= factors[3][t]
            here.addcmul_(reset_grad, r[t])
            by_W_query_t.addmm(here, d_asked[t], out=here)
            if d_before is not None:
                here += d_before[t]
        grad_x, reset, low = grads[:, align:], gates[:, n : 2 * n] * s, grads.to(kind)
        by_source = ctx.packing.pad(alignment).transpose(1, 2)  # [B, T_x, T_y]
        return (
            grad_x,
            carried,
            grad_keys.mul_(scale),
            by_source @ ctx.packing.pad(grad_x),
            None,
            matmul_transposed(s.to(kind), low[:, : align + 2 * n]).to(s.dtype),
            matmul_transposed(reset.to(kind), low[:, align + 2 * n :]).to(s.dtype),
            2 * grad_v.sum(0),
            None,
        )


def _by_step(values: Tensor, sizes: list[int], *widths: int) -> list[tuple[Tensor, ...]]:
    """The parts that lie side by side in [..., N, w], each as its steps' views."""
    return [torch.split(part, sizes, dim=-2) for part in torch.split(values, list(widths), dim=-1)]


def _bent(keys: Tensor, query: Tensor, scratch: Tensor) -> Tensor:
    """sigmoid(keys + 2 query) of as many sentences as have a query, in `scratch`. [., T_x, n']"""
    live = slice(query.size(0))
    return torch.add(keys[live], query.unsqueeze(1), alpha=2, out=scratch[live]).sigmoid_()


def _gate_factors(h: Tensor, gates: Tensor) -> list[Tensor]:
    """Factors of the gates' gradients that need no recurrence, for all positions at once.

    With z, r, c the gates: dz = dh * (c - h) z (1 - z), dr = d(rh) * h r (1 - r),
    dc = dh * z (1 - c^2); the fourth is 1 - z, with which dh passes by the unit.

    :return: of z, r and c, and 1 - z. Shape of each: [..., n].
    """
    z, r, c = gates.chunk(3, dim=-1)
    keep = 1 - z
    return [(c - h) * z * keep, h * r * (1 - r), z * (1 - c * c), keep]


def _gate_grads(
    d_h: Tensor,
    factors: list[tuple[Tensor, ...]],
    into: list[tuple[Tensor, ...]],
    by_U_t: Prepacked,
    t: int,
) -> Tensor:
    """Gradients of the gates' inputs at step t, written into `into` (z, r, c); returns d(r * h)."""
    torch.mul(d_h, factors[0][t], out=into[0][t])
    torch.mul(d_h, factors[2][t], out=into[2][t])
    d_reset = by_U_t.matmul(into[2][t])
    torch.mul(d_reset, factors[1][t], out=into[1][t])
    return d_reset
