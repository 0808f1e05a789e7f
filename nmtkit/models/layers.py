"""Layers that several papers share: gated unit, maxout, softmax cost, dropout, initialisation.

Everything here is plain torch. A `Twin` pairs a function named `plain_...`, which defines the
computation, with a fast implementation in `fast/`; see `kernels.py` for the choice.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmtkit.models.fast import dropout as fast_dropout
from nmtkit.models.fast import gru, softmax
from nmtkit.models.fast import matmul as fast_matmul
from nmtkit.models.kernels import Twin
from nmtkit.models.packing import Packing


def masked_softmax(energies: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax over the last axis, exactly 0 where `mask` is False.

    Each row of `mask` must have at least one True.
    """
    return torch.softmax(energies.masked_fill(~mask, -torch.inf), dim=-1)


def maxout(readout: Tensor) -> Tensor:
    """Return the maximum of each pair of units (Goodfellow et al. 2013). [..., 2l] to [..., l]."""
    return torch.maximum(readout[..., 0::2], readout[..., 1::2])


def plain_matmul(a: Tensor, B: Tensor) -> Tensor:
    """Return a B. Shapes: [..., n]; [n, w]; the result: [..., w]."""
    return a @ B


def plain_addmm(bias: Tensor, a: Tensor, B: Tensor) -> Tensor:
    """Return bias + a B. Shapes: [w] or [..., w]; [..., n]; [n, w]; the result: [..., w]."""
    return bias + a @ B


matmul = Twin(plain_matmul, fast_matmul.matmul)
addmm = Twin(plain_addmm, fast_matmul.addmm)


def gru_step(x: Tensor, h: Tensor, U_zr: Tensor, U: Tensor) -> Tensor:
    """Take one step of the papers' gated unit (Cho et al. 2014, section 2.3).

    z is the share of the state that is replaced, as in Bahdanau et al. 2015, A.1.1. The reset gate
    is applied before the matrix U; in `torch.nn.GRU` it is applied after.

    :param x: inputs [W_z x | W_r x | W x], biases included. Shape: [..., 3n].
    :param h: the state. Shape: [..., n].
    :param U_zr: [U_z | U_r]. Shape: [n, 2n].
    :param U: Shape: [n, n].
    :return: the next state. Shape: [..., n].
    """
    n = h.size(-1)
    x_zr, x_c = torch.split(x, [2 * n, n], dim=-1)
    z, r = torch.sigmoid(x_zr + h @ U_zr).chunk(2, dim=-1)  # update and reset gate [..., n]
    candidate = torch.tanh(x_c + (r * h) @ U)  # [..., n]
    return (1 - z) * h + z * candidate


def plain_gru_scan(x: Tensor, h_0: Tensor, U_zr: Tensor, U: Tensor, packing: Packing) -> Tensor:
    """Run D independent gated units over the positions of a batch.

    :param x: inputs [z | r | candidate]. Shape: [D, N, 3n].
    :param h_0: states before the first position, in packed order. Shape: [D, B, n].
    :param U_zr: [U_z | U_r] of each unit. Shape: [D, n, 2n].
    :param U: the candidate's matrix of each unit. Shape: [D, n, n].
    :return: the state after each position. Shape: [D, N, n].
    """
    h, states = h_0, []
    for start, end in packing.steps():
        h = h[:, : end - start]  # finished sentences have left the loop
        h = gru_step(x[:, start:end], h, U_zr, U)  # [D, b, n]
        states.append(h)
    return torch.cat(states, dim=1)


gru_scan = Twin(plain_gru_scan, gru.gru_scan)


def plain_softmax_cost(
    readout: Tensor,
    W: Tensor,
    bias: Tensor,
    targets: Tensor,
    label_smoothing: float = 0.0,
    real: Tensor | None = None,
) -> Tensor:
    """Return the sum of -log softmax(W t + bias) of the words `targets`, natural log.

    With label smoothing e (Szegedy et al. 2016) the target distribution is 1 - e on the target word
    plus e / K on every word.

    :param readout: t. Shape: [N, l].
    :param W: Shape: [K, l].
    :param bias: Shape: [K].
    :param targets: Shape: [N], int64.
    :param real: False at rows that have no cost; None: all rows have. Shape: [N].
    :return: a scalar.
    """
    logits = readout @ W.t() + bias  # [N, K]
    costs = functional.cross_entropy(
        logits, targets, reduction="none", label_smoothing=label_smoothing
    )
    return costs.sum() if real is None else (costs * real).sum()


def plain_target_log_probs(readout: Tensor, W: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return log softmax(W t + bias) of each row's target word, without gradients.

    Parameters as in `plain_softmax_cost`. Shape: [N].
    """
    with torch.no_grad():
        log_probs = torch.log_softmax(readout @ W.t() + bias, dim=1)  # [N, K]
        return log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)


def plain_target_evidence(readout: Tensor, W: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return what softmax(W t + bias) says about each row's target word, without gradients.

    :return: log p of the target word, log p of the most probable other word, and the entropy of the
        distribution in nats. Shape: [N, 3]. Other parameters as in `plain_softmax_cost`.
    """
    with torch.no_grad():
        log_probs = torch.log_softmax(readout @ W.t() + bias, dim=1)  # [N, K]
        words = targets.unsqueeze(1)  # [N, 1]
        entropies = -(log_probs.exp() * log_probs).nan_to_num().sum(1, keepdim=True)
        rivals = log_probs.scatter(1, words, -torch.inf).amax(1, keepdim=True)
        return torch.cat([log_probs.gather(1, words), rivals, entropies], 1)


softmax_cost = Twin(plain_softmax_cost, softmax.softmax_cost)
target_log_probs = Twin(plain_target_log_probs, softmax.target_log_probs)
target_evidence = Twin(plain_target_evidence, softmax.target_evidence)


def plain_dropout(values: Tensor, share: float) -> Tensor:
    """Set a random `share` of the values to 0, and scale the others by 1 / (1 - share).

    Srivastava et al. 2014.
    """
    return functional.dropout(values, share)


dropout = Twin(plain_dropout, fast_dropout.dropout)


def matrix(*shape: int) -> nn.Parameter:
    """Return an uninitialised parameter of this shape."""
    return nn.Parameter(torch.empty(*shape))


def bias(size: int) -> nn.Parameter:
    """Return an uninitialised bias vector."""
    return nn.Parameter(torch.empty(size))


def glorot(parameter: Tensor, width: int) -> None:
    """Initialise by the uniform distribution of Glorot and Bengio 2010, in place.

    :param width: columns of each of the matrices that the parameter joins; 0 for an embedding
        matrix, which is drawn from N(0, 1/columns), so that vectors have a length of about 1.
    """
    if not width:
        parameter.normal_(std=parameter.size(1) ** -0.5)
        return
    bound = (6 / (parameter.size(-2) + width)) ** 0.5
    parameter.uniform_(-bound, bound)


def orthogonal(*shape: int) -> Tensor:
    """Draw orthogonal matrices: left singular vectors of Gaussian matrices (Cho et al. 2014).

    :param shape: [..., n, n].
    """
    left: Tensor = torch.linalg.svd(torch.randn(*shape))[0]
    return left
