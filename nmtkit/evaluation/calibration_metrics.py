"""How good probabilities are: calibration error, area under the ROC curve, risk and coverage."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

EQUAL_MASS_BINS = 15
"""Bins with as many examples each, of the expected calibration error by default."""


class RiskPoint(NamedTuple):
    """What is kept if the least confident translations are left out.

    coverage: share of the translations kept. risk: share of bad ones among them.
    quality: their mean figure. threshold: the least confidence among them.
    """

    coverage: float
    risk: float
    quality: float
    threshold: float


def expected_calibration_error(
    probabilities: ArrayLike, outcomes: ArrayLike, bins: int = EQUAL_MASS_BINS, width: bool = False
) -> float:
    """Return the mean distance between probability and frequency over bins, weighted by size.

    Naeini et al. 2015; Guo et al. 2017. It is above 0 by chance even for true probabilities, by
    about 0.04 with 15 bins of a thousand examples.

    :param outcomes: what came true. Shape: [N].
    :param width: bins of equal width instead of equal size.
    :return: 0 without examples.
    """
    p, y = np.asarray(probabilities, float), np.asarray(outcomes, float)
    if not len(p):
        return 0.0
    order = np.argsort(p, kind="stable")
    if width:
        bounds = np.searchsorted(p[order], np.arange(1, bins) / bins)
        parts = np.split(order, bounds)
    else:
        parts = np.array_split(order, bins)
    errors = [len(part) * abs(p[part].mean() - y[part].mean()) for part in parts if len(part)]
    return float(sum(errors) / len(p))


def roc_auc(scores: ArrayLike, outcomes: ArrayLike) -> float:
    """Return the area under the ROC curve: how often a true example has the higher score.

    Ties count half (Mann and Whitney 1947).

    :return: 0.5 if all outcomes are equal.
    """
    x, y = np.asarray(scores, float), np.asarray(outcomes, bool)
    positive, negative = int(y.sum()), int((~y).sum())
    if not positive or not negative:
        return 0.5
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2  # from 1
    rank_sum = mean_ranks[inverse][y].sum()
    return float((rank_sum - positive * (positive + 1) / 2) / (positive * negative))


def risk_coverage(
    confidences: Sequence[float], qualities: Sequence[float], threshold: float, points: int = 20
) -> list[RiskPoint]:
    """Return risk and quality of the most confident translations, for growing coverage.

    El-Yaniv and Wiener 2010; Geifman and El-Yaniv 2017.

    :param qualities: figure of each translation; it is bad below `threshold`.
    :param points: number of coverages, evenly spaced up to 1; fewer if there are fewer lines.
    """
    order = np.argsort(-np.asarray(confidences, float), kind="stable")
    quality = np.asarray(qualities, float)[order]
    counts = np.unique(np.ceil(len(order) * np.arange(1, points + 1) / points).astype(np.intp))
    bad, total = (quality < threshold).cumsum(), quality.cumsum()
    return [
        RiskPoint(
            coverage=float(count / len(order)),
            risk=float(bad[count - 1] / count),
            quality=float(total[count - 1] / count),
            threshold=float(np.asarray(confidences, float)[order[count - 1]]),
        )
        for count in counts
        if count
    ]


def risk_area(points: Sequence[RiskPoint]) -> float:
    """Return the mean risk over all coverages of `risk_coverage`."""
    risks: NDArray[np.float64] = np.array([point.risk for point in points])
    return float(risks.mean()) if len(risks) else 0.0
