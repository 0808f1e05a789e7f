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

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.layers import add_product, affine, product_type
from nmtkit.models.packing import Packing


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


def gated_scan(x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor, packing: Packing) -> Tensor:
    """Run D independent gated units over the positions of a batch.

    :param x: inputs [z | r | c]. Shape: [D, N, 3n].
    :param h_0: states before the first position, in packed order. Shape: [D, B, n].
    :param U_zr: [U_z | U_r] of each unit. Shape: [D, n, 2n].
    :param U: the candidate's matrix of each unit. Shape: [D, n, n].
    :return: the state after each position. Shape: [D, N, n].
    """
    return _GatedScan.apply(x.to(U.dtype), h_0.to(U.dtype), U_zr, U, packing)  # type: ignore[no-any-return,no-untyped-call]


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


class _GatedScan(Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor, packing: Packing
    ) -> Tensor:
        kind = product_type(x)
        U_zr, U = U_zr.to(kind), U.to(kind)
        size = h_0.size(-1)
        states, gates = x.new_empty(*x.shape[:2], size), torch.empty_like(x)
        h = h_0
        with torch.autocast(x.device.type, enabled=False):
            for start, end in packing.steps():
                h, gate = h[:, : end - start], gates[:, start:end]
                now, zr, candidate = x[:, start:end], gate[..., : 2 * size], gate[..., 2 * size :]
                torch.sigmoid(affine(now[..., : 2 * size], h, U_zr), out=zr)
                reset = zr[..., size:] * h
                torch.tanh(affine(now[..., 2 * size :], reset, U), out=candidate)
                h = torch.lerp(h, candidate, zr[..., :size], out=states[:, start:end])
        ctx.packing = packing
        ctx.save_for_backward(states, gates, h_0, U_zr, U)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        states, gates, h_0, U_zr, U = ctx.saved_tensors
        kind, size = U.dtype, h_0.size(-1)
        h = ctx.packing.before(h_0, states)
        factors = _gate_factors(h, gates)
        grads = torch.empty_like(gates)  # of x, and so of every gate's input
        carried = torch.zeros_like(h_0)
        U_zr_t, U_t = U_zr.transpose(1, 2), U.transpose(1, 2)
        for start, end in reversed(list(ctx.packing.steps())):
            here, step_grads = carried[:, : end - start], grads[:, start:end]
            here += grad[:, start:end]
            reset_grad = _gate_grads(here, factors[:, start:end], step_grads, U_t)
            here *= factors[:, start:end, 3 * size :]
            here.addcmul_(reset_grad, gates[:, start:end, size : 2 * size])
            add_product(here, step_grads[..., : 2 * size], U_zr_t)
        reset = gates[..., size : 2 * size] * h
        low = grads.to(kind)
        grad_U_zr = h.to(kind).transpose(1, 2) @ low[..., : 2 * size]
        grad_U = reset.to(kind).transpose(1, 2) @ low[..., 2 * size :]
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
        kind = product_type(x)
        W_query, U = W_query.to(kind), U.to(kind)
        size, align = s_0.size(-1), v_a.size(0)
        after, gates = x.new_empty(x.size(0), size), torch.empty_like(x)
        queries = x.new_empty(x.size(0), align)
        alignment = x.new_empty(x.size(0), keys.size(1))
        keys, padding, weights = 2 * keys, ~src_mask, 2 * v_a
        scratch = torch.empty_like(keys)
        s = s_0
        with torch.autocast(x.device.type, enabled=False):
            for start, end in packing.steps():
                live = end - start
                s, gate = s[:live], gates[start:end]
                zr, candidate = gate[:, : 2 * size], gate[:, 2 * size :]
                projected = s.to(kind) @ W_query  # [live, n' + 2n]
                query = queries[start:end].copy_(projected[:, :align])
                bent = torch.add(keys[:live], query.unsqueeze(1), alpha=2, out=scratch[:live])
                energies = bent.sigmoid_() @ weights  # [live, T_x]
                energies.masked_fill_(padding[:live], -torch.inf)
                alpha = torch.softmax(energies, dim=1, out=alignment[start:end]).unsqueeze(1)
                g = torch.baddbmm(x[start:end].unsqueeze(1), alpha, values[:live]).squeeze(1)
                torch.sigmoid(g[:, : 2 * size] + projected[:, align:], out=zr)
                reset = zr[:, size:] * s
                torch.tanh(affine(g[:, 2 * size :], reset, U), out=candidate)
                s = torch.lerp(s, candidate, zr[:, :size], out=after[start:end])
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
        packing, kind = ctx.packing, U.dtype
        size, align = s.size(-1), v_a.size(0)
        factors = _gate_factors(s, gates)
        # Gradients of the query s W_a and of [z | r | c]. [N, n' + 3n]
        grads = s.new_empty(s.size(0), align + 3 * size)
        grad_energies = torch.empty_like(alignment)
        grad_keys = torch.zeros_like(keys)  # still to be multiplied by 4 v_a
        grad_v = torch.zeros_like(keys[:, 0])
        carried = s.new_zeros(keys.size(0), size)
        scratch, slopes = torch.empty_like(keys), torch.empty_like(keys)
        W_query_t, U_t, values_t = W_query.t(), U.t(), values.transpose(1, 2)
        for start, end in reversed(list(packing.steps())):
            live = end - start
            here, step_grads = carried[:live], grads[start:end]
            if grad_after is not None:
                here += grad_after[start:end]
            reset_grad = _gate_grads(here, factors[start:end], step_grads[:, align:], U_t)
            d_alpha = torch.bmm(step_grads[:, align:].unsqueeze(1), values_t[:live]).squeeze(1)
            if grad_alignment is not None:
                d_alpha += grad_alignment[start:end]
            alpha, energy = alignment[start:end], grad_energies[start:end]
            mean = (alpha * d_alpha).sum(1, keepdim=True)
            torch.mul(alpha, d_alpha - mean, out=energy)
            query = queries[start:end].unsqueeze(1)
            bent = torch.add(keys[:live], query, alpha=2, out=scratch[:live]).sigmoid_()
            grad_v[:live] += torch.bmm(energy.unsqueeze(1), bent).squeeze(1)
            slope = torch.ops.aten.sigmoid_backward.grad_input(
                energy.unsqueeze(2), bent, grad_input=slopes[:live]
            )
            grad_keys[:live] += slope
            torch.mul(slope.sum(1), 4 * v_a, out=step_grads[:, :align])
            here *= factors[start:end, 3 * size :]
            here.addcmul_(reset_grad, gates[start:end, size : 2 * size])
            add_product(here, step_grads[:, : align + 2 * size], W_query_t)
            if grad_before is not None:
                here += grad_before[start:end]
        grad_x = grads[:, align:]
        reset = gates[:, size : 2 * size] * s
        low = grads.to(kind)
        grad_W = s.to(kind).t() @ low[:, : align + 2 * size]
        grad_U = reset.to(kind).t() @ low[:, align + 2 * size :]
        by_source = packing.pad(alignment).transpose(1, 2)  # [B, T_x, T_y]
        return (
            grad_x,
            carried,
            grad_keys.mul_(4 * v_a),
            by_source @ packing.pad(grad_x),
            None,
            grad_W.to(s.dtype),
            grad_U.to(s.dtype),
            2 * grad_v.sum(0),
            None,
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


def _gate_grads(d_h: Tensor, factors: Tensor, into: Tensor, U_t: Tensor) -> Tensor:
    """Gradients of the three gates' inputs, written into `into` [z | r | c]; returns d(r * h)."""
    f_z, f_r, f_c, _ = factors.chunk(4, dim=-1)
    z, r, c = into.chunk(3, dim=-1)
    torch.mul(d_h, f_z, out=z)
    torch.mul(d_h, f_c, out=c)
    d_reset = c.to(U_t.dtype) @ U_t
    torch.mul(d_reset, f_r, out=r)
    return d_reset
