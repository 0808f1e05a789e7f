"""Logistic regression against sklearn and against plain gradient descent."""

import numpy as np
import pytest

from nmtkit.inference.confidence.logistic import cross_validate, fit_weights, probabilities, sigmoid

RANDOM = np.random.default_rng(5)
START = RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Give each test the same random numbers, whichever tests ran before it."""
    RANDOM.bit_generator.state = START


def examples(count=300, features=4):
    z = RANDOM.normal(size=(count, features))
    targets = RANDOM.random(count) < sigmoid(z @ np.arange(1, features + 1) / 2 - 0.5)
    return z, targets


def smoothed(targets):
    n = int(targets.sum())
    return np.where(targets, (n + 1) / (n + 2), 1 / (len(targets) - n + 2))


@pytest.mark.parametrize("penalty", [1.0, 0.1, 0.001])
def test_weights_are_sklearns(penalty):
    """A smooth target is a true and a false example with weights."""
    from sklearn.linear_model import LogisticRegression  # not above: it takes a second

    z, targets = examples()
    soft = smoothed(targets)
    twice, labels = np.vstack([z, z]), np.repeat([True, False], len(z))
    oracle = LogisticRegression(C=1 / (penalty * len(z)), tol=1e-10, max_iter=10_000)
    oracle.fit(twice, labels, sample_weight=np.concatenate([soft, 1 - soft]))
    expected = [*oracle.coef_[0], oracle.intercept_[0]]
    np.testing.assert_allclose(fit_weights(z, targets, penalty), expected, atol=1e-4)


def test_weights_are_those_of_gradient_descent():
    z, targets = examples(60, 2)
    x, weights = np.column_stack([z, np.ones(len(z))]), np.zeros(3)
    ridge = np.array([0.1, 0.1, 0])
    for _ in range(20_000):
        error = 1 / (1 + np.exp(-x @ weights)) - smoothed(targets)
        weights -= 0.5 * (x.T @ error / len(x) + ridge * weights)
    np.testing.assert_allclose(fit_weights(z, targets, 0.1), weights, atol=1e-8)


@pytest.mark.parametrize("targets", [np.ones(20, bool), np.zeros(20, bool), np.arange(20) > 9])
def test_what_can_be_separated_has_finite_weights(targets):
    z = np.column_stack([np.arange(20) - 9.5, np.zeros(20)])
    weights = fit_weights(z, targets, 1e-4)
    p = sigmoid(z @ weights[:2] + weights[2])
    assert np.isfinite(weights).all() and np.all((p > 0.5) == targets)


def test_constant_features_have_no_weight_and_probabilities_are_those_of_the_record():
    z, targets = examples()
    features = np.column_stack([100 + 5 * z, np.full(len(z), 7.0)])
    names = tuple("abcde")
    fitted = cross_validate(names, features, targets, np.arange(len(z)))
    assert fitted.model.features == names and fitted.model.weights[-1] == pytest.approx(0, abs=1e-6)
    p = probabilities(fitted.model, features)
    assert ((p > 0.5) == targets).mean() > 0.75
    assert p != pytest.approx(fitted.probabilities)  # these are of examples left out
    far = probabilities(fitted.model, 1e9 * np.ones((1, 5)))
    assert 0 < far[0] < 1


def test_noise_is_penalised_more_than_signal():
    z, targets = examples(200, 20)
    lines = np.arange(200)
    noise = cross_validate(("x",) * 20, z, RANDOM.random(200) < 0.5, lines).penalty
    assert noise > cross_validate(("x",) * 20, z, targets, lines).penalty


def test_few_lines_can_be_fitted():
    fitted = cross_validate(("x",), np.array([[1.0], [2.0]]), np.array([False, True]), np.arange(2))
    assert np.isfinite(fitted.probabilities).all()
