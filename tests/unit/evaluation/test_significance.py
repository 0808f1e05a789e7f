"""Intervals and p-values: sacreBLEU's own, and laws."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from nmtkit.evaluation.buckets import EvaluationSet
from nmtkit.evaluation.comparison import ComparisonConfig, compare
from nmtkit.evaluation.significance import interval, p_value, sample_sums

WORDS = ["un", "chien", "court", "sur", "la", "plage", "verte", "."]
SHORT = {"BLEU": "BLEU (sacreBLEU)", "chrF2": "chrF", "TER": "TER"}


def noisy(lines: list[str], seed: int, share: float) -> list[str]:
    rng = random.Random(seed)
    return [
        " ".join(rng.choice(WORDS) if rng.random() < share else word for word in line.split())
        for line in lines
    ]


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], dict[str, list[str]]]:
    rng = random.Random(3)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(40)]
    shares = {"a": 0.3, "b": 0.35, "c": 0.6}
    return references, {
        name: noisy(references, seed, shares[name]) for seed, name in enumerate(shares)
    }


def test_intervals_p_values_and_signatures_equal_sacrebleus(
    texts: tuple[list[str], dict[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    references, systems = texts
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    metrics = {"BLEU": BLEU(force=True), "chrF2": CHRF(), "TER": TER()}
    test = PairedTest([*systems.items()], metrics, [references], test_type="bs", n_samples=80)
    signatures, theirs = test()
    results: Any = theirs
    ours = compare(systems, EvaluationSet(references), ComparisonConfig(samples=80))
    for number, (key, name) in enumerate(SHORT.items(), start=1):
        for system, result in zip(systems, results[key], strict=True):
            figure = ours.whole.figures[name][system]
            assert figure.interval
            assert figure.value == pytest.approx(result.score)
            assert figure.interval.mean == pytest.approx(result.mean, rel=1e-6)
            assert figure.interval.margin == pytest.approx(result.ci, rel=1e-5)
            assert ours.scores[system][number].signature == str(signatures[key])
        against_a = [p.p for p in ours.whole.pairs if p.first == "a" and p.measure == name]
        assert against_a == pytest.approx([result.p_value for result in results[key][1:]])


def test_samples_have_the_size_of_the_test_set_and_replacement() -> None:
    numbers = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1]], dtype=np.float64)
    sums = sample_sums(numbers, 200, seed=4)
    assert sums.shape == (200, 3) and (sums[:, 2] == 3).all()
    assert {0, 1, 2, 3} == set(sums[:, 0].astype(int))
    assert sums[:, 0].mean() == pytest.approx(1, abs=0.2)
    np.testing.assert_array_equal(sums, sample_sums(numbers, 200, seed=4))
    assert (sums != sample_sums(numbers, 200, seed=5)).any()


def test_columns_of_all_systems_share_the_samples() -> None:
    numbers = np.random.default_rng(0).integers(0, 9, (12, 2)).astype(np.float64)
    twice = sample_sums(np.hstack([numbers, numbers]), 30)
    np.testing.assert_array_equal(twice[:, :2], twice[:, 2:])


def test_an_interval_cuts_off_one_fortieth_at_either_end() -> None:
    values = np.random.default_rng(1).permutation(80).astype(np.float64)
    actual = interval(values)
    assert (actual.low, actual.high, actual.mean, actual.margin) == (2, 77, 39.5, 37.5)
    one = interval(np.array([7.0]))
    assert (one.low, one.high, one.mean) == (7, 7, 7)


def slow_p(first: list[float], second: list[float], difference: float) -> float:
    distances = [abs(a - b) for a, b in zip(first, second, strict=True)]
    mean = sum(distances) / len(distances)
    larger = sum(1 for distance in distances if distance - mean > abs(difference))
    return (larger + 1) / (len(distances) + 1)


@pytest.mark.parametrize("difference", [0.0, 0.1, -0.3, 2.0])
def test_p_counts_the_samples_that_differ_more(difference: float) -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=60), rng.normal(size=60)
    actual = p_value(first, second, difference)
    assert actual == pytest.approx(slow_p(first.tolist(), second.tolist(), difference))
    assert actual == p_value(second, first, -difference)


def test_equal_systems_do_not_differ() -> None:
    same = np.array([1.0, 2.0, 3.0])
    assert p_value(same, same, 0.0) == 1


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 2), min_size=8, max_size=8), st.integers(-3, 3))
def test_samples_that_differ_as_much_do_not_differ_more(
    figures: list[tuple[int, int]], difference: int
) -> None:
    """Of eight samples the mean is exact, so that ties are."""
    first, second = (list(map(float, side)) for side in zip(*figures, strict=True))
    assume(difference or first != second)
    actual = p_value(np.array(first), np.array(second), difference)
    assert actual == slow_p(first, second, difference)
