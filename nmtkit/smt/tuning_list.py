"""A whole n-best list with its references, as arrays: what weights are tuned on."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.evaluation.bleu_statistics import STATISTICS_PER_SENTENCE, Reference, bleu
from nmtkit.smt.feature_matrix import FeatureColumns, Vector, rounded
from nmtkit.smt.nbest import Entry, Features, by_sentence


@dataclass(frozen=True)
class TuningList:
    """The hypotheses of all sentences, one below the other.

    columns: what the features are called.
    features: [hypotheses, columns]
    rest: what the totals have beyond the features, and no weight changes. Shape: [hypotheses].
    statistics: what BLEU counts of each. Shape: [hypotheses, 9].
    offsets: where each sentence that has hypotheses begins, and the end. Shape: [sentences + 1].
    missing: the sum of the statistics of the sentences that have none: nothing is said for them,
        and BLEU counts their references. Shape: [9].
    """

    columns: FeatureColumns
    features: Vector
    rest: Vector
    statistics: NDArray[np.int32]
    offsets: NDArray[np.int64]
    missing: NDArray[np.int64]

    def scores(self, weights: Vector, rest: float = 1.0) -> Vector:
        """The score of each hypothesis.

        :param weights: Shape: [columns].
        :param rest: the weight of what the totals have beyond the features.
        """
        return self.features @ weights + rest * self.rest

    def best(self, weights: Vector, rest: float = 1.0) -> NDArray[np.int64]:
        """The hypothesis of each sentence with the highest score, the first among equals."""
        return first_best(rounded(self.scores(weights, rest), weights), self.offsets)

    def bleu(self, weights: Vector, rest: float = 1.0) -> float:
        """Corpus BLEU, between 0 and 1, of what these weights choose."""
        chosen = self.statistics[self.best(weights, rest)]
        return float(bleu(chosen.sum(axis=0) + self.missing))


def first_best(values: Vector, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the greatest value of each segment stands, the first one.

    :param values: Shape: [all].
    :param offsets: where the segments begin, none of them empty, and the end.
    """
    starts = offsets[:-1]
    greatest = np.repeat(np.maximum.reduceat(values, starts), np.diff(offsets))
    candidates = np.flatnonzero(values == greatest)
    return np.asarray(candidates[np.searchsorted(candidates, starts)], dtype=np.int64)


def load_tuning_list(
    entries: Iterable[Entry],
    references: Sequence[str],
    original: Features | None = None,
    path: str = "the weights",
) -> TuningList:
    """Read a list.

    :param references: one for each sentence, by its number.
    :param original: the weights that the totals were made with; without them what the totals have
        beyond the features is not known, and 0.
    :param path: where those come from, for messages.
    :raises DataError: a line is not as it should be, the list is empty, not in order, or has a
        sentence beyond the references.
    """
    features, totals, statistics = array("d"), array("d"), array("i")
    columns, counts, seen = None, [], set()
    for group in by_sentence(entries):
        columns = columns or FeatureColumns.of(group[0])
        reference = Reference(reference_of(group[0], references))
        for entry in group:
            features.extend(finite(columns.values(entry), entry))
            totals.extend(finite([entry.total] if original else [0.0], entry))
            statistics.extend(reference.statistics(entry.hypothesis))
        counts.append(len(group))
        seen.add(group[0].sentence)
    if columns is None:
        raise DataError("the n-best list is empty; give one with hypotheses")
    if not columns.width:
        raise DataError("the n-best list has no features; there is nothing to weigh")
    missing = [Reference(line).statistics("") for i, line in enumerate(references) if i not in seen]
    matrix = np.frombuffer(features).reshape(-1, columns.width)
    return TuningList(
        columns,
        matrix,
        _rest(matrix, np.frombuffer(totals), columns, original, path),
        np.frombuffer(statistics, dtype=np.int32).reshape(-1, STATISTICS_PER_SENTENCE),
        np.cumsum([0, *counts], dtype=np.int64),
        np.array(missing, dtype=np.int64).reshape(-1, STATISTICS_PER_SENTENCE).sum(axis=0),
    )


def reference_of(entry: Entry, references: Sequence[str]) -> str:
    """The reference of the sentence of a line.

    :raises DataError: there are not as many.
    """
    if entry.sentence >= len(references):
        raise DataError(
            f"{entry.where}: sentence {entry.sentence}, counted from 0, is beyond the references'"
            f" {len(references)} lines; give those of the text that the list was made from"
        )
    return references[entry.sentence]


def finite(values: list[float], entry: Entry) -> list[float]:
    """The same values.

    :raises DataError: one is infinite or no number, with which no score can be made.
    """
    if not isfinite(sum(values)):
        raise DataError(
            f"{entry.where}: has a feature or a total that is infinite or no number; write a great"
            " number, such as -1000, in its place"
        )
    return values


def _rest(
    features: Vector, totals: Vector, columns: FeatureColumns, original: Features | None, path: str
) -> Vector:
    if original is None:
        return np.zeros(len(totals))
    return np.asarray(totals - features @ columns.vector(original, path), dtype=np.float64)
