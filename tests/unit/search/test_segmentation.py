"""Segmentation against the paper's equations, computed one segmentation at a time."""

import itertools
import math
import random
import statistics

import pytest

from nmtkit.search.segmentation import (
    best_segmentation,
    confidence,
    random_confidences,
    spans,
)


def all_segmentations(words, longest):
    """Return all segmentations: between two words there is a boundary or none."""
    for cuts in itertools.product([False, True], repeat=max(words - 1, 0)):
        boundaries = [0, *(k + 1 for k, cut in enumerate(cuts) if cut), words] if words else [0]
        parts = list(itertools.pairwise(boundaries))
        if all(end - start <= longest for start, end in parts):
            yield parts


@pytest.mark.parametrize("words", range(6))
@pytest.mark.parametrize("longest", [1, 2, 4, 9])
def test_spans_are_those_of_all_segmentations(words, longest):
    actual = spans(words, longest)
    assert len(actual) == len(set(actual))
    assert set(actual) == {s for parts in all_segmentations(words, longest) for s in parts}


@pytest.mark.parametrize("longest", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("words", [1, 2, 3, 6, 10])
def test_dynamic_programming_finds_the_largest_total(words, longest):
    for seed in range(10):
        draw = random.Random(seed)
        confidences = {span: draw.uniform(-5, 0) for span in spans(words, longest)}
        totals = [
            (sum(confidences[span] for span in parts), parts)
            for parts in all_segmentations(words, longest)
        ]
        assert best_segmentation(words, confidences) == max(totals)[1]


def test_a_sentence_without_words_has_no_segments():
    assert best_segmentation(0, {}) == []


def test_ties_choose_the_longer_last_segment():
    confidences = dict.fromkeys(spans(4, 3), 0.0)
    assert best_segmentation(4, confidences) == [(0, 1), (1, 4)]


@pytest.mark.parametrize(("i", "j"), [(1, 2), (1, 3), (4, 20)])
def test_confidence_is_equation_2(i, j):
    log_p, log_q = -3.7, -5.1
    expected = (log_p + log_q) / (2 * abs(math.log(j - i + 1)))
    assert confidence(log_p, log_q, j - i + 1) == pytest.approx(expected, rel=1e-12)


def test_a_single_word_has_the_denominator_of_two_words():
    assert confidence(-1.0, -2.0, 1) == confidence(-1.0, -2.0, 2)
    assert confidence(-1.0, -2.0, 1) == pytest.approx(-3 / (2 * math.log(2)), rel=1e-12)
    assert confidence(0.0, 0.0, 1) == 0.0


def test_a_longer_span_of_the_same_probability_is_never_less_confident():
    actual = [confidence(-1.0, -2.0, words) for words in range(1, 40)]
    assert actual == sorted(actual) and all(math.isfinite(value) for value in actual)


def test_single_words_do_not_win_by_their_denominator():
    """If each word costs the same everywhere, a sentence is not split."""
    confidences = {
        (start, end): confidence(-0.5 * (end - start), -0.5 * (end - start), end - start)
        for start, end in spans(12, 12)
    }
    assert best_segmentation(12, confidences) == [(0, 12)]


def test_a_single_word_can_be_a_segment():
    confidences = {
        (start, end): confidence(-1.0 if end - start == 1 or start else -50.0, -1.0, end - start)
        for start, end in spans(3, 3)
    }
    assert best_segmentation(3, confidences) == [(0, 1), (1, 3)]


def test_random_confidences_are_uniform_between_minus_one_and_zero():
    values = list(random_confidences(400, 20, seed=1).values())
    assert all(-1 < value <= 0 for value in values)
    assert statistics.mean(values) == pytest.approx(-0.5, abs=0.02)
    assert statistics.variance(values) == pytest.approx(1 / 12, abs=0.005)


def test_random_confidences_depend_on_the_seed_only():
    one, same, other = (random_confidences(9, 4, seed) for seed in (5, 5, 6))
    assert one == same and one != other
    assert list(one) == spans(9, 4)
