"""Finds weights for the features of an n-best list; also from Python.

from nmtkit.smt.nbest import read_nbest
from nmtkit.smt.weights import read_weights
from nmtkit.smt.tuner import tune
tuned = tune(read_nbest("dev.1000best.gz"), references, read_weights("moses.ini"))
print(tuned.weights.text)
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nmtkit.errors import DataError
from nmtkit.smt.feature_matrix import FeatureColumns, Vector
from nmtkit.smt.mert import MertConfig, Point, mert
from nmtkit.smt.mira import MiraConfig, mira
from nmtkit.smt.nbest import Entry, Features
from nmtkit.smt.tuning_list import TuningList, load_tuning_list
from nmtkit.smt.weights import HIDDEN, REST, Weights

log = logging.getLogger("nmtkit")

MertOrMira = MertConfig | MiraConfig

VARIES = 1e-2
"""Differences of `Rest0` within a sentence below this are the rounding of printed numbers."""


@dataclass(frozen=True)
class Tuned:
    """The weights, and corpus BLEU on the list between 0 and 1 by the start's and by these."""

    weights: Weights
    before: float
    after: float


def tune(
    entries: Iterable[Entry],
    references: Sequence[str],
    start: Weights | None = None,
    config: MertOrMira | None = None,
) -> Tuned:
    """Tune on a list; the same list, start and settings give the same weights.

    Without a start all weights are alike. A feature that the start does not name begins at 0. What
    Moses hides is kept as `Rest0` where the start says of which weights it is measured: in
    its section `[original-weight]`, or, as in a moses.ini, by weighing UnknownWordPenalty0.

    :param references: one for each sentence, by its number.
    :param config: MERT's settings (the default) or MIRA's.
    :return: never worse on the list than the start.
    :raises DataError: the list and the weights or references do not fit.
    """
    original = original_of(start) if start else None
    path = start.path if start else ""
    tuning = load_tuning_list(entries, references, original, path)
    vector = _start_vector(tuning.columns, start)
    _tell(tuning, path if original is not None else None)
    before = tuning.bleu(vector)
    log.info("BLEU %.2f by the weights to start with", 100 * before)
    if isinstance(config, MiraConfig):
        point = mira(tuning, vector, config, log.info)
    else:
        point = mert(tuning, vector, config or MertConfig(), log.info)
    return Tuned(_weights(tuning.columns, point, original), before, point.bleu)


def original_of(start: Weights) -> Features | None:
    """The weights that the totals of the list were made with, as far as a start says so."""
    if start.original is not None:
        return start.original
    return start.values if any(name.startswith(HIDDEN) for name in start.values) else None


def _start_vector(columns: FeatureColumns, start: Weights | None) -> Vector:
    """Where to begin, `Rest0` having weight 1."""
    if start is None:
        return np.full(columns.width, 1.0 / columns.width)
    rest = start.values.get(REST, (1.0,))[0]
    if rest <= 0:
        raise DataError(f"{start.path}: the weight of '{REST}' is {rest:g}; it must be above 0")
    if left := columns.without_weights(start.values):
        log.info("%s: has no weights of %s, which begin at 0", start.path, ", ".join(left))
    return np.asarray(columns.vector(start.values, start.path) / rest, dtype=np.float64)


def _weights(columns: FeatureColumns, point: Point, original: Features | None) -> Weights:
    weights = Weights(columns.split([float(w) for w in point.weights]))
    if original is None:
        return weights
    return replace(weights, values={**weights.values, REST: (point.rest,)}, original=original)


def _tell(tuning: TuningList, path: str | None) -> None:
    """Say how large the list is, and what its totals have that it does not print.

    :param path: where the original weights come from; None where there are none.
    """
    sentences = len(tuning.offsets) - 1
    log.info(
        "%d hypotheses of %d sentences, %d features",
        len(tuning.features),
        sentences,
        tuning.columns.width,
    )
    if path is None:
        return
    starts = tuning.offsets[:-1]
    lowest = np.minimum.reduceat(tuning.rest, starts)
    highest = np.maximum.reduceat(tuning.rest, starts)
    differing = int((highest - lowest > VARIES).sum())
    log.info(
        "%s, what totals have beyond the features: %.4g to %.4g; it differs between the hypotheses"
        " of %d sentences",
        REST,
        lowest.min(),
        highest.max(),
        differing,
    )
    if 2 * differing > sentences:
        log.warning(
            "%s differs within most sentences, which unknown words would not make it do; see that"
            " the weights of %s are those that the list was made with",
            REST,
            path,
        )
