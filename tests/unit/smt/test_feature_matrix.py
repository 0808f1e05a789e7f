"""Features become columns by name, and weights are aligned with them."""

import numpy as np
import pytest

from nmtkit.errors import DataError
from nmtkit.smt.feature_matrix import FeatureColumns, LinearScorer, round_scores, round_weights
from nmtkit.smt.nbest import Features, parse
from nmtkit.smt.weights import Weights

ENTRY = parse("0 ||| x ||| LM0= -44.5 TM0= 1 2 E= ||| -1", "l", 1)
COLUMNS = FeatureColumns.from_entry(ENTRY)


def entry(features):
    return parse(f"0 ||| x ||| {features} ||| -1", "l", 2)


def test_columns_are_those_of_the_first_line():
    assert COLUMNS.sizes == {"LM0": 1, "TM0": 2, "E": 0}
    assert COLUMNS.width == 3
    assert COLUMNS.row(ENTRY) == [-44.5, 1.0, 2.0]
    assert COLUMNS.row(entry("LM0= 1e-5   TM0= 2 3  E= ")) == [1e-5, 2.0, 3.0]
    assert COLUMNS.named_weights([7, 8, 9]) == {"LM0": (7.0,), "TM0": (8.0, 9.0), "E": ()}


def test_the_mark_behind_a_name_makes_no_difference():
    assert FeatureColumns.from_entry(entry("LM0: 1 TM0: 2 3 E:")) == COLUMNS
    assert COLUMNS.row(entry("LM0: 1 TM0: 2 3 E:")) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("LM0= 1 TM0= 2 E=", r"has the features LM0 \(1\), TM0 \(1\), E \(0\), but the first line"),
        ("LM0= 1 TM0= 2 3", "has the features"),
        ("LM0= 1 TM0= 2 3 E= 4", "has the features"),
        ("LM0= 1 TM0= 2 3 E= F= 4", "has the features"),
        ("TM0= 2 3 LM0= 1 E=", "has the features"),
        ("", "has the features none, but"),
        ("LM0= x TM0= 2 3 E=", "is 'x', which is not a number"),
        ("LM0= 1 TM0= 2 y E=", "is 'y', which is not a number"),
    ],
)
def test_a_line_with_other_features_is_reported(features, message):
    with pytest.raises(DataError, match=f"^l:2: .*{message}"):
        COLUMNS.row(entry(features))


def test_the_feature_name_rest_is_reserved():
    with pytest.raises(DataError, match="the feature name 'Rest0' is reserved"):
        FeatureColumns.from_entry(entry("Rest0= 1"))


def test_weights_are_aligned_with_the_columns():
    weights = {"TM0": (5.0, 6.0), "Rest0": (2.0,), "UnknownWordPenalty0": (1.0,)}
    assert COLUMNS.weight_vector(weights, "w").tolist() == [0, 5, 6]
    assert COLUMNS.without_weights(weights) == ["LM0", "E"]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            {"XM0": (1.0,)},
            r"w: has weights for 'XM0', which is not a feature of the list; it has LM0",
        ),
        ({"TM0": (1.0,)}, "w: has 1 weights for 'TM0', which has 2 values"),
        ({"Rest0": (1.0, 2.0)}, "w: 'Rest0' has 2 weights; give one number"),
        ({"UnknownWordPenalty0": (1.0, 2.0)}, "'UnknownWordPenalty0' has 2 weights"),
    ],
)
def test_weights_that_do_not_match_are_reported(weights, message):
    with pytest.raises(DataError, match=message):
        COLUMNS.weight_vector(weights, "w")


def test_a_score_is_the_weighted_sum_and_the_rest():
    features = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    totals = np.array([-90.0, -7.0])
    weights = {"LM0": (2.0,), "TM0": (0.5, -1.0)}
    plain = LinearScorer.from_weights(COLUMNS, Weights(weights)).scores(features, totals)
    assert plain == pytest.approx([2 + 1 - 3, 0.5])
    original = {"LM0": (1.0,), "TM0": (0.0, 10.0)}
    rest = np.array([-90 - 1 - 30, -7])
    for weight in (1.0, 3.0):
        with_rest = Weights({**weights, "Rest0": (weight,)}, original)
        scores = LinearScorer.from_weights(COLUMNS, with_rest).scores(features, totals)
        assert scores == pytest.approx(plain + weight * rest)
    assert LinearScorer.from_weights(COLUMNS, Weights(weights, original)).rest == 1.0


@pytest.mark.parametrize(("before", "expected"), [(1.0, 0.8), (0.5, 1.6), (0.0, 1.0)])
def test_a_changed_weight_of_unknown_words_counts(before: float, expected: float) -> None:
    # as of tuned weights that were copied into a moses.ini
    weights: Features = {"LM0": (0.1,), "UnknownWordPenalty0": (0.8,)}
    original: Features = {"LM0": (0.2,), "UnknownWordPenalty0": (before,)}
    scorer = LinearScorer.from_weights(COLUMNS, Weights(weights, original))
    assert scorer.rest == pytest.approx(expected)


def test_the_original_weights_give_the_totals_themselves():
    weights = {"LM0": (0.1,), "TM0": (1 / 3, 1e-3)}
    scale = LinearScorer.from_weights(COLUMNS, Weights(weights, weights))
    totals = np.array([-4.40479, -100.1])
    assert scale.scores(np.array([[0.1, 0.7, 9.0]] * 2), totals).tolist() == totals.tolist()


def test_rest_needs_the_original_weights():
    with pytest.raises(
        DataError, match=r"w: has a weight for 'Rest0' but no section \[original-weight\]"
    ):
        LinearScorer.from_weights(COLUMNS, Weights({"Rest0": (1.0,)}, path="w"))


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 1e6, 1e30])
def test_rounding_follows_the_size_of_the_weights(size):
    noisy = size * np.array([0.1 + 0.2, 0.3, 0.3 + 1e-6])
    first, second, third = round_scores(noisy, size * np.array([0.4, -0.6]))
    assert first == second < third


def test_weights_are_rounded_to_nine_digits():
    assert round_weights(np.array([1 / 3, -2e-20 / 3, 0.0])).tolist() == [
        0.333333333,
        -6.66666667e-21,
        0,
    ]
    assert round_scores(np.array([1.5]), np.zeros(2)).tolist() == [1.5]
