"""The gated unit's loop with a hand-written backward pass.

Autograd keeps every step's intermediate results, and computes and adds a gradient of every weight
matrix at every step. This loop keeps only the gates, and the gradient of a weight matrix is one
product over all positions and sentences. Inputs come already multiplied by their matrices.
Positions are packed (`packing.py`): finished sentences leave the loop, and nothing is computed on
padding.

The unit (Cho et al. 2014, section 2.3; Bahdanau et al. 2015, A.1.1), z meaning "replace":

    z = sigmoid(x_z + h U_z),  r = sigmoid(x_r + h U_r),  c = tanh(x_c + (r * h) U)
    h' = (1 - z) * h + z * c

Inputs, gates and their gradients are joined as [z | r | c], 3n wide.

Under `torch.autocast` products are computed in its type (bfloat16); states and gates keep the
inputs' type.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.fast.int8 import Matrices, Matrix, linear
from nmtkit.models.fast.matmul import Prepacked, matmul_dtype, matmul_transposed
from nmtkit.models.packing import Packing

FEW_VALUES = 1 << 12
"""Values for which one call of torch takes less time than the four of a faster formula."""


def gru_step(x: Tensor, h: Tensor, U: Matrix) -> Tensor:
    """Take one step of the gated unit, differentiated by autograd; for search.

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
    return _GRUScan.apply(x.to(U.dtype), h_0.to(U.dtype), U_zr, U, packing)  # type: ignore[no-any-return,no-untyped-call]


@torch.no_grad()
def gru_scan_inference(
    x: Tensor, h_0: Tensor, U_zr: Matrices, U: Matrices, packing: Packing
) -> Tensor:
    """Run `gru_scan` without gradients, with matrices as `for_separate_products` returns them."""
    n, sizes = h_0.size(-1), packing.sizes
    x_zr, x_c = split_steps(x, sizes, 2 * n, n)
    states = x.new_empty(*x.shape[:2], n)
    after = torch.split(states, sizes, dim=1)
    h = h_0
    for t, size in enumerate(sizes):
        h = h[:, :size]
        z, r = U_zr.addmm(x_zr[t], h).sigmoid_().chunk(2, dim=-1)
        h = torch.lerp(h, _tanh(U.addmm(x_c[t], r * h)), z, out=after[t])
    return states


def _tanh(x: Tensor) -> Tensor:
    """Return tanh(x); torch's own takes twice as long for many values on a CPU."""
    return torch.tanh(x) if x.numel() <= FEW_VALUES else 2 * torch.sigmoid(2 * x) - 1


class _GRUScan(Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor, packing: Packing
    ) -> Tensor:
        dtype = matmul_dtype(x)
        U_zr, U = U_zr.to(dtype), U.to(dtype)
        packed_U_zr, packed_U = Prepacked(U_zr), Prepacked(U)
        n, sizes = h_0.size(-1), packing.sizes
        states, gates = x.new_empty(*x.shape[:2], n), torch.empty_like(x)
        x_zr, x_c = split_steps(x, sizes, 2 * n, n)
        zr, c = split_steps(gates, sizes, 2 * n, n)
        z, r, _ = split_steps(gates, sizes, n, n, n)
        after = torch.split(states, sizes, dim=1)
        h = h_0
        with torch.autocast(x.device.type, enabled=False):
            for t, size in enumerate(sizes):
                h = h[:, :size]
                packed_U_zr.addmm(x_zr[t], h, out=zr[t]).sigmoid_()
                packed_U.addmm(x_c[t], r[t] * h, out=c[t]).tanh_()
                h = torch.lerp(h, c[t], z[t], out=after[t])
        ctx.packing = packing
        ctx.save_for_backward(states, gates, h_0, U_zr, U)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        states, gates, h_0, U_zr, U = ctx.saved_tensors
        dtype, n, sizes = U.dtype, h_0.size(-1), ctx.packing.sizes
        h = ctx.packing.previous_states(h_0, states)
        factors = [torch.split(factor, sizes, dim=1) for factor in gate_factors(h, gates)]
        grads = torch.empty_like(gates)  # of x, and so of every gate's input
        by_gate, (zr, _) = split_steps(grads, sizes, n, n, n), split_steps(grads, sizes, 2 * n, n)
        r, grad_steps = split_steps(gates, sizes, n, n, n)[1], torch.split(grad, sizes, dim=1)
        d_state = torch.zeros_like(h_0)
        packed_U_zr_t, packed_U_t = Prepacked(U_zr.transpose(1, 2)), Prepacked(U.transpose(1, 2))
        for t in reversed(range(len(sizes))):
            d_h = d_state[:, : sizes[t]]
            d_h += grad_steps[t]
            reset_grad = gate_grads(d_h, factors, by_gate, packed_U_t, t)
            d_h *= factors[3][t]
            d_h.addcmul_(reset_grad, r[t])
            packed_U_zr_t.addmm(d_h, zr[t], out=d_h)
        reset = gates[..., n : 2 * n] * h
        grad_U_zr = matmul_transposed(h, grads[..., : 2 * n], dtype)
        grad_U = matmul_transposed(reset, grads[..., 2 * n :], dtype)
        return grads, d_state, grad_U_zr.to(h.dtype), grad_U.to(h.dtype), None


def split_steps(values: Tensor, sizes: list[int], *widths: int) -> list[tuple[Tensor, ...]]:
    """Split [..., N, w] into parts of these widths, and each part into views of its steps."""
    return [torch.split(part, sizes, dim=-2) for part in torch.split(values, list(widths), dim=-1)]


def gate_factors(h: Tensor, gates: Tensor) -> list[Tensor]:
    """Return the factors of the gates' gradients that do not depend on later steps.

    With z, r, c the gates: dz = dh * (c - h) z (1 - z), dr = d(rh) * h r (1 - r),
    dc = dh * z (1 - c^2); the direct path from h' to h has the factor 1 - z.

    :return: the factors of dz, dr and dc, and 1 - z, for all positions. Shape of each: [..., n].
    """
    z, r, c = gates.chunk(3, dim=-1)
    keep = 1 - z
    return [(c - h) * z * keep, h * r * (1 - r), z * (1 - c * c), keep]


def gate_grads(
    d_h: Tensor,
    factors: list[tuple[Tensor, ...]],
    into: list[tuple[Tensor, ...]],
    packed_U_t: Prepacked,
    t: int,
) -> Tensor:
    """Write the gradients of the gates' inputs (z, r, c) at step t to `into`; return d(r * h)."""
    torch.mul(d_h, factors[0][t], out=into[0][t])
    torch.mul(d_h, factors[2][t], out=into[2][t])
    d_reset = packed_U_t.matmul(into[2][t])
    torch.mul(d_reset, factors[1][t], out=into[1][t])
    return d_reset
