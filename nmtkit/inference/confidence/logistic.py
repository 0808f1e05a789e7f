"""Logistic regression by Newton's method, with a penalty chosen by cross-validation.

The cost is mean(-log p(y)) + penalty / 2 |w|^2 over standardised features, the bias not penalised.
The targets are Platt's (1999): (N1 + 1) / (N1 + 2) for the N1 true ones and 1 / (N0 + 2) for the
others, so that the solution is finite even if all are true, or the classes can be separated.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmtkit.io.calibration_record import LogisticRecord

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

PENALTIES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
"""Penalties that cross-validation chooses from."""

FOLDS = 5
"""Parts of cross-validation; a line belongs to the part of its number modulo this one."""

MAX_NEWTON_STEPS = 50
TOLERANCE = 1e-9
"""Newton's method ends when no weight changes by more."""

MAX_DEVIATIONS = 4.0
"""Standardised features are limited to this interval around 0, against outliers."""


@dataclass(frozen=True)
class CrossValidated:
    """A fitted model, and its predictions for the examples while they were left out.

    probabilities: of each example, by a model fitted on the other folds. Shape: [N].
    penalty: the best penalty.
    """

    model: LogisticRecord
    probabilities: Floats
    penalty: float


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    result: Floats = 0.5 * (1 + np.tanh(0.5 * x))
    return result


def probabilities(model: LogisticRecord, features: Floats) -> Floats:
    """Return p of each example. [N, features] to [N]."""
    z = _standardized(features, np.asarray(model.means), np.asarray(model.scales))
    return sigmoid(z @ np.asarray(model.weights) + model.bias)


def fit_weights(z: Floats, targets: Booleans, penalty: float) -> Floats:
    """Minimise the cost by Newton's method, halving steps that do not lower it.

    :param z: standardised features. Shape: [N, f].
    :param targets: Shape: [N].
    :return: the weights, and the bias last. Shape: [f + 1].
    """
    x = np.column_stack([z, np.ones(len(z))])
    positive = int(targets.sum())
    smooth = np.where(targets, (positive + 1) / (positive + 2), 1 / (len(z) - positive + 2))
    ridge = np.full(x.shape[1], penalty)
    ridge[-1] = 0.0
    weights = np.zeros(x.shape[1])
    cost = _cost(x, smooth, ridge, weights)
    for _ in range(MAX_NEWTON_STEPS):
        p = sigmoid(x @ weights)
        gradient = x.T @ (p - smooth) / len(x) + ridge * weights
        hessian = (x.T * (p * (1 - p))) @ x / len(x) + np.diag(ridge)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        while np.abs(step).max() > TOLERANCE:
            new = _cost(x, smooth, ridge, weights - step)
            if new <= cost:
                break
            step = step / 2
        else:
            return weights
        weights, cost = weights - step, new
    return weights


def cross_validate(
    names: tuple[str, ...], features: Floats, targets: Booleans, lines: NDArray[np.intp]
) -> CrossValidated:
    """Fit a model with the penalty whose held-out likelihood is best.

    :param names: of the features. features: Shape: [N, f].
    :param targets: Shape: [N].
    :param lines: line of each example; examples of a line stay together. Shape: [N].
    """
    means, scales = features.mean(0), features.std(0)
    scales = np.where(scales > 1e-9 * (1 + np.abs(means)), scales, 1.0)
    z = _standardized(features, means, scales)
    folds = lines % FOLDS
    logits = {penalty: _held_out_logits(z, targets, folds, penalty) for penalty in PENALTIES}
    penalty = min(PENALTIES, key=lambda one: _log_loss(logits[one], targets))
    *weights, bias = fit_weights(z, targets, penalty)
    record = LogisticRecord(
        features=names,
        means=rounded(means),
        scales=rounded(scales),
        weights=rounded(weights),
        bias=rounded([bias])[0],
    )
    return CrossValidated(record, sigmoid(logits[penalty]), penalty)


def rounded(values: "Floats | list[float]") -> tuple[float, ...]:
    """Return values with six digits, as they are stored."""
    return tuple(float(f"{value:.6g}") for value in values)


def _standardized(features: Floats, means: Floats, scales: Floats) -> Floats:
    z: Floats = np.clip((features - means) / scales, -MAX_DEVIATIONS, MAX_DEVIATIONS)
    return z


def _held_out_logits(
    z: Floats, targets: Booleans, folds: NDArray[np.intp], penalty: float
) -> Floats:
    """Return the logit of each example by a model that was fitted on the other folds."""
    logits = np.zeros(len(z))
    for fold in range(FOLDS):
        held_out = folds == fold
        if not held_out.any() or held_out.all():
            continue
        *weights, bias = fit_weights(z[~held_out], targets[~held_out], penalty)
        logits[held_out] = z[held_out] @ np.asarray(weights) + bias
    return logits


def _cost(x: Floats, targets: Floats, ridge: Floats, weights: Floats) -> float:
    logits = x @ weights
    likelihood = targets * logits - np.logaddexp(0, logits)
    return float(-likelihood.mean() + 0.5 * (ridge * weights**2).sum())


def _log_loss(logits: Floats, targets: Booleans) -> float:
    return float((np.logaddexp(0, logits) - targets * logits).mean())
