"""Tuning data: an n-best list with its references as arrays."""

import logging
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError, counted
from nmtkit.evaluation.bleu_statistics import STATISTICS_PER_SENTENCE, Reference, bleu
from nmtkit.evaluation.references import References, references_by_sentence
from nmtkit.smt.feature_matrix import FeatureColumns, Vector, round_scores
from nmtkit.smt.nbest import Entry, Features, group_by_sentence

log = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class TuningList:
    """Hypotheses of all sentences, concatenated.

    columns: layout of the features.
    features: Shape: [hypotheses, columns].
    rest: `Rest0`, the part of the totals that the features do not explain. Shape: [hypotheses].
    statistics: BLEU's sufficient statistics of each hypothesis. Shape: [hypotheses, 9].
    offsets: index of the first hypothesis of each sentence with hypotheses, and the end.
        Shape: [sentences + 1].
    missing: summed statistics of the sentences without hypotheses. Their translation is empty, but
        BLEU counts their references. Shape: [9].
    """

    columns: FeatureColumns
    features: Vector
    rest: Vector
    statistics: NDArray[np.int32]
    offsets: NDArray[np.int64]
    missing: NDArray[np.int64]

    def scores(self, weights: Vector, rest: float = 1.0) -> Vector:
        """Compute the score of each hypothesis. Shape: [hypotheses].

        :param weights: Shape: [columns].
        :param rest: weight of `Rest0`.
        """
        return self.features @ weights + rest * self.rest

    def best(self, weights: Vector, rest: float = 1.0) -> NDArray[np.int64]:
        """Return each sentence's hypothesis with the highest score, the first among equals.

        Shape: [sentences].
        """
        return segment_argmax(round_scores(self.scores(weights, rest), weights), self.offsets)

    def bleu(self, weights: Vector, rest: float = 1.0) -> float:
        """Compute corpus BLEU, between 0 and 1, of the best hypotheses under these weights."""
        chosen = self.statistics[self.best(weights, rest)]
        return float(bleu(chosen.sum(axis=0) + self.missing))


def segment_argmax(values: Vector, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the maximum of each segment, the first among equals.

    :param values: Shape: [values].
    :param offsets: start of each segment, at least one value long, and the end.
        Shape: [segments + 1].
    :return: indices into `values`. Shape: [segments].
    """
    starts = offsets[:-1]
    greatest = np.repeat(np.maximum.reduceat(values, starts), np.diff(offsets))
    candidates = np.flatnonzero(values == greatest)
    return np.asarray(candidates[np.searchsorted(candidates, starts)], dtype=np.int64)


def load_tuning_list(
    entries: Iterable[Entry],
    references: References,
    original: Features | None = None,
    path: str = "the weights",
) -> TuningList:
    """Load an n-best list with its references.

    :param references: one line per sentence, by its number; or several lists of lines.
    :param original: weights that the totals were computed with; without them `Rest0` is 0.
    :param path: origin of these weights, for messages.
    :raises DataError: a line is malformed, the list is empty or unsorted, a sentence has no
        reference, or the lists of references differ in length.
    """
    rows = references_by_sentence(references)
    features, totals, statistics = array("d"), array("d"), array("i")
    columns, counts, seen = None, [], set()
    for group in group_by_sentence(entries):
        columns = columns or _tunable_columns(group[0])
        reference = Reference(*references_for(group[0], rows))
        for entry in group:
            features.extend(check_finite(columns.row(entry), entry))
            totals.extend(check_finite([0.0] if original is None else [entry.total], entry))
            statistics.extend(reference.statistics(entry.hypothesis))
        counts.append(len(group))
        seen.add(group[0].sentence)
    if columns is None:
        raise DataError("the n-best list is empty; give one with hypotheses")
    if not columns.width:
        raise DataError("the n-best list has no features to tune; give a list with features")
    missing = [Reference(*row).statistics("") for i, row in enumerate(rows) if i not in seen]
    if missing:
        log.warning(
            "no hypotheses for %s of the references, which %s as an empty translation",
            counted(len(missing), "line"),
            "counts" if len(missing) == 1 else "count",
        )
    matrix = np.frombuffer(features).reshape(-1, columns.width)
    return TuningList(
        columns,
        matrix,
        _rest(matrix, np.frombuffer(totals), columns, original, path),
        np.frombuffer(statistics, dtype=np.int32).reshape(-1, STATISTICS_PER_SENTENCE),
        np.cumsum([0, *counts], dtype=np.int64),
        np.array(missing, dtype=np.int64).reshape(-1, STATISTICS_PER_SENTENCE).sum(axis=0),
    )


def _tunable_columns(entry: Entry) -> FeatureColumns:
    """Return the layout of the first line of a list.

    :raises DataError: it is malformed, or weights of a feature could not be written.
    """
    columns = FeatureColumns.from_entry(entry)
    for name in columns.sizes:
        if "#" in name:
            raise DataError(
                f"{entry.location}: the feature '{name}' cannot be tuned, because '#' begins a"
                " comment in a file of weights; give it another name"
            )
    return columns


def references_for(entry: Entry, references: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the references of a line's sentence.

    :param references: of each sentence.
    :raises DataError: the sentence number is beyond the references.
    """
    if entry.sentence >= len(references):
        raise DataError(
            f"{entry.location}: sentence {entry.sentence}, counted from 0, is beyond the"
            f" references' {counted(len(references), 'line')}; give those of the listed text"
        )
    return references[entry.sentence]


def check_finite(values: list[float], entry: Entry) -> list[float]:
    """Return the values if all are finite.

    :raises DataError: a value is infinite or not a number, so that no score can be computed.
    """
    if not isfinite(sum(values)):
        raise DataError(
            f"{entry.location}: a feature or the total is infinite or not a number; replace it with"
            " a finite number such as -1000"
        )
    return values


def _rest(
    features: Vector, totals: Vector, columns: FeatureColumns, original: Features | None, path: str
) -> Vector:
    if original is None:
        return np.zeros(len(totals))
    return np.asarray(totals - features @ columns.weight_vector(original, path), dtype=np.float64)
