"""Fitting the law of sizes and times."""

import math
from pathlib import Path

import pytest
from plan import Training, fit
from timing import BenchError

from nmtkit.training.scaling_law import (
    DATA_EXPONENT,
    DATA_FACTOR,
    EPOCHS_OF_USE,
    SIZE_EXPONENT,
    SIZE_FACTOR,
    START_FACTOR,
    expected_cost,
    useful_tokens,
)


def training(size: int, epochs: float, corpus: str = "one", factor: float = 1.0) -> Training:
    """Return a training that obeys the law with a = 0.7, b = 0.5, and 8 epochs of use."""
    tokens = 450_000
    repeats = max(epochs - 1, 0)
    useful = 0.45 * (min(epochs, 1) + 8 * (1 - math.exp(-repeats / 8)))
    cost = {"one": 0.9, "two": 1.7}[corpus] + 20 * size**-0.7 + factor * 0.6 * useful**-0.5
    return Training(Path(corpus), corpus, size, tokens, epochs, cost)


def test_constants_of_the_law_are_found_again() -> None:
    found = fit(
        [
            training(size, epochs, corpus)
            for size in (96, 192, 384)
            for epochs in (0.5, 2, 8, 30)
            for corpus in ("one", "two")
        ]
    )
    assert (found.a, found.b, found.epochs_of_use) == (0.7, 0.5, 8)
    assert found.size_factor == pytest.approx(20, rel=1e-6)
    assert found.data_factor == pytest.approx(0.6, rel=1e-6)
    assert found.worst < 1e-9


def test_trainings_that_obey_the_law_of_the_plans_give_its_constants() -> None:
    tokens = 450_000
    trainings = [
        Training(
            Path(),
            "one",
            size,
            tokens,
            epochs,
            1.3 + expected_cost(size, useful_tokens(epochs * tokens, tokens)),
        )
        for size in (96, 192, 384)
        for epochs in (2, 8, 17, 40)
    ]
    found = fit(trainings)
    assert (found.a, found.b) == (SIZE_EXPONENT, DATA_EXPONENT)
    assert found.epochs_of_use == EPOCHS_OF_USE
    factors = (found.size_factor, found.data_factor, found.start_factor)
    assert factors == pytest.approx((SIZE_FACTOR, DATA_FACTOR, START_FACTOR), rel=1e-6)


def test_trainings_that_get_worse_with_time_do_not_fit() -> None:
    worse = [training(size, epochs, factor=-1) for size in (96, 384) for epochs in (1, 4, 16)]
    with pytest.raises(BenchError, match="do not fit the law"):
        fit(worse)


def test_fewer_trainings_than_the_law_has_constants_tell_nothing() -> None:
    few = [training(size, epochs) for size in (96, 384) for epochs in (1, 4)]
    with pytest.raises(BenchError, match="4 trainings do not tell the law; give at least 5"):
        fit(few)
