"""The softmax over words and its cost, a few rows of logits at a time.

The logits of a batch, rows times words, are by far its largest tensor. Here they are computed for a
chunk of rows at a time, together with their gradient, so that memory does not grow with both.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from nmtkit.models.fast.matmul import Prepacked, addmm_transposed_, chunk_rows, matmul_dtype

MAX_LOGITS = 8_000_000
"""Logits held at a time, 32 MB in float32; more only if the smallest chunk of rows has more."""

MIN_PROBABILITY = 1e-30
"""Probabilities in float32 lose digits below about this value."""


def softmax_cost(
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
    return _SoftmaxCost.apply(readout, W, bias, targets, label_smoothing, real)  # type: ignore[no-any-return,no-untyped-call]


def target_log_probs(readout: Tensor, W: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return log softmax(W t + bias) of each row's target word, without gradients.

    Parameters as in `softmax_cost`. Shape: [N].
    """
    chunks = []
    rows = _chunk_size(W)
    with torch.no_grad():
        packed_W_t = Prepacked(W.t())
        for start in range(0, readout.size(0), rows):
            part, words = readout[start : start + rows], targets[start : start + rows]
            logits = packed_W_t.addmm(bias, part)
            picked = logits.gather(1, words.unsqueeze(1)).squeeze(1)
            chunks.append(picked - logits.logsumexp(1))
    return torch.cat(chunks) if chunks else readout.new_zeros(0)


def target_evidence(readout: Tensor, W: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return what softmax(W t + bias) says about each row's target word, without gradients.

    :return: log p of the target word, log p of the most probable other word, and the entropy of the
        distribution in nats. Shape: [N, 3]. Other parameters as in `softmax_cost`.
    """
    chunks = []
    rows = _chunk_size(W)
    with torch.no_grad():
        packed_W_t = Prepacked(W.t())
        for start in range(0, readout.size(0), rows):
            part, words = readout[start : start + rows], targets[start : start + rows].unsqueeze(1)
            logits = packed_W_t.addmm(bias, part)  # [rows, K]
            p = torch.softmax(logits, 1)
            normaliser = logits.logsumexp(1, keepdim=True)
            # log p = logit - normaliser: the entropy needs no logarithm of the small p
            entropies = normaliser - torch.linalg.vecdot(p, logits).unsqueeze(1)
            picked = logits.gather(1, words)
            rivals = logits.scatter_(1, words, -torch.inf).amax(1, keepdim=True)
            values = picked - normaliser, rivals - normaliser, entropies.clamp(min=0)
            chunks.append(torch.cat(values, 1))
    return torch.cat(chunks) if chunks else readout.new_zeros(0, 3)


def _chunk_size(W: Tensor) -> int:
    """Return how many rows of logits to compute at a time.

    Each chunk reads and writes the gradient of W once, which is expensive for large l; each row
    has K logits, which should stay in the CPU's cache. On the CPUs tried, with K = 10,000, 192 rows
    were best for l = 128, and 448 to 512 rows for l = 500.
    """
    words, width = W.shape
    return chunk_rows(min(MAX_LOGITS // words, width + width // 2))


def _log_probs(logits: Tensor, p: Tensor, words: Tensor) -> Tensor:
    """Return log p of each row's word, from the logits where p is too small.

    On a GPU all are from the logits: to ask where p is small would make the host wait for it.

    :param logits: Shape: [r, K].
    :param p: their softmax. Shape: [r, K].
    :param words: Shape: [r, 1].
    :return: Shape: [r, 1].
    """
    if logits.device.type != "cpu":
        return logits.gather(1, words) - logits.logsumexp(1, keepdim=True)
    probabilities = p.gather(1, words)
    logs = probabilities.log()
    tiny = (probabilities < MIN_PROBABILITY).nonzero()[:, 0]
    if len(tiny):
        logs[tiny] = logits[tiny].log_softmax(1).gather(1, words[tiny])
    return logs


class _SoftmaxCost(Function):
    """Cost and gradients in one pass over chunks of rows.

    With p the probabilities of a row, the gradient of its logits is p - (1 - e) [word = target]
    - e / K. The last term is computed from sums, without a pass over the logits. So are rows
    without cost left out: their readouts count as 0, and each sum over rows is weighted.
    """

    @staticmethod
    def forward(
        ctx: Any,
        readout: Tensor,
        W: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        real: Tensor | None,
    ) -> Tensor:
        needs_grad = any(ctx.needs_input_grad[:3])
        dtype = matmul_dtype(W)
        weights = None if real is None else real.to(W.dtype)  # [N]
        if weights is not None:
            readout = readout * weights.unsqueeze(1)
        low_readout, low_W = readout.to(dtype), W.to(dtype)
        packed_W, packed_W_t = Prepacked(low_W), Prepacked(low_W.t())
        grad_readout, grad_W, grad_bias = (
            torch.zeros_like(value) if needs_grad else value.new_empty(0)
            for value in (readout, W, bias)
        )
        log_probs = W.new_empty(readout.size(0), 1)
        cost = W.new_zeros(())
        rows = _chunk_size(W)
        scratch = W.new_empty(min(rows, readout.size(0)), W.size(0))
        with torch.autocast(W.device.type, enabled=False):
            for start in range(0, readout.size(0), rows):
                chunk = slice(start, start + rows)
                part, words = low_readout[chunk], targets[chunk].unsqueeze(1)  # [rows, 1]
                weight = None if weights is None else weights[chunk]
                logits = packed_W_t.addmm(bias, part)  # [rows, K]
                p = torch.softmax(logits, dim=1, out=scratch[: part.size(0)])
                log_probs[chunk] = _log_probs(logits, p, words)
                if smoothing:  # the normaliser cancels in differences of log-probabilities
                    differences = logits.mean(1, keepdim=True) - logits.gather(1, words)
                    cost -= smoothing * _sum_of_rows(differences.squeeze(1), weight)
                if needs_grad:
                    minus_target = p.new_full((1, 1), smoothing - 1).expand_as(words)
                    low_p = p.scatter_add_(1, words, minus_target).to(dtype)
                    grad_readout[chunk] = packed_W.matmul(low_p)
                    addmm_transposed_(grad_W, low_p, part)
                    grad_bias += _sum_of_rows(p, weight)
            cost -= _sum_of_rows(log_probs.squeeze(1), weights)
        if needs_grad and smoothing:
            share = smoothing / W.size(0)
            grad_readout -= share * W.sum(0)
            grad_W -= share * readout.sum(0)
            grad_bias -= share * (readout.size(0) if weights is None else weights.sum())
        if needs_grad and weights is not None:
            grad_readout *= weights.unsqueeze(1)
        ctx.save_for_backward(grad_readout, grad_W, grad_bias)
        return cost

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_readout, grad_W, grad_bias = ctx.saved_tensors
        return grad * grad_readout, grad * grad_W, grad * grad_bias, None, None, None


def _sum_of_rows(values: Tensor, weights: Tensor | None) -> Tensor:
    """Return the sum of the rows times their weights, if there are any. [N, ...] to [...]."""
    return values.sum(0) if weights is None else weights @ values
