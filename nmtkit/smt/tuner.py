"""Tuning of the feature weights of an n-best list, by MERT or MIRA.

From Python:

from nmtkit.smt.nbest import read_nbest
from nmtkit.smt.weights import read_weights
from nmtkit.smt.tuner import tune
tuned = tune(read_nbest("dev.1000best.gz"), references, read_weights("moses.ini"))
print(tuned.weights.text)
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from nmtkit.errors import DataError, counted
from nmtkit.evaluation.references import References
from nmtkit.progress_bar import ProgressBar
from nmtkit.smt.feature_matrix import FeatureColumns, Vector, check_rest
from nmtkit.smt.mert import MertConfig, WeightPoint, mert
from nmtkit.smt.mira import MiraConfig, mira
from nmtkit.smt.nbest import Entry, Features
from nmtkit.smt.numbers import MAX_NUMBER
from nmtkit.smt.tuning_list import TuningList, load_tuning_list
from nmtkit.smt.weights import HIDDEN_PREFIX, REST_FEATURE, Weights

log = logging.getLogger("nmtkit")

TunerConfig = MertConfig | MiraConfig

MIN_REST_WEIGHT = 1 / MAX_NUMBER
"""Weights are divided by that of `Rest0`, which therefore has to be larger than this."""

MIN_REST_DIFFERENCE = 1e-2
"""Smaller differences of `Rest0` within a sentence come from the rounding of printed numbers."""


@dataclass(frozen=True)
class TuningResult:
    """Tuned weights, and corpus BLEU on the list, between 0 and 1, before and after."""

    weights: Weights
    before: float
    after: float


def tune(
    entries: Iterable[Entry],
    references: References,
    start: Weights | None = None,
    config: TunerConfig | None = None,
) -> TuningResult:
    """Tune the weights on a list; deterministic for the same list, start and settings.

    Without a start all weights are equal. A feature without a starting weight starts at 0. The part
    of the totals that Moses does not print is kept as `Rest0` if the start gives the weights to
    compute it: in its section `[original-weight]` or, as in a moses.ini, through a weight of
    UnknownWordPenalty0.

    :param references: one line per sentence, by its number; or several lists of lines.
    :param config: settings of MERT (the default) or MIRA.
    :return: never worse on the list than the start.
    :raises DataError: the list does not match the weights or the references.
    """
    if start:
        check_rest(start)
    original = original_weights(start) if start else None
    path = start.path if start else ""
    entries = ProgressBar("read the list", "hypotheses").run(entries)
    tuning = load_tuning_list(entries, references, original, path)
    vector = _start_vector(tuning.columns, start)
    _log_list(tuning, path if original is not None else None)
    before = tuning.bleu(vector)
    log.info("BLEU %.2f with the starting weights", 100 * before)
    if isinstance(config, MiraConfig):
        point = mira(tuning, vector, config, log.info)
    else:
        point = mert(tuning, vector, config or MertConfig(), log.info)
    return TuningResult(_weights(tuning.columns, point, original), before, point.bleu)


def original_weights(start: Weights) -> Features | None:
    """Return the weights that the list's totals were computed with; None if unknown."""
    if start.original is not None:
        return start.original
    return start.values if any(name.startswith(HIDDEN_PREFIX) for name in start.values) else None


def _start_vector(columns: FeatureColumns, start: Weights | None) -> Vector:
    """Return the starting weights, scaled so that `Rest0` has weight 1. Shape: [columns]."""
    if start is None:
        return np.full(columns.width, 1.0 / columns.width)
    rest = columns.rest_weight(start.values, start.original)
    if rest <= MIN_REST_WEIGHT:
        raise DataError(
            f"{start.path}: the weight of '{REST_FEATURE}' is {rest:g}; it must be above"
            f" {MIN_REST_WEIGHT:g}"
        )
    if missing := columns.without_weights(start.values):
        log.info("%s: no weights for %s; starting at 0", start.path, ", ".join(missing))
    return np.asarray(columns.weight_vector(start.values, start.path) / rest, dtype=np.float64)


def _weights(columns: FeatureColumns, point: WeightPoint, original: Features | None) -> Weights:
    weights = Weights(columns.named_weights([float(w) for w in point.weights]))
    if original is None:
        return weights
    return replace(
        weights, values={**weights.values, REST_FEATURE: (point.rest,)}, original=original
    )


def _log_list(tuning: TuningList, path: str | None) -> None:
    """Log the size of the list and the range of `Rest0`.

    :param path: origin of the original weights; None if there are none.
    """
    sentences = len(tuning.offsets) - 1
    log.info(
        "%s of %s, %s",
        counted(len(tuning.features), "hypothesis"),
        counted(sentences, "sentence"),
        counted(tuning.columns.width, "feature"),
    )
    if path is None:
        return
    starts = tuning.offsets[:-1]
    lowest = np.minimum.reduceat(tuning.rest, starts)
    highest = np.maximum.reduceat(tuning.rest, starts)
    differing = int((highest - lowest > MIN_REST_DIFFERENCE).sum())
    log.info(
        "%s, the part of totals that the features do not explain: %.4g to %.4g; it differs between"
        " the hypotheses of %d sentences",
        REST_FEATURE,
        lowest.min(),
        highest.max(),
        differing,
    )
    if 2 * differing > sentences:
        log.warning(
            "%s differs within most sentences, which unknown words do not explain; check that the"
            " list was made with the weights of %s",
            REST_FEATURE,
            path,
        )
