"""Blocks of tokens, whose maxima stand for them: the best tokens are found without sorting all.

The best c tokens lie in the c best blocks, because each better block holds a better token.
"""

import torch
from torch import Tensor

BLOCK_TOKENS = 16
"""Tokens of a block; only its largest log-probability is kept."""

GROUP_TOKENS = 1024
"""Tokens of a group of 64 blocks: block j of a group has its tokens j, j + 64, j + 128, ... This
makes the maxima element-wise over long rows. Rows of log-probabilities are whole groups."""


def maxima_of_blocks(values: Tensor) -> Tensor:
    """Compute the maximum of each block of tokens. [r, w] to [r, w / BLOCK_TOKENS]."""
    blocks = values.view(len(values), -1, BLOCK_TOKENS, GROUP_TOKENS // BLOCK_TOKENS)
    return blocks.amax(2).flatten(1)


def block_tokens(blocks: Tensor) -> Tensor:
    """Return the tokens of blocks. [...] to [..., BLOCK_TOKENS]."""
    stride = GROUP_TOKENS // BLOCK_TOKENS
    group = blocks.div(stride, rounding_mode="floor")
    inside = torch.arange(0, GROUP_TOKENS, stride, device=blocks.device)
    return (blocks + group * (GROUP_TOKENS - stride)).unsqueeze(-1) + inside


def best_tokens(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the best tokens of each row, best first, and their values.

    :param values: -inf beyond the last token. Shape: [r, w], w a multiple of `GROUP_TOKENS`.
    :param count: c; fewer are returned only if fewer than w exist.
    :return: Shape of each: [r, c].
    """
    maxima = maxima_of_blocks(values)
    blocks = maxima.topk(min(count, maxima.size(1)), dim=1, sorted=False).indices
    tokens = block_tokens(blocks).flatten(1)  # [r, c * BLOCK_TOKENS]
    best = values.gather(1, tokens).topk(min(count, tokens.size(1)), dim=1)
    return best.values, tokens.gather(1, best.indices)
