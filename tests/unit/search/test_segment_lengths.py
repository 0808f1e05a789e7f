"""Random segmentations against an enumeration of all: mean and variance are as observed."""

import itertools
import math
import random
import statistics
from collections import Counter

import pytest

from nmtkit.search.segment_lengths import SegmentLengths

SEEN = [[3, 4], [2, 1, 4], [6], [5, 1], [1, 4, 2], [2, 2, 4], [6, 2], [3]]


def lengths_of_all(words, longest):
    """Return all sequences of numbers from 1 to `longest` with a given sum."""
    if not words:
        yield ()
    for first in range(1, min(words, longest) + 1):
        for rest in lengths_of_all(words - first, longest):
            yield (first, *rest)


def probabilities(law, words):
    """Compute P(S) = prod_k w(l_k) / Z_n for each segmentation separately."""
    shares = {
        parts: math.exp(sum(law.log_weights[length - 1] for length in parts))
        for parts in lengths_of_all(words, len(law.log_weights))
    }
    total = sum(shares.values())
    return {parts: share / total for parts, share in shares.items()}


def moments(weighted):
    """Compute mean and variance of the segment lengths of (lengths, frequency) pairs."""
    count = sum(times * len(parts) for parts, times in weighted)
    mean = sum(times * sum(parts) for parts, times in weighted) / count
    square = sum(times * sum(k * k for k in parts) for parts, times in weighted) / count
    return mean, square - mean * mean


@pytest.mark.parametrize("longest", [6, 8])
def test_mean_and_variance_are_those_observed(longest):
    law = SegmentLengths.fit(SEEN, longest)
    expected = [
        pair for line in SEEN for pair in probabilities(law, sum(line)).items()
    ]  # over sentences of the same lengths
    assert moments(expected) == pytest.approx(moments([(line, 1) for line in SEEN]), abs=1e-5)


def test_log_weights_are_linear_in_the_squared_length():
    one, two, three, four, *_ = SegmentLengths.fit(SEEN, 6).log_weights
    assert (three - two) / 5 == pytest.approx((two - one) / 3)
    assert (four - three) / 7 == pytest.approx((two - one) / 3)


def test_draws_are_as_frequent_as_they_are_likely():
    """Of 4,000 draws every segmentation is within 4.5 standard deviations."""
    law, n = SegmentLengths.fit(SEEN, 6), 4000
    drawn = Counter(tuple(end - start for start, end in law.draw(6, seed)) for seed in range(n))
    expected = probabilities(law, 6)
    assert set(drawn) <= set(expected)
    for parts, p in expected.items():
        assert abs(drawn[parts] / n - p) < 4.5 * math.sqrt(p * (1 - p) / n)


def test_segments_are_adjacent_and_cover_the_sentence():
    law = SegmentLengths.fit(SEEN, 7)
    for words in [0, 1, 2, 9, 500]:
        parts = law.draw(words, seed=words)
        assert [0, *(end for _, end in parts)] == [*(start for start, _ in parts), words]
        assert all(0 < end - start <= 7 for start, end in parts)
    assert law.draw(30, 1) == law.draw(30, 1) != law.draw(30, 2)


def test_drawn_segmentations_have_the_observed_mean_and_variance():
    draw = random.Random(1)
    seen = [draw.choices(range(1, 21), [4, 1, *[3] * 10, *[1] * 8], k=3) for _ in range(300)]
    law = SegmentLengths.fit(seen, 20)
    drawn = [
        end - start
        for number, line in enumerate(seen * 3)
        for start, end in law.draw(sum(line), number)
    ]
    lengths = list(itertools.chain(*seen))
    assert statistics.mean(drawn) == pytest.approx(statistics.mean(lengths), rel=0.04)
    assert statistics.stdev(drawn) == pytest.approx(statistics.stdev(lengths), rel=0.04)


@pytest.mark.parametrize(
    ("seen", "parts"),
    [([[5], [3], [4]], [4]), ([[1] * 5, [1] * 3], [1] * 4), ([[2, 2], [2] * 3], [2, 2])],
)
def test_constant_segmentations_are_drawn_again(seen, parts):
    law = SegmentLengths.fit(seen, 5)
    drawn = [[end - start for start, end in law.draw(sum(parts), seed)] for seed in range(50)]
    assert drawn.count(parts) > 45
