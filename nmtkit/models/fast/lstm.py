"""The LSTM's loop with a hand-written backward pass, like that of the gated unit in `gru.py`.

The unit is that of Graves 2013 (arXiv:1308.0850, eqs. (7) to (11)). The gradient of the recurrent
matrix is one product over all positions together, and nothing is computed on padding.

    i = sigmoid(x_i + h U_i + p_i * c)        input gate
    f = sigmoid(x_f + h U_f + p_f * c)        forget gate
    g = tanh(x_g + h U_g)
    c' = f * c + i * g                        cells
    o = sigmoid(x_o + h U_o + p_o * c')       output gate, which sees the new cells
    h' = o * tanh(c')

Inputs, gates and their gradients are joined as [i | f | o | g], 4n wide. The peepholes p are
vectors: each gate sees only its own cell.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.fast.matmul import Prepacked, matmul_dtype, matmul_transposed
from nmtkit.models.packing import Packing


def lstm_step(x: Tensor, c: Tensor, peepholes: Tensor | None) -> tuple[Tensor, Tensor]:
    """Take one step of the LSTM, differentiated by autograd; for search.

    :param x: inputs [i | f | o | g], including h U. Shape: [..., 4n].
    :param c: the cells. Shape: [..., n].
    :param peepholes: p_i, p_f, p_o, or None for no peepholes. Shape: [3, n].
    :return: h', c'.
    """
    i, f, o, g = x.chunk(4, dim=-1)
    if peepholes is not None:
        i, f = i + peepholes[0] * c, f + peepholes[1] * c
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    if peepholes is not None:
        o = o + peepholes[2] * c
    return torch.sigmoid(o) * torch.tanh(c), c


def lstm_scan(
    x: Tensor,
    start: tuple[Tensor, Tensor],
    U: Tensor,
    peepholes: Tensor | None,
    packing: Packing,
) -> tuple[Tensor, Tensor]:
    """Run the LSTM over the positions of a batch.

    :param x: inputs [i | f | o | g]. Shape: [N, 4n].
    :param start: h and c before the first position, in packed order. Shapes: [B, n].
    :param U: [U_i | U_f | U_o | U_g]. Shape: [n, 4n].
    :param peepholes: p_i, p_f, p_o, or None for no peepholes. Shape: [3, n].
    :return: h and c after each position. Shapes: [N, n].
    """
    x, h_0, c_0 = (values.to(U.dtype) for values in (x, *start))
    return _LSTMScan.apply(x, h_0, c_0, U, peepholes, packing)  # type: ignore[no-any-return,no-untyped-call]


class _LSTMScan(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        h_0: Tensor,
        c_0: Tensor,
        U: Tensor,
        peepholes: Tensor | None,
        packing: Packing,
    ) -> tuple[Tensor, Tensor]:
        U = U.to(matmul_dtype(x))
        packed_U = Prepacked(U)
        n, sizes = h_0.size(1), packing.sizes
        states, cells, gates = x.new_empty(len(x), n), x.new_empty(len(x), n), torch.empty_like(x)
        h_after, c_after = torch.split(states, sizes), torch.split(cells, sizes)
        inputs, outputs = torch.split(x, sizes), torch.split(gates, sizes)
        h, c = h_0, c_0
        with torch.autocast(x.device.type, enabled=False):
            for t, size in enumerate(sizes):
                c = c[:size]
                gate_inputs = packed_U.addmm(inputs[t], h[:size])
                ifo, g = torch.split(gate_inputs, [3 * n, n], dim=1)
                _compute_gates(ifo, g, c, peepholes, outputs[t])
                i, f, o, g = outputs[t].chunk(4, dim=1)
                c = torch.addcmul(f * c, i, g, out=c_after[t])
                if peepholes is not None:
                    torch.sigmoid(torch.addcmul(ifo[:, 2 * n :], peepholes[2], c), out=o)
                h = torch.mul(o, torch.tanh(c), out=h_after[t])
        ctx.packing = packing
        ctx.save_for_backward(states, cells, gates, h_0, c_0, U, peepholes)
        return states, cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_h: Tensor, grad_c: Tensor) -> tuple[Tensor | None, ...]:
        states, cells, gates, h_0, c_0, U, peepholes = ctx.saved_tensors
        dtype, n, sizes = U.dtype, h_0.size(1), ctx.packing.sizes
        before, c_before = (
            ctx.packing.previous_states(h_0, states),
            ctx.packing.previous_states(c_0, cells),
        )
        factors = [torch.split(f, sizes) for f in _gate_factors(gates, cells, c_before)]
        grads = torch.empty_like(gates)  # of x, and so of every gate's input
        by_step, by_gate = torch.split(grads, sizes), torch.split(grads, n, dim=1)
        grad_h_steps, grad_c_steps = torch.split(grad_h, sizes), torch.split(grad_c, sizes)
        d_h, d_c = torch.zeros_like(h_0), torch.zeros_like(c_0)
        packed_U_t = Prepacked(U.t())
        for t in reversed(range(len(sizes))):
            h, c = d_h[: sizes[t]], d_c[: sizes[t]]
            h += grad_h_steps[t]
            c += grad_c_steps[t]
            o_factor, cell_factor, ifg_factor, f_gate = (factor[t] for factor in factors)
            o, ifg = by_step[t][:, 2 * n : 3 * n], by_step[t].view(-1, 4, n)
            torch.mul(h, o_factor, out=o)
            c.addcmul_(h, cell_factor)
            if peepholes is not None:
                c.addcmul_(o, peepholes[2])
            d_cells = c.unsqueeze(1)  # [b, 1, n]
            torch.mul(d_cells, ifg_factor[:, :2], out=ifg[:, :2])
            torch.mul(d_cells, ifg_factor[:, 2:], out=ifg[:, 3:])
            c *= f_gate
            if peepholes is not None:
                c.addcmul_(ifg[:, 0], peepholes[0]).addcmul_(ifg[:, 1], peepholes[1])
            h.copy_(packed_U_t.matmul(by_step[t]))
        grad_U = matmul_transposed(before, grads, dtype)
        grad_p = None
        if peepholes is not None:
            peephole_inputs = (c_before, c_before, cells)
            pairs = zip(by_gate, peephole_inputs, strict=False)
            grad_p = torch.stack([(grad * cell).sum(0) for grad, cell in pairs])
        return grads, d_h, d_c, grad_U.to(before.dtype), grad_p, None


def _compute_gates(
    ifo: Tensor, g: Tensor, c: Tensor, peepholes: Tensor | None, out: Tensor
) -> None:
    """Compute i, f and g; also o, unless its peephole needs the new cells.

    :param ifo, g: the gates' inputs. Shapes: [b, 3n], [b, n].
    :param c: the cells. Shape: [b, n].
    :param out: [i | f | o | g]. Shape: [b, 4n].
    """
    n = c.size(1)
    if peepholes is None:
        torch.sigmoid(ifo, out=out[:, : 3 * n])
    else:
        i_f = torch.addcmul(ifo[:, : 2 * n], peepholes[:2].flatten(), c.repeat(1, 2))
        torch.sigmoid(i_f, out=out[:, : 2 * n])
    torch.tanh(g, out=out[:, 3 * n :])


def _gate_factors(gates: Tensor, cells: Tensor, c_before: Tensor) -> list[Tensor]:
    """Return the factors of the gradients that do not depend on later steps.

    With dh and dc the gradients of h' and c', the inputs of the gates get do = dh * a; dc is then
    increased by dh * b; di, df, dg = dc * e; and the gradient of c is dc * f.

    :return: a [N, n], b [N, n], e [N, 3, n] and the forget gate f [N, n].
    """
    i, f, o, g = gates.chunk(4, dim=1)
    tanh_cells = torch.tanh(cells)
    ifg_factor = torch.stack([g * i * (1 - i), c_before * f * (1 - f), i * (1 - g * g)], dim=1)
    return [tanh_cells * o * (1 - o), o * (1 - tanh_cells * tanh_cells), ifg_factor, f]
