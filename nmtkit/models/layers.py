"""What more than one of the papers' models uses: softmax over words, maxout, initialisation."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

CHUNK = 1_000_000
"""Logits held at a time: 4 MB in float32, so that they stay in a processor's cache."""


def masked_softmax(energies: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis, exactly 0 where `mask` is False (not everywhere in a row)."""
    return torch.softmax(energies.masked_fill(~mask, -torch.inf), dim=-1)


def maxout(readout: Tensor) -> Tensor:
    """The maximum of each two neighbours (Goodfellow et al. 2013). [..., 2l] to [..., l]."""
    return torch.maximum(readout[..., 0::2], readout[..., 1::2])


def orthogonal(*shape: int) -> Tensor:
    """Random orthogonal matrices: left singular vectors of Gaussian ones (Cho et al. 2014).

    :param shape: [..., n, n].
    """
    left: Tensor = torch.linalg.svd(torch.randn(*shape))[0]
    return left


def dropout(values: Tensor, share: float) -> Tensor:
    """Set a random `share` of the values to 0, the others times 1 / (1 - share).

    Srivastava et al. 2014. Torch draws a number for each value on a processor, which takes a
    sixth of an update; here 16 random bits decide on each, so `share` is met to 1 in 65,536.
    """
    if share == 0:
        return values
    if values.is_cuda:
        return functional.dropout(values, share)
    words = (values.numel() + 3) // 4
    bits = torch.empty(words, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = bits[: values.numel()].view(values.shape) >= round(share * 65536) - 32768
    return values * kept.to(values.dtype).mul_(1 / (1 - share))


def softmax_cost(
    hidden: Tensor, W: Tensor, bias: Tensor, targets: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """Sum of the cross-entropies of softmax(W h + b) against the words `targets`, natural log.

    With label smoothing e (Szegedy et al. 2016) a target is (1 - e) of its word and e / K of
    every word. The logits exist for a few rows at a time only: their gradient is taken while
    they are there, so that memory does not grow with rows times words.

    :param hidden: Shape: [N, l].
    :param W: Shape: [K, l].
    :param bias: Shape: [K].
    :param targets: Shape: [N], int64.
    :return: a scalar.
    """
    return _SoftmaxCost.apply(hidden, W, bias, targets, label_smoothing)  # type: ignore[no-any-return,no-untyped-call]


def target_log_probs(hidden: Tensor, W: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """log softmax(W h + b) of each row's own target word, without gradients. Shape: [N]."""
    chunks = []
    rows = max(1, CHUNK // W.size(0))
    with torch.no_grad():
        for start in range(0, hidden.size(0), rows):
            part, words = hidden[start : start + rows], targets[start : start + rows]
            logits = torch.addmm(bias, part, W.t())
            picked = logits.gather(1, words.unsqueeze(1)).squeeze(1)
            chunks.append(picked - logits.logsumexp(1))
    return torch.cat(chunks) if chunks else hidden.new_zeros(0)


class _SoftmaxCost(Function):
    """Cost and gradients in one pass over chunks of rows.

    With p the unnormalised probabilities of a row and s their sum, the gradient of its logits is
    p / s - (1 - e) [word = target] - e / K. Dividing by s is put off to the narrow factors of the
    products, and the last term is a product of sums: neither costs a pass over the logits.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, W: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> Tensor:
        wants = any(ctx.needs_input_grad[:3])
        share = smoothing / W.size(0)
        W_sum, bias_sum = W.sum(0), bias.sum()
        grad_hidden = torch.empty_like(hidden)
        grad_W, grad_bias = torch.zeros_like(W), torch.zeros_like(bias)
        cost = hidden.new_zeros(())
        rows = max(1, CHUNK // W.size(0))
        for start in range(0, hidden.size(0), rows):
            part, words = hidden[start : start + rows], targets[start : start + rows]
            logits = torch.addmm(bias, part, W.t())  # [rows, K]
            largest = logits.amax(1, keepdim=True)
            picked = logits.gather(1, words.unsqueeze(1))
            p = logits.sub_(largest).exp_()
            s = p.sum(1, keepdim=True)
            cost += (largest + s.log() - (1 - smoothing) * picked).sum()
            if smoothing:
                cost -= share * ((part @ W_sum).sum() + part.size(0) * bias_sum)
            if wants:
                p.scatter_add_(1, words.unsqueeze(1), (smoothing - 1) * s)
                torch.div(p @ W, s, out=grad_hidden[start : start + rows])
                grad_W.addmm_(p.t(), part / s)
                grad_bias.addmv_(p.t(), (1 / s).squeeze(1))
        if wants and smoothing:
            grad_hidden -= share * W_sum
            grad_W -= share * hidden.sum(0)
            grad_bias -= share * hidden.size(0)
        ctx.save_for_backward(grad_hidden, grad_W, grad_bias)
        return cost

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_W, grad_bias = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_W, grad * grad_bias, None, None
