"""The recurrent loops of the papers' gated unit, each with a backward pass of its own.

Automatic differentiation would keep every step's intermediate results and make a gradient of
every weight matrix at every step, to be added up. Here the loop keeps the gates alone, and the
gradient of a weight matrix is one product over all positions and sentences together.
What does not depend on the recurrent state stays outside: the caller hands in the inputs
already multiplied by their matrices.

The unit (Cho et al. 2014, section 2.3; Bahdanau et al. 2015, A.1.1), z meaning "replace":

    z = sigmoid(x_z + h U_z),  r = sigmoid(x_r + h U_r),  c = tanh(x_c + (r * h) U)
    h' = (1 - z) * h + z * c

Inputs, gates and their gradients lie side by side as [z | r | c], 3n wide. A position that is
padding has `CLOSED` in its x_z: the update gate is then exactly 0 and the state is kept.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

CLOSED = -1e4
"""An update gate's input for which sigmoid is exactly 0, value and derivative."""


def close_at_padding(x: Tensor, mask: Tensor) -> Tensor:
    """Let the unit keep its state where `mask` is False.

    :param x: inputs [z | r | c]. Shape: [..., 3n].
    :param mask: True at real positions. Shape: [...], as the leading axes of x.
    """
    size = x.size(-1) // 3
    z = x[..., :size].masked_fill(~mask.unsqueeze(-1), CLOSED)
    return torch.cat([z, x[..., size:]], dim=-1)


def gated_step(x: Tensor, x_zr: Tensor, h: Tensor, U: Tensor) -> Tensor:
    """One step of the unit, differentiated by autograd; used in search.

    :param x: inputs [z | r | c]. Shape: [..., 3n].
    :param x_zr: h [U_z | U_r], to be added to the first two thirds. Shape: [..., 2n].
    :param h: the state. Shape: [..., n].
    :param U: the candidate's recurrent matrix. Shape: [n, n].
    """
    size = h.size(-1)
    z, r = torch.sigmoid(x[..., : 2 * size] + x_zr).chunk(2, dim=-1)
    candidate = torch.tanh(x[..., 2 * size :] + (r * h) @ U)
    return torch.lerp(h, candidate, z)


def gated_scan(x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor) -> Tensor:
    """Run D independent gated units over T positions.

    :param x: inputs [z | r | c]. Shape: [T, D, B, 3n].
    :param h_0: states before the first position. Shape: [D, B, n].
    :param U_zr: [U_z | U_r] of each unit. Shape: [D, n, 2n].
    :param U: the candidate's matrix of each unit. Shape: [D, n, n].
    :return: the states h_1 ... h_T. Shape: [T, D, B, n].
    """
    return _GatedScan.apply(x, h_0, U_zr, U)  # type: ignore[no-any-return,no-untyped-call]


def attention_scan(
    x: Tensor, s_0: Tensor, memory: tuple[Tensor, Tensor, Tensor], weights: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor]:
    """Run RNNsearch's decoder over T_y positions (Bahdanau et al. 2015, A.1.1, A.1.2):

        e_ij = v_a . tanh(s_{i-1} W_a + keys_j),  alpha_i = softmax_j(e_ij)
        s_i = unit(x_i + sum_j alpha_ij values_j, s_{i-1})

    :param x: inputs [z | r | c]. Shape: [T_y, B, 3n].
    :param s_0: Shape: [B, n].
    :param memory: `keys` U_a h_j [B, T_x, n'], `values` C h_j [B, T_x, 3n], and the source mask
        [B, T_x], True at real positions.
    :param weights: [U_z | U_r | W_a] [n, 2n + n'], U [n, n], v_a [n'].
    :return: the states s_0 ... s_{T_y} [T_y + 1, B, n] and the alignments [T_y, B, T_x].
    """
    return _AttentionScan.apply(x, s_0, *memory, *weights)  # type: ignore[no-any-return,no-untyped-call]


