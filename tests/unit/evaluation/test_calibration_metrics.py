"""Calibration error, area under the ROC curve, and risk against coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.evaluation.calibration_metrics import (
    expected_calibration_error,
    risk_area,
    risk_coverage,
    roc_auc,
)

EXAMPLES = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=40)


@given(EXAMPLES)
def test_the_area_is_sklearns_and_the_share_of_pairs_in_order(examples):
    from sklearn.metrics import roc_auc_score  # not above: it takes a second in every process

    scores, outcomes = zip(*examples, strict=True)
    true = [s for s, o in examples if o]
    false = [s for s, o in examples if not o]
    if not true or not false:
        assert roc_auc(scores, outcomes) == 0.5
        return
    pairs = [(a > b) + 0.5 * (a == b) for a in true for b in false]
    assert roc_auc(scores, outcomes) == pytest.approx(np.mean(pairs))
    assert roc_auc(scores, outcomes) == pytest.approx(roc_auc_score(outcomes, scores))


def test_the_error_of_true_probabilities_is_small_and_of_wrong_ones_their_distance():
    random = np.random.default_rng(3)
    p = random.random(100_000)
    drawn = random.random(len(p)) < p
    for width in (False, True):
        assert expected_calibration_error(p, drawn, 10, width) < 0.01
        assert expected_calibration_error(p / 2, drawn, 10, width) == pytest.approx(0.25, abs=0.01)


def test_bins_of_equal_width_hold_what_is_between_their_bounds():
    p, outcomes = [0.05, 0.15, 0.19, 1.0], [0, 1, 0, 1]
    expected = (0.05 + 2 * abs(0.17 - 0.5) + 0) / 4
    assert expected_calibration_error(p, outcomes, 10, width=True) == pytest.approx(expected)


@given(EXAMPLES, st.integers(1, 30), st.sampled_from([0.5, 1.0]))
def test_risk_is_that_of_the_most_confident(examples, count, threshold):
    """A translation whose figure is the threshold is good."""
    confidences, good = zip(*examples, strict=True)
    points = risk_coverage(confidences, [float(one) for one in good], threshold, count)
    ranked = sorted(range(len(good)), key=lambda n: -confidences[n])
    for point in points:
        kept = ranked[: round(point.coverage * len(good))]
        assert point.risk == pytest.approx(1 - point.quality)
        assert point.quality == pytest.approx(np.mean([good[n] for n in kept]))
        assert point.threshold == min(confidences[n] for n in kept)
    assert points[-1].coverage == 1 and risk_area(points) <= 1
