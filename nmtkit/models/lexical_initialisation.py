"""Source embeddings that begin near those of their translations.

What a model learns about one word then holds for others from the first update on: how a source
embedding becomes the embedding of its translation is the same for all. With g(x, y) how strongly
two words belong together, d(x) the direction of sum_y sqrt(g(x, y)) E_y y, and e(x) that of the
embedding as it was drawn,

    E_x x = |E_x x| (c d(x) + sqrt(1 - c^2) e(x))

so that embeddings keep their lengths, and words that nothing translates keep theirs.
"""

import torch
from torch import Tensor

SIMILARITY = 0.9
"""c: cosine, about, between the embedding of a word and the mean of its translations'."""

SHORTEST = 1e-6
"""Length of a mean below which it has no direction."""


def lexical_embeddings(E_x: Tensor, E_y: Tensor, keys: Tensor, strengths: Tensor) -> Tensor:
    """Return source embeddings near those of their translations.

    :param E_x: as they were drawn. Shape: [K_x, m].
    :param E_y: Shape: [K_y, m].
    :param keys: source id * K_y + target id of word pairs. Shape: [entries], int64.
    :param strengths: g(x, y). Shape: [entries].
    :return: Shape: [K_x, m].
    """
    src, tgt = keys.div(len(E_y), rounding_mode="floor"), keys % len(E_y)
    weights = strengths.to(E_y.dtype).sqrt().unsqueeze(1)
    sums = torch.zeros_like(E_x).index_add_(0, src, weights * E_y[tgt])  # [K_x, m]
    lengths = E_x.norm(dim=1, keepdim=True)
    similar = SIMILARITY * _directions(sums) + (1 - SIMILARITY**2) ** 0.5 * _directions(E_x)
    return torch.where(sums.norm(dim=1, keepdim=True) > SHORTEST, lengths * similar, E_x)


def _directions(vectors: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vectors, dim=1, eps=SHORTEST)
