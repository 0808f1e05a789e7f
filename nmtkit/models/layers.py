"""What more than one of the papers' models uses: softmax over words, maxout, initialisation."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from nmtkit.models.fast.matmul import Prepacked, addmm_transposed_, matmul_dtype, rows_at_once

LOGITS = 8_000_000
"""Logits held at a time, but for those of the fewest rows: 32 MB in float32."""

TINY = 1e-30
"""Probabilities in float32 lose digits soon below this."""


def masked_softmax(energies: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis, exactly 0 where `mask` is False (not everywhere in a row)."""
    return torch.softmax(energies.masked_fill(~mask, -torch.inf), dim=-1)


def maxout(readout: Tensor) -> Tensor:
    """The maximum of each two neighbours (Goodfellow et al. 2013). [..., 2l] to [..., l]."""
    return torch.maximum(readout[..., 0::2], readout[..., 1::2])


def matrix(*shape: int) -> nn.Parameter:
    """Parameters still to be drawn."""
    return nn.Parameter(torch.empty(*shape))


def bias(size: int) -> nn.Parameter:
    """Biases, still to be set."""
    return nn.Parameter(torch.empty(size))


def glorot(parameter: Tensor, width: int) -> None:
    """Glorot and Bengio 2010 for each of the matrices of so many columns that lie side by side;
    rows that are looked up, width 0, have length 1 on average."""
    if not width:
        parameter.normal_(std=parameter.size(1) ** -0.5)
        return
    bound = (6 / (parameter.size(-2) + width)) ** 0.5
    parameter.uniform_(-bound, bound)


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
    rows = _rows(W)
    with torch.no_grad():
        by_W_t = Prepacked(W.t())
        for start in range(0, hidden.size(0), rows):
            part, words = hidden[start : start + rows], targets[start : start + rows]
            logits = by_W_t.addmm(bias, part)
            picked = logits.gather(1, words.unsqueeze(1)).squeeze(1)
            chunks.append(picked - logits.logsumexp(1))
    return torch.cat(chunks) if chunks else hidden.new_zeros(0)


def _rows(W: Tensor) -> int:
    """How many rows of logits to make at a time.

    Each chunk reads and writes the gradient of W once, which l columns make dear; each row brings
    K logits, which should stay in a processor's cache. On the processors tried, 192 rows were best
    for l = 128, and for l = 500 448 to 512 (K = 10,000).
    """
    words, width = W.shape
    return rows_at_once(min(LOGITS // words, width + width // 2))


def _logs(
    probabilities: Tensor, hidden: Tensor, W: Tensor, bias: Tensor, targets: Tensor
) -> Tensor:
    """Logs of the targets' probabilities, found anew where they are too small. Shape: [N]."""
    logs = probabilities.log()
    tiny = (probabilities < TINY).nonzero().squeeze(1)
    if len(tiny):
        logs[tiny] = target_log_probs(hidden[tiny].to(W.dtype), W, bias, targets[tiny])
    return logs


class _SoftmaxCost(Function):
    """Cost and gradients in one pass over chunks of rows.

    With p the probabilities of a row, the gradient of its logits is p - (1 - e) [word = target]
    - e / K. The last term is a product of sums: it costs no pass over the logits.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, W: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> Tensor:
        wants = any(ctx.needs_input_grad[:3])
        kind = matmul_dtype(W)
        low_hidden, low_W = hidden.to(kind), W.to(kind)
        by_W, by_W_t = Prepacked(low_W), Prepacked(low_W.t())
        grad_hidden, grad_W, grad_bias = (
            torch.zeros_like(value) if wants else value.new_empty(0) for value in (hidden, W, bias)
        )
        found = W.new_empty(hidden.size(0))  # probabilities of the targets
        cost = W.new_zeros(())
        rows = _rows(W)
        scratch = W.new_empty(min(rows, hidden.size(0)), W.size(0))
        with torch.autocast(W.device.type, enabled=False):
            for start in range(0, hidden.size(0), rows):
                part, words = low_hidden[start : start + rows], targets[start : start + rows]
                logits = by_W_t.addmm(bias, part)  # [rows, K]
                p = torch.softmax(logits, dim=1, out=scratch[: part.size(0)])
                target = p.gather(1, words.unsqueeze(1))
                found[start : start + rows] = target.squeeze(1)
                if smoothing:  # log s = logit - log p, of any word
                    picked = logits.gather(1, words.unsqueeze(1)).squeeze(1)
                    cost -= smoothing * (logits.mean(1) - picked).sum()
                if wants:
                    less = p.new_full((1, 1), smoothing - 1).expand(words.size(0), 1)
                    low_p = p.scatter_add_(1, words.unsqueeze(1), less).to(kind)
                    grad_hidden[start : start + rows] = by_W.matmul(low_p)
                    addmm_transposed_(grad_W, low_p, part)
                    grad_bias += p.sum(0)
            cost -= _logs(found, hidden, W, bias, targets).sum()
        if wants and smoothing:
            share = smoothing / W.size(0)
            grad_hidden -= share * W.sum(0)
            grad_W -= share * hidden.sum(0)
            grad_bias -= share * hidden.size(0)
        ctx.save_for_backward(grad_hidden, grad_W, grad_bias)
        return cost

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_W, grad_bias = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_W, grad * grad_bias, None, None