class _GatedScan(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor) -> Tensor:
        steps, units, batch, size = *x.shape[:3], h_0.size(-1)
        states = x.new_empty(steps + 1, units, batch, size)
        gates = torch.empty_like(x)
        states[0] = h_0
        for t in range(steps):
            h, zr, candidate = states[t], gates[t, ..., : 2 * size], gates[t, ..., 2 * size :]
            torch.sigmoid(torch.baddbmm(x[t, ..., : 2 * size], h, U_zr), out=zr)
            reset = zr[..., size:] * h
            torch.tanh(torch.baddbmm(x[t, ..., 2 * size :], reset, U), out=candidate)
            torch.lerp(h, candidate, zr[..., :size], out=states[t + 1])
        ctx.save_for_backward(states, gates, U_zr, U)
        return states[1:].clone() if ctx.needs_input_grad[0] else states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        states, gates, U_zr, U = ctx.saved_tensors
        h = states[:-1]
        size = h.size(-1)
        factors = _gate_factors(h, gates)
        grads = torch.empty_like(gates)  # of x, and so of every gate's input
        carried = torch.zeros_like(h[0])
        U_zr_t, U_t = U_zr.transpose(1, 2), U.transpose(1, 2)
        for t in range(h.size(0) - 1, -1, -1):
            carried += grad[t]
            into = (grads[t, ..., :size], grads[t, ..., size : 2 * size], grads[t, ..., 2 * size :])
            reset_grad = _gate_grads(carried, factors[t], into, U_t)
            carried = carried * factors[t, ..., 3 * size : 4 * size]
            carried.addcmul_(reset_grad, gates[t, ..., size : 2 * size])
            carried.baddbmm_(grads[t, ..., : 2 * size], U_zr_t)
        by_unit = grads.transpose(0, 1).flatten(1, 2)  # [D, T * B, 3n]
        before = h.transpose(0, 1).flatten(1, 2)
        reset = (gates[..., size : 2 * size] * h).transpose(0, 1).flatten(1, 2)
        grad_U_zr = before.transpose(1, 2) @ by_unit[..., : 2 * size]
        grad_U = reset.transpose(1, 2) @ by_unit[..., 2 * size :]
        return grads, carried, grad_U_zr, grad_U


