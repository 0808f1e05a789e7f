"""RNNsearch's alignment model and decoder loop; their equations are in `models/rnnsearch.py`.

Energies are computed as 2 v_a . sigmoid(2 keys + 2 query). As tanh(a) = 2 sigmoid(2a) - 1, this
omits a constant, the sum of v_a, which is the same for all j and cancels in the softmax. It adds
nothing to the gradient of v_a either, as the gradients of a softmax's inputs sum to 0. On a CPU
torch's sigmoid takes a fifth of the time of its tanh.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.fast.gru import gate_factors, gate_grads, split_steps
from nmtkit.models.fast.matmul import Prepacked, matmul_dtype, matmul_transposed
from nmtkit.models.fast.torch_private import sigmoid_slope_
from nmtkit.models.packing import Packing

CPU_CHUNK = 1 << 18
"""Sums of keys and queries held at a time on a CPU: 1 MB in float32, within its cache."""

DEVICE_CHUNK = 1 << 28
"""Sums of keys and queries held at a time on a GPU, which has memory but no such cache."""

MAX_SUMS = 1 << 26
"""Sums of one sentence held at a time: 256 MB in float32. Long lines with many hypotheses have more
than fit into memory."""


def attention(query: Tensor, keys: Tensor, v_a: Tensor, src_mask: Tensor) -> Tensor:
    """Compute the attention weights of several queries per sentence.

    :param query: W_a s_{i-1}. Shape: [B, k, n'].
    :param keys: U_a h_j. Shape: [B, T_x, n'].
    :param v_a: Shape: [n'].
    :param src_mask: True at real positions. Shape: [B, T_x].
    :return: alpha_i; rows sum to 1, exactly 0 at padding. Shape: [B, k, T_x].
    """
    return attention_of_doubled(2 * query, 2 * keys, 2 * v_a, src_mask)


def attention_of_doubled(query: Tensor, keys: Tensor, v_a: Tensor, src_mask: Tensor) -> Tensor:
    """Compute `attention` from twice the query, the keys and v_a, a few sentences at a time."""
    chunk = CPU_CHUNK if query.device.type == "cpu" else DEVICE_CHUNK
    step = max(1, chunk // (query[0].numel() * keys.size(1)))  # sentences at a time
    if step >= len(query):
        energies = _energies(query, keys, v_a)
    else:
        parts = zip(torch.split(query, step), torch.split(keys, step), strict=True)
        energies = torch.cat([_energies(*part, v_a) for part in parts])
    return torch.softmax(energies.masked_fill_(~src_mask.unsqueeze(1), -torch.inf), dim=-1)


def _energies(query: Tensor, keys: Tensor, v_a: Tensor) -> Tensor:
    """Return e_ij up to a constant; see the top of this file. Shape: [b, k, T_x]."""
    rows = max(1, MAX_SUMS // (keys.size(1) * keys.size(2)))  # hypotheses at a time
    if rows < query.size(1):
        return torch.cat(
            [_energies(part, keys, v_a) for part in torch.split(query, rows, dim=1)], dim=1
        )
    sums = query.unsqueeze(2) + keys.unsqueeze(1)  # [b, k, T_x, n']
    return sums.sigmoid_() @ v_a


def attention_scan(
    x: Tensor,
    s_0: Tensor,
    memory: tuple[Tensor, Tensor, Tensor],
    weights: tuple[Tensor, Tensor, Tensor],
    packing: Packing,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run RNNsearch's decoder over the target positions (Bahdanau et al. 2015, A.1.1, A.1.2).

        e_ij = v_a . tanh(s_{i-1} W_a + keys_j),  alpha_i = softmax_j(e_ij)
        s_i = gru(x_i + sum_j alpha_ij values_j, s_{i-1})

    Sentences are in packed order, longest target first.

    :param x: inputs [z | r | c]. Shape: [N, 3n].
    :param s_0: Shape: [B, n].
    :param memory: `keys` U_a h_j [B, T_x, n'], `values` C h_j [B, T_x, 3n], and the source mask
        [B, T_x], True at real positions.
    :param weights: [W_a | U_z | U_r] [n, n' + 2n], U [n, n], v_a [n'].
    :return: s_{i-1} and s_i of each position [N, n], its alignment [N, T_x].
    """
    inputs = (values.to(weights[0].dtype) for values in (x, s_0, *memory[:2]))
    return _AttentionScan.apply(*inputs, memory[2], *weights, packing)  # type: ignore[no-any-return,no-untyped-call]


class _AttentionScan(Function):
    """The decoder's loop with a hand-written backward pass.

    The backward pass recomputes the sigmoids: that is as fast as reading them from memory, and
    N T_x n' values would not fit for long sentences.
    """

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
        dtype = matmul_dtype(x)
        W_query, U = W_query.to(dtype), U.to(dtype)
        packed_W_query, packed_U = Prepacked(W_query), Prepacked(U)
        n, align, sizes = s_0.size(-1), v_a.size(0), packing.sizes
        after, gates = x.new_empty(x.size(0), n), torch.empty_like(x)
        queries = x.new_empty(x.size(0), align)
        alignment = x.new_empty(x.size(0), keys.size(1))
        keys, padding, weights = 2 * keys, ~src_mask, 2 * v_a
        scratch = torch.empty_like(keys)
        (zr, c), (z, r, _) = split_steps(gates, sizes, 2 * n, n), split_steps(gates, sizes, n, n, n)
        inputs, query, alpha, after_steps = (
            torch.split(tensor, sizes) for tensor in (x.unsqueeze(1), queries, alignment, after)
        )
        s = s_0
        with torch.autocast(x.device.type, enabled=False):
            for t, size in enumerate(sizes):
                s = s[:size]
                projected_query, state_gates = torch.split(
                    packed_W_query.matmul(s), [align, 2 * n], dim=1
                )
                query[t].copy_(projected_query)
                sigmoids = _sigmoids(keys, query[t], scratch)
                energies = (sigmoids @ weights).masked_fill_(padding[:size], -torch.inf)
                torch.softmax(energies, dim=1, out=alpha[t])  # [size, T_x]
                g = torch.baddbmm(inputs[t], alpha[t].unsqueeze(1), values[:size]).squeeze(1)
                g_zr, g_c = torch.split(g, [2 * n, n], dim=1)
                torch.sigmoid(g_zr + state_gates, out=zr[t])
                packed_U.addmm(g_c, r[t] * s, out=c[t]).tanh_()
                s = torch.lerp(s, c[t], z[t], out=after_steps[t])
        before = packing.previous_states(s_0, after)
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
        dtype, n, align, sizes = U.dtype, s.size(-1), v_a.size(0), ctx.packing.sizes
        factors = [torch.split(factor, sizes) for factor in gate_factors(s, gates)]
        # Gradients of the query s W_a and of [z | r | c]. [N, n' + 3n]
        grads = s.new_empty(s.size(0), align + 3 * n)
        d_query, *by_gate = split_steps(grads, sizes, align, n, n, n)
        (d_projected, _), (_, d_x) = (
            split_steps(grads, sizes, align + 2 * n, n),
            split_steps(grads, sizes, align, 3 * n),
        )
        r, query, alpha = (
            torch.split(tensor, sizes) for tensor in (gates[:, n : 2 * n], queries, alignment)
        )
        d_before, d_after, d_alignment = (
            None if grad is None else torch.split(grad, sizes)
            for grad in (grad_before, grad_after, grad_alignment)
        )
        grad_keys = torch.zeros_like(keys)  # still to be multiplied by 4 v_a
        grad_v = torch.zeros_like(keys[:, 0])
        d_state = s.new_zeros(keys.size(0), n)
        scratch = torch.empty_like(keys)
        packed_W_query_t, packed_U_t = Prepacked(W_query.t()), Prepacked(U.t())
        values_t, scale = values.transpose(1, 2), 4 * v_a
        for t in reversed(range(len(sizes))):
            rows = slice(sizes[t])
            d_s = d_state[rows]
            if d_after is not None:
                d_s += d_after[t]
            reset_grad = gate_grads(d_s, factors, by_gate, packed_U_t, t)
            d_alpha = torch.bmm(d_x[t].unsqueeze(1), values_t[rows]).squeeze(1)
            if d_alignment is not None:
                d_alpha += d_alignment[t]
            mean = (alpha[t] * d_alpha).sum(1, keepdim=True)
            d_energies = d_alpha.sub_(mean).mul_(alpha[t])
            sigmoids = _sigmoids(keys, query[t], scratch)
            grad_v[rows] += torch.bmm(d_energies.unsqueeze(1), sigmoids).squeeze(1)
            slope = sigmoid_slope_(d_energies.unsqueeze(2), sigmoids)
            grad_keys[rows] += slope
            torch.mul(slope.sum(1), scale, out=d_query[t])
            d_s *= factors[3][t]
            d_s.addcmul_(reset_grad, r[t])
            packed_W_query_t.addmm(d_s, d_projected[t], out=d_s)
            if d_before is not None:
                d_s += d_before[t]
        grad_x, reset = grads[:, align:], gates[:, n : 2 * n] * s
        by_source = ctx.packing.pad(alignment).transpose(1, 2)  # [B, T_x, T_y]
        return (
            grad_x,
            d_state,
            grad_keys.mul_(scale),
            by_source @ ctx.packing.pad(grad_x),
            None,
            matmul_transposed(s, grads[:, : align + 2 * n], dtype).to(s.dtype),
            matmul_transposed(reset, grads[:, align + 2 * n :], dtype).to(s.dtype),
            2 * grad_v.sum(0),
            None,
        )


def _sigmoids(keys: Tensor, query: Tensor, scratch: Tensor) -> Tensor:
    """Compute sigmoid(keys + 2 query) in `scratch`, for the first b sentences.

    :param keys: 2 U_a h_j. Shape: [B, T_x, n'].
    :param query: W_a s_{i-1}. Shape: [b, n'].
    :return: Shape: [b, T_x, n'].
    """
    rows = slice(query.size(0))
    return torch.add(keys[rows], query.unsqueeze(1), alpha=2, out=scratch[rows]).sigmoid_()
