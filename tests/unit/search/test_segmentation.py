"""Segmentation against the paper's equations, computed one segmentation at a time."""

import itertools
import math
import random
import statistics

import numpy as np
import pytest

from nmtkit.search.segmentation import best_segmentation, confidence, random_confidences, spans


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


CRITERIA = {  # the rows of the paper's table 2: with log q, divided
    "p(f|e)": (False, False),
    "p(f|e) + p(e|f)": (True, False),
    "p(f|e) + p(e|f) (p)": (True, True),
}


def slow_segmentation(log_p, log_q, words, longest, reverse, divided):
    """Return the segments and translations of least cost, by enumeration in float64.

    A cost is what the authors' code minimises: the negative log-probability, its mean over both
    directions, divided by the logarithm of the number of ids of the span, `</s>` among them, plus
    one.

    :param log_p, log_q: of each candidate of each span (start, end). Shape: [k].
    :return: the cost, and (span, candidate) of each segment.
    """

    def cost(span):
        costs = -np.asarray(log_p[span], dtype=np.float64)
        if reverse:
            costs = (costs - np.asarray(log_q[span], dtype=np.float64)) / 2
        ids = [*range(*span), "</s>"]
        return costs / np.log(np.float64(len(ids) + 1)) if divided else costs

    return min(
        (
            np.sum([cost(span).min() for span in parts]),
            [(span, int(cost(span).argmin())) for span in parts],
        )
        for parts in all_segmentations(words, longest)
    )


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("words", "longest"), [(1, 20), (2, 20), (5, 20), (7, 3), (9, 20)])
def test_each_row_of_table_2_is_that_of_enumeration(criterion, words, longest):
    reverse, divided = CRITERIA[criterion]
    for seed in range(5):
        draw = np.random.default_rng(seed)
        # log-probabilities that grow with the span, like those of a model
        log_p, log_q = (
            {
                (start, end): draw.normal(-1.5 * (end - start) ** 0.8 - 1, 0.5, size=4)
                for start, end in spans(words, longest)
            }
            for _ in range(2)
        )
        chosen = {}
        for start, end in spans(words, longest):
            chosen[start, end] = max(
                (confidence(p, end - start, q if reverse else None, divided), k)
                for k, (p, q) in enumerate(zip(log_p[start, end], log_q[start, end], strict=True))
            )
        parts = best_segmentation(words, {span: c for span, (c, _) in chosen.items()})
        cost, expected = slow_segmentation(log_p, log_q, words, longest, reverse, divided)
        assert [(span, chosen[span][1]) for span in parts] == expected
        assert sum(chosen[span][0] for span in parts) == pytest.approx(-cost, rel=1e-12)


def test_the_criteria_choose_different_segments():
    """If they did not, the test above would compare one thing three times."""
    draw = np.random.default_rng(1)
    log_p, log_q = (
        {span: draw.normal(-2 * (span[1] - span[0]) ** 0.8, 1, 4) for span in spans(9, 9)}
        for _ in range(2)
    )
    chosen = [slow_segmentation(log_p, log_q, 9, 9, *CRITERIA[name])[1] for name in CRITERIA]
    assert len({str(segments) for segments in chosen}) == 3


@pytest.mark.parametrize("words", [1, 2, 3, 20])
def test_confidence_divides_by_the_length_with_eos_plus_one(words):
    log_p, log_q = -3.7, -5.1
    expected = (log_p + log_q) / (2 * math.log(words + 2))
    assert confidence(log_p, words, log_q) == pytest.approx(expected, rel=1e-12)
    assert confidence(log_p, words) == pytest.approx(log_p / math.log(words + 2), rel=1e-12)


def test_without_penalty_confidence_does_not_depend_on_the_length():
    for words in (1, 2, 20):
        assert confidence(-3.0, words, penalty=False) == -3.0
        assert confidence(-3.0, words, -5.0, penalty=False) == -4.0


def test_a_longer_span_of_the_same_probability_is_more_confident():
    actual = [confidence(-1.0, words, -2.0) for words in range(1, 40)]
    assert actual == sorted(actual) and all(math.isfinite(value) for value in actual)
    assert len(set(actual)) == len(actual)
    assert confidence(0.0, 1, 0.0) == 0.0


def test_single_words_do_not_win_by_their_denominator():
    """If each word costs the same everywhere, a sentence is not split."""
    confidences = {
        (start, end): confidence(-0.5 * (end - start), end - start, -0.5 * (end - start))
        for start, end in spans(12, 12)
    }
    assert best_segmentation(12, confidences) == [(0, 12)]


def test_a_single_word_can_be_a_segment():
    confidences = {
        (start, end): confidence(-1.0 if end - start == 1 or start else -50.0, end - start, -1.0)
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