class _AttentionScan(Function):
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
    ) -> tuple[Tensor, Tensor]:
        steps, batch, size = x.size(0), x.size(1), s_0.size(-1)
        states = x.new_empty(steps + 1, batch, size)
        gates = torch.empty_like(x)
        queries = x.new_empty(steps, batch, v_a.size(0))
        alignment = x.new_empty(steps, batch, keys.size(1))
        padding = ~src_mask
        states[0] = s_0
        for t in range(steps):
            s, zr, candidate = states[t], gates[t, :, : 2 * size], gates[t, :, 2 * size :]
            projected = s @ W_query  # [B, 2n + n']
            queries[t] = projected[:, 2 * size :]
            energies = torch.tanh(keys + queries[t].unsqueeze(1)) @ v_a  # [B, T_x]
            energies.masked_fill_(padding, -torch.inf)
            torch.softmax(energies, dim=1, out=alignment[t])
            g = torch.baddbmm(x[t].unsqueeze(1), alignment[t].unsqueeze(1), values).squeeze(1)
            torch.sigmoid(g[:, : 2 * size] + projected[:, : 2 * size], out=zr)
            torch.tanh(torch.addmm(g[:, 2 * size :], zr[:, size:] * s, U), out=candidate)
            torch.lerp(s, candidate, zr[:, :size], out=states[t + 1])
        ctx.save_for_backward(states, gates, queries, alignment, keys, values, W_query, U, v_a)
        return states, alignment

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_alignment: Tensor) -> tuple[Tensor | None, ...]:
        states, gates, queries, alignment, keys, values, W_query, U, v_a = ctx.saved_tensors
        s = states[:-1]
        size = s.size(-1)
        factors = _gate_factors(s, gates)
        # Gradients of [z | r | c] and, behind them, of the query s W_a. [T_y, B, 3n + n']
        grads = s.new_empty(*s.shape[:2], 3 * size + v_a.size(0))
        grad_energies = torch.empty_like(alignment)
        grad_keys = torch.zeros_like(keys)  # still to be multiplied by v_a
        grad_v = torch.zeros_like(keys[:, 0])
        carried = grad[-1].clone()
        U_t, values_t = U.t(), values.transpose(1, 2)
        # Side by side as in W_query: gates z, r, then the query; the candidate apart.
        W_query_t = W_query.t()
        for t in range(s.size(0) - 1, -1, -1):
            zr_query = grads[t, :, : 2 * size + v_a.size(0)]
            into = (grads[t, :, :size], grads[t, :, size : 2 * size], grads[t, :, -size:])
            reset_grad = _gate_grads(carried, factors[t], into, U_t)
            step_grads = torch.cat([grads[t, :, : 2 * size], grads[t, :, -size:]], dim=1)
            into_alpha = grad_alignment[t].unsqueeze(1)
            d_alpha = torch.baddbmm(into_alpha, step_grads.unsqueeze(1), values_t).squeeze(1)
            alpha, energy = alignment[t], grad_energies[t]
            mean = (alpha * d_alpha).sum(1, keepdim=True)
            torch.mul(alpha, d_alpha - mean, out=energy)
            tanh = torch.tanh(keys + queries[t].unsqueeze(1))  # [B, T_x, n']
            grad_v.add_(torch.bmm(energy.unsqueeze(1), tanh).squeeze(1))
            tanh.square_().neg_().add_(1).mul_(energy.unsqueeze(2))
            grad_keys += tanh
            torch.mul(tanh.sum(1), v_a, out=grads[t, :, 2 * size : -size])
            carried = carried * factors[t, ..., 3 * size : 4 * size]
            carried.addcmul_(reset_grad, gates[t, :, size : 2 * size])
            carried.addmm_(zr_query, W_query_t).add_(grad[t])
        before = s.flatten(0, 1)
        flat = grads.flatten(0, 1)
        reset = (gates[..., size : 2 * size] * s).flatten(0, 1)
        grad_x = torch.cat([grads[..., : 2 * size], grads[..., -size:]], dim=-1)
        return (
            grad_x,
            carried,
            grad_keys * v_a,
            torch.bmm(alignment.permute(1, 2, 0), grad_x.transpose(0, 1)),
            None,
            before.t() @ flat[:, :-size],
            reset.t() @ flat[:, -size:],
            grad_v.sum(0),
        )


def _gate_factors(h: Tensor, gates: Tensor) -> Tensor:
    """Factors of the gates' gradients that need no recurrence, for all positions at once.

    With z, r, c the gates: dz = dh * (c - h) z (1 - z), dr = d(rh) * h r (1 - r),
    dc = dh * z (1 - c^2); the fourth is 1 - z, with which dh passes by the unit.

    :return: [z factor | r factor | c factor | 1 - z]. Shape: [..., 4n].
    """
    z, r, c = gates.chunk(3, dim=-1)
    keep = 1 - z
    return torch.cat([(c - h) * z * keep, h * r * (1 - r), z * (1 - c * c), keep], dim=-1)


def _gate_grads(
    d_h: Tensor, factors: Tensor, into: tuple[Tensor, Tensor, Tensor], U_t: Tensor
) -> Tensor:
    """Gradients of the three gates' inputs, written into `into` (z, r, c); returns d(r * h)."""
    f_z, f_r, f_c, _ = factors.chunk(4, dim=-1)
    torch.mul(d_h, f_z, out=into[0])
    torch.mul(d_h, f_c, out=into[2])
    d_reset = into[2] @ U_t
    torch.mul(d_reset, f_r, out=into[1])
    return d_reset
