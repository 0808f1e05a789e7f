"""Training with a softmax over some of the words, which are drawn anew for each batch.

The normaliser Z = sum_w exp(o_w) is estimated from a sample, as in Bengio and Senecal 2008 and Jean
et al. 2015, section 3. Each word w is drawn with a probability of its own, and the target words of
the batch are always there. With pi_w the probability that w is there in one way or the other,

    Z ~ sum over the words that are there of exp(o_w) / pi_w

whose expectation over batches and draws is Z. The cost is that of a softmax over these words with
o_w - log pi_w in place of o_w. Label smoothing spreads its share over these words only.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

FLATTENING = 0.75
"""Words are drawn in proportion to their frequency to this power, as in Mikolov et al. 2013."""

_HALVINGS = 60
"""Steps of the bisection for the factor of the frequencies."""


class SampledWords(NamedTuple):
    """The words of a batch's softmax.

    words: their ids, ascending. Shape: [S].
    targets: index in `words` of each target word. Shape: [N].
    log_probabilities: log pi_w. Shape: [S].
    """

    words: Tensor
    targets: Tensor
    log_probabilities: Tensor


class WordSampler:
    """Draws the words of each batch's softmax with torch's random generator of the CPU."""

    def __init__(self, counts: Sequence[int], size: int) -> None:
        """Compute the probabilities with which words are drawn.

        :param counts: how often each word of the vocabulary occurs in the training data.
        :param size: how many words to draw on average, besides the batch's own.
        """
        frequencies = torch.tensor(counts, dtype=torch.float64).clamp(min=1)
        self._frequencies = frequencies / frequencies.sum()  # [K]
        self._drawn = _probabilities(self._frequencies**FLATTENING, size)  # [K]

    def draw(self, targets: Tensor) -> SampledWords:
        """Draw words for a batch.

        :param targets: its target words. Shape: [N], int64.
        """
        is_there = torch.rand(len(self._drawn), dtype=torch.float64) < self._drawn
        on_host = targets.cpu()
        is_there[on_host] = True
        words = is_there.nonzero().squeeze(1)
        index = torch.cumsum(is_there, 0) - 1
        absent = (1 - self._drawn[words]) * (1 - self._frequencies[words]) ** len(targets)
        logs = torch.log1p(-absent).float()
        drawn = words, index[on_host], logs
        return SampledWords(*(part.to(targets.device, non_blocking=True) for part in drawn))


def _probabilities(weights: Tensor, size: int) -> Tensor:
    """Return probabilities of at most 1 in proportion to the weights, whose sum is `size`.

    All are 1 if there are not more words. Shapes: [K] to [K].
    """
    if size >= len(weights):
        return torch.ones_like(weights)
    low, high = 0.0, size / float(weights.min())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float((weights * middle).clamp(max=1).sum()) > size:
            high = middle
        else:
            low = middle
    return (weights * low).clamp(max=1)
