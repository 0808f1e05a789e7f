"""Whether a stream of lines is like the dev set, by log p per token of its translations.

Each line bets against the hypothesis that it is drawn as the lines of the dev set were: u, the
share of the dev set with a score as low, would be uniform. Capital multiplies by k u^(k - 1), the
power martingale of Vovk, Gammerman and Shafer 2005 (section 7.1, with k = 1/2), and grows if low
scores are frequent. By Ville's inequality it ever reaches C with probability 1 / C at most if the
lines are like the dev set, however many there are. It also stays small if they are only a little
harder: it shrinks as long as the mean of -log u is below 2 log 2 = 1.39 instead of 1.
"""

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from nmtkit.inference.confidence.estimator import usable_calibration
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translation import Translation
from nmtkit.io.calibration_record import CalibrationRecord

log = logging.getLogger("nmtkit")

POWER = 0.5
"""k of the power martingale."""

MAX_CAPITAL = 1e4
"""The stream is said to be unlike the dev set once capital has reached this."""

MAX_LEVELS = 64
"""Quantiles that are stored of the dev set, denser where scores are low."""


def score_levels(scores: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return scores, and the share of all scores that are at most as high; both ascend.

    :param scores: log p per token of each line of the dev set, at least one.
    """
    ordered = np.sort(np.asarray(scores, float))
    shares = np.geomspace(1 / len(ordered), 1, MAX_LEVELS)
    positions = np.unique(np.ceil(shares * len(ordered) - 1e-9).astype(np.intp))
    values = [float(f"{value:.6g}") for value in ordered[positions - 1]]
    return values, [float(f"{value:.6g}") for value in positions / len(ordered)]


class Familiarity:
    """The bets of a stream of lines.

    :param record: the calibration, with the scores of the dev set.
    """

    def __init__(self, record: CalibrationRecord) -> None:
        self._scores, self._levels = np.asarray(record.scores), np.asarray(record.levels)
        self._lowest = 1 / (record.pairs + 1)
        self._log_capital = 0.0

    def add(self, score: float) -> bool:
        """Add the score of a line; return whether the lines so far are unlike the dev set.

        :param score: log p per token of its translation.
        """
        share = float(np.interp(score, self._scores, self._levels, left=self._lowest))
        self._log_capital += math.log(POWER) + (POWER - 1) * math.log(max(share, self._lowest))
        return self._log_capital >= math.log(MAX_CAPITAL)


def watched(
    results: Iterable[list[Translation]], ensemble: Ensemble, folder: str | Path
) -> Iterator[list[Translation]]:
    """Yield the translations of lines; warn once if they are unlike those of the dev set.

    Without a calibration for these models, nothing is said.

    :param folder: model folder with the calibration.
    """
    record = usable_calibration(ensemble, folder)
    familiarity = None if record is None else Familiarity(record)
    for number, translations in enumerate(results, start=1):
        best = translations[0]
        if familiarity is not None and best.tokens:
            if familiarity.add(best.score / max(len(best.word_scores), 1)):
                _warn(number)
                familiarity = None
        yield translations


def _warn(lines: int) -> None:
    log.warning(
        "the first %d lines are unlike the text that the model was calibrated on: it may translate"
        " them fluently and wrongly; check them, or train a model on text like them",
        lines,
    )
