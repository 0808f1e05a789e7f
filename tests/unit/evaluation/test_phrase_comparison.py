"""Correlation of two scores of phrase pairs, and the best targets by each."""

import math
import random

import numpy as np
import pytest

from nmtkit.evaluation.phrase_comparison import (
    ComparedPhrase,
    PhraseComparison,
    ScoredPair,
    correlation,
    ranks,
)


def slow_correlation(xs, ys):
    """Compute the definition one number at a time."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    together = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    alone = [sum((v - mean) ** 2 for v in vs) for vs, mean in ((xs, mean_x), (ys, mean_y))]
    return together / math.sqrt(alone[0] * alone[1])


def slow_rank(value, values):
    """Return the mean of the ranks of all values equal to it."""
    below = sum(other < value for other in values)
    equal = sum(other == value for other in values)
    return below + (equal + 1) / 2


def pairs_of(tables, models):
    both = zip(tables, models, strict=True)
    return [ScoredPair("a", f"t{n}", table, model) for n, (table, model) in enumerate(both)]


def test_correlations_are_those_of_the_definitions():
    draw = random.Random(3)
    tables = [-draw.randrange(5) / 2 for _ in range(40)]
    models = [table - draw.randrange(9) for table in tables]
    actual = PhraseComparison(99, pairs_of(tables, models), 1, [], []).correlations()
    table_ranks = [slow_rank(v, tables) for v in tables]
    model_ranks = [slow_rank(v, models) for v in models]
    assert ranks(np.array(tables)).tolist() == table_ranks
    assert actual[0] == pytest.approx(slow_correlation(tables, models))
    assert actual[1] == pytest.approx(slow_correlation(table_ranks, model_ranks))
    assert actual[0] != pytest.approx(actual[1])


def test_laws_of_the_correlation():
    xs = np.array([-3.0, -1.0, -2.0, -7.0])
    assert correlation(xs, 2 * xs - 5) == pytest.approx(1)
    assert correlation(xs, -xs) == pytest.approx(-1)
    assert correlation(ranks(xs), ranks(-np.exp(-xs))) == pytest.approx(1)


@pytest.mark.parametrize(("tables", "models"), [([], []), ([-1], [-2]), ([0, 0], [-1, -2])])
def test_undefined_correlations_are_none(tables, models):
    actual = PhraseComparison(9, pairs_of(tables, models), 1, [], [])
    assert actual.correlations() == (None, None)
    assert "undefined" in actual.sentence()


def test_best_targets_of_either_model_keep_the_order_of_equals():
    phrase = ComparedPhrase("a", 7, pairs_of([-2, -1, -2, 0], [-9, -8, -3, -8]))
    assert [pair.tgt for pair in phrase.best_of_table(3)] == ["t3", "t1", "t0"]
    assert [pair.tgt for pair in phrase.best_of_model(3)] == ["t2", "t1", "t3"]
    assert len(phrase.best_of_model(9)) == 4


def test_the_summary_counts_what_was_drawn():
    actual = PhraseComparison(12345, pairs_of([0, -1, 0], [-1, -3, -2]), 1, [], [])
    assert actual.certain == 2
    assert actual.sentence().startswith("3 of 12,345 phrase pairs drawn")
    assert actual.sentence().endswith(": Pearson 0.866, Spearman 0.866")
