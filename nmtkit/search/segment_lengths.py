"""Random segmentations whose segments have given lengths on average.

The first control of Pouget-Abadie et al. 2014, section 5.1: "randomly segments an input sentence
such that the distribution of the lengths of random segments has its mean and variance identical to
those of the segments produced by our algorithm".

Departures and readings

The paper does not say how that is done. Lengths drawn one after the other until the sentence ends
would have the wrong mean, because the last one must be cut. Here a segmentation S of a sentence of
n words, with segments of l_1, l_2, ... words, is drawn as a whole, with probability

    P(S) = exp(sum_k (a + b l_k^2)) / Z_n,    Z_n = sum_{l = 1..longest} exp(a + b l^2) Z_{n-l},

Z_0 = 1. a and b maximise the likelihood of observed segmentations. So on average, over sentences of
the same lengths, the number of segments and the sum of their squared lengths are as observed; and
as the lengths sum to that of the sentence, so are mean and variance. Of all such distributions this
one has the largest entropy.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmtkit.search.segmentation import Span

RIDGE = 1e-9
"""L2 penalty on the parameters, per sentence. Without it the parameters would be infinite if all
sentences had the smallest or the largest possible number of segments."""

MAX_NEWTON_STEPS = 100
"""Maximum number of iterations; about ten are usual."""

GRADIENT_TOLERANCE = 1e-8
"""The largest entry of the gradient, per sentence, at which Newton's method stops."""


@dataclass(frozen=True)
class SegmentLengths:
    """A distribution over segmentations.

    log_weights: a + b l^2 for segments of l = 1, 2, ... words; longer ones are impossible.
    """

    log_weights: tuple[float, ...]

    @classmethod
    def fit(cls, lines: Sequence[Sequence[int]], longest: int) -> "SegmentLengths":
        """Fit the mean and variance of observed segment lengths.

        :param lines: segment lengths of each sentence, from 1 to `longest`.
        :param longest: maximum words of a segment.
        """
        # In units of the longest segment, so that a and b are of similar size.
        features = torch.tensor(
            [[1.0, (length / longest) ** 2] for length in range(1, longest + 1)],
            dtype=torch.float64,
        )  # [longest, 2]
        observed = features[[length - 1 for line in lines for length in line]].sum(0)
        sentences = Counter(sum(line) for line in lines)
        return cls(tuple((features @ _fit_parameters(features, observed, sentences)).tolist()))

    def draw(self, words: int, seed: int) -> list[Span]:
        """Draw a segmentation of a sentence of `words` words; it depends on the seed only."""
        log_z = _log_partitions(self._weights, words)
        uniform = random.Random(seed)
        segments: list[Span] = []
        end = words
        while end:
            probabilities = _last_segments(self._weights, log_z, end).softmax(0).tolist()
            [length] = uniform.choices(range(1, len(probabilities) + 1), probabilities)
            segments.append((end - length, end))
            end -= length
        return segments[::-1]

    @property
    def _weights(self) -> Tensor:
        return torch.tensor(self.log_weights, dtype=torch.float64)


def _last_segments(log_weights: Tensor, log_z: Tensor, words: int) -> Tensor:
    """Compute the log terms of Z_n: one for each length 1, 2, ... of the last segment."""
    longest = min(len(log_weights), words)
    return log_weights[:longest] + log_z[words - longest : words].flip(0)


def _log_partitions(log_weights: Tensor, words: int) -> Tensor:
    """Compute log Z_0 to log Z_n. Shape: [words + 1]."""
    log_z = torch.zeros(words + 1, dtype=torch.float64)
    for end in range(1, words + 1):
        log_z[end] = _last_segments(log_weights, log_z, end).logsumexp(0)
    return log_z


def _moments(features: Tensor, parameters: Tensor, words: int) -> tuple[Tensor, Tensor, Tensor]:
    """Compute log Z_n, and mean and covariance of the summed features, for n = 0 to `words`.

    A segmentation is its last segment and a segmentation of the words before it, so mean and
    covariance are those of the mixture over the last segment.

    :param features: (1, l^2) of segments of l = 1, 2, ... words. Shape: [longest, 2].
    :return: Shapes: [words + 1], [words + 1, 2], [words + 1, 2, 2].
    """
    log_weights = features @ parameters
    log_z = _log_partitions(log_weights, words)
    mean = features.new_zeros(words + 1, 2)
    covariance = features.new_zeros(words + 1, 2, 2)
    for end in range(1, words + 1):
        probabilities = _last_segments(log_weights, log_z, end).softmax(0)
        before = slice(end - len(probabilities), end)
        sums = features[: len(probabilities)] + mean[before].flip(0)
        mean[end] = probabilities @ sums
        deviations = sums - mean[end]
        within = torch.einsum("l,lij->ij", probabilities, covariance[before].flip(0))
        covariance[end] = within + (deviations.T * probabilities) @ deviations
    return log_z, mean, covariance


def _fit_parameters(features: Tensor, observed: Tensor, sentences: Counter[int]) -> Tensor:
    """Maximise the likelihood, which is concave, over (a, b) by Newton's method.

    :param observed: sum of the features of all observed segments. Shape: [2].
    :param sentences: sentence length -> number of sentences.
    """
    lengths = torch.tensor(list(sentences))
    counts = torch.tensor(list(sentences.values()), dtype=torch.float64)
    ridge = RIDGE * float(counts.sum())
    parameters, step, highest = torch.zeros_like(observed), torch.zeros_like(observed), -torch.inf
    for _ in range(MAX_NEWTON_STEPS):
        log_z, mean, covariance = _moments(features, parameters + step, int(lengths.max()))
        new = parameters + step
        likelihood = float(observed @ new - counts @ log_z[lengths] - ridge / 2 * new @ new)
        if likelihood < highest:
            step = step / 2
            continue
        parameters, highest = new, likelihood
        gradient = observed - counts @ mean[lengths] - ridge * parameters
        if float(gradient.abs().max()) < GRADIENT_TOLERANCE * float(counts.sum()):
            break
        curvature = torch.einsum("n,nij->ij", counts, covariance[lengths])
        step = torch.linalg.solve(curvature + ridge * torch.eye(2, dtype=torch.float64), gradient)
    return parameters
