"""Random segmentations whose segments have given lengths on average.

The first control of Pouget-Abadie et al. 2014, section 5.1: "randomly segments an input sentence
such that the distribution of the lengths of random segments has its mean and variance identical to
those of the segments produced by our algorithm".

Departures and readings

The paper does not say how that is done. Lengths drawn one after the other until the sentence is
used up would have the wrong mean: the last one must be cut. Here a segmentation S of a sentence of
n words, with segments of l_1, l_2, ... words, is drawn as a whole, with probability

    P(S) = exp(sum_k (a + b l_k^2)) / Z_n,    Z_n = sum_{l = 1..longest} exp(a + b l^2) Z_{n-l},

Z_0 = 1. The two parameters are those of the largest likelihood of segmentations that were seen. So
the number of segments and the sum of the squares of their lengths are on average, over sentences of
the same lengths, what they were there, and with the sum of the lengths, which is that of the
sentences, so are mean and variance. Among all such distributions this is the one of the largest
entropy: random in all else.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmtkit.search.segmentation import Span

RIDGE = 1e-9
"""What the squares of the parameters cost, for each sentence: where all sentences have the fewest
segments they can have, or the most, they would be infinite."""

ROUNDS = 100
"""Newton steps at most; ten are usual."""

CLOSE = 1e-8
"""The gradient's largest entry, for each sentence, at which the parameters are found."""


@dataclass(frozen=True)
class SegmentLengths:
    """The distribution of random segmentations.

    log_weights: a + b l^2 for segments of l = 1, 2, ... words, and no longer ones.
    """

    log_weights: tuple[float, ...]

    @classmethod
    def fitted(cls, lines: Sequence[Sequence[int]], longest: int) -> "SegmentLengths":
        """The one with the mean and variance of segments that were seen.

        :param lines: the lengths of the segments of each sentence, from 1 to `longest`.
        :param longest: words of a segment at most.
        """
        # In the unit of the longest segment, so that a and b are of like size. Shape: [longest, 2].
        features = torch.tensor(
            [[1.0, (length / longest) ** 2] for length in range(1, longest + 1)],
            dtype=torch.float64,
        )
        seen = features[[length - 1 for line in lines for length in line]].sum(0)
        sentences = Counter(sum(line) for line in lines)
        return cls(tuple((features @ _likeliest(features, seen, sentences)).tolist()))

    def draw(self, words: int, seed: int) -> list[Span]:
        """A random segmentation of a sentence of so many words; the seed decides which."""
        log_z = _log_partitions(self._weights, words)
        uniform = random.Random(seed)
        chosen: list[Span] = []
        end = words
        while end:
            shares = _last_segments(self._weights, log_z, end).softmax(0).tolist()
            [length] = uniform.choices(range(1, len(shares) + 1), shares)
            chosen.append((end - length, end))
            end -= length
        return chosen[::-1]

    @property
    def _weights(self) -> Tensor:
        return torch.tensor(self.log_weights, dtype=torch.float64)


def _last_segments(log_weights: Tensor, log_z: Tensor, words: int) -> Tensor:
    """What a last segment of 1, 2, ... words has of Z_n, logarithms."""
    longest = min(len(log_weights), words)
    return log_weights[:longest] + log_z[words - longest : words].flip(0)


def _log_partitions(log_weights: Tensor, words: int) -> Tensor:
    """log Z_0 to log Z_n. Shape: [words + 1]."""
    log_z = torch.zeros(words + 1, dtype=torch.float64)
    for end in range(1, words + 1):
        log_z[end] = _last_segments(log_weights, log_z, end).logsumexp(0)
    return log_z


def _moments(features: Tensor, parameters: Tensor, words: int) -> tuple[Tensor, Tensor, Tensor]:
    """log Z_n, and mean and covariance of the summed features of a segmentation, n = 0 .. words.

    A segmentation is its last segment and one of the words before it; mean and covariance are those
    of the mixture over the last segment.

    :param features: (1, l^2) of segments of l = 1, 2, ... words. Shape: [longest, 2].
    :return: Shapes: [words + 1], [words + 1, 2], [words + 1, 2, 2].
    """
    log_weights = features @ parameters
    log_z = _log_partitions(log_weights, words)
    mean = features.new_zeros(words + 1, 2)
    covariance = features.new_zeros(words + 1, 2, 2)
    for end in range(1, words + 1):
        shares = _last_segments(log_weights, log_z, end).softmax(0)
        before = slice(end - len(shares), end)
        sums = features[: len(shares)] + mean[before].flip(0)
        mean[end] = shares @ sums
        apart = sums - mean[end]
        inside = torch.einsum("l,lij->ij", shares, covariance[before].flip(0))
        covariance[end] = inside + (apart.T * shares) @ apart
    return log_z, mean, covariance


def _likeliest(features: Tensor, seen: Tensor, sentences: Counter[int]) -> Tensor:
    """The parameters (a, b) of the largest likelihood, by Newton's method; it is concave.

    :param seen: the features of all segments seen, added up. Shape: [2].
    :param sentences: length of a sentence -> how many there were.
    """
    lengths = torch.tensor(list(sentences))
    counts = torch.tensor(list(sentences.values()), dtype=torch.float64)
    cost = RIDGE * float(counts.sum())
    parameters, step, highest = torch.zeros_like(seen), torch.zeros_like(seen), -torch.inf
    for _ in range(ROUNDS):
        log_z, mean, covariance = _moments(features, parameters + step, int(lengths.max()))
        new = parameters + step
        likelihood = float(seen @ new - counts @ log_z[lengths] - cost / 2 * new @ new)
        if likelihood < highest:
            step = step / 2
            continue
        parameters, highest = new, likelihood
        gradient = seen - counts @ mean[lengths] - cost * parameters
        if float(gradient.abs().max()) < CLOSE * float(counts.sum()):
            break
        curvature = torch.einsum("n,nij->ij", counts, covariance[lengths])
        step = torch.linalg.solve(curvature + cost * torch.eye(2, dtype=torch.float64), gradient)
    return parameters
