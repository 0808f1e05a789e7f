"""Orders the hypotheses of n-best lists anew and gives the best of each; also from Python.

    from nmtkit.smt.reranker import Reranker, Weighted
    from nmtkit.smt.nbest import read_nbest
    from nmtkit.smt.weights import read_weights
    for hypotheses in Reranker(Weighted(read_weights("tuned"))).reranked(read_nbest("list.gz")):
        print(hypotheses[0].hypothesis if hypotheses else "")

What a score is made of is one of four: the list's totals, weights, the even average of the total
and a model's log-probability (Sutskever et al. 2014, section 3.2), or, to see how good the list is,
BLEU against a reference.
"""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from nmtkit.errors import DataError
from nmtkit.evaluation.bleu_statistics import Reference, sentence_bleu
from nmtkit.evaluation.metrics import BleuScore, tokenized_bleu
from nmtkit.smt.feature_matrix import FeatureColumns, LinearScorer
from nmtkit.smt.nbest import Entry, by_sentence
from nmtkit.smt.tuning_list import reference_of
from nmtkit.smt.weights import HIDDEN, Weights

log = logging.getLogger("nmtkit")

MOST_MISSING = 1_000_000
"""Sentences in a row that a list may lack where it is not said how many there are: a number of many
digits would otherwise mean lines without end."""

Group = list[Entry]
"""The entries of one sentence."""

Scores = Callable[[Group], Sequence[float]]
"""Gives each entry of a sentence its score, higher for better."""


class Reranker:
    """Orders lists.

    :param scores: what it orders them by.

    best: the best hypotheses so far, empty where a sentence has none.
    missing: the sentences so far that have none.
    """

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self.best: list[str] = []
        self.missing = 0

    def reranked(self, entries: Iterable[Entry], sentences: int | None = None) -> Iterator[Group]:
        """The entries of each sentence from 0 on, best first, with the new score as their total.

        Equals stay in the order in which they were. A sentence that the list lacks gives no
        entries.

        :param sentences: how many there are; by default they end with the list's last.
        :raises DataError: the list is not in order, a line does not fit the scores, there is a
            sentence beyond the last, or, where that is not known, far beyond the one before.
        """
        number = 0
        for group in by_sentence(entries):
            sentence = group[0].sentence
            if sentences is not None and sentence >= sentences:
                raise DataError(
                    f"{group[0].where}: sentence {sentence}, counted from 0, is beyond the"
                    f" {sentences} sentences there are; give the list of the same text"
                )
            if sentences is None and sentence - number > MOST_MISSING:
                raise DataError(
                    f"{group[0].where}: sentence {sentence} comes where {number} was expected; mend"
                    " the number, or say how many sentences there are (--sentences)"
                )
            yield from (self._told([]) for _ in range(number, sentence))
            yield self._told(self._ordered(group))
            number = sentence + 1
        yield from (self._told([]) for _ in range(number, sentences or 0))

    def bleu(self, references: Sequence[str]) -> BleuScore:
        """Corpus BLEU of the best hypotheses, as multi-bleu counts it.

        :raises DataError: there are not as many references, or none.
        """
        return tokenized_bleu(self.best, references, ("the list", "the references"))

    def _told(self, group: Group) -> Group:
        self.best.append(group[0].hypothesis if group else "")
        self.missing += not group
        return group

    def _ordered(self, group: Group) -> Group:
        scores = [float(score) for score in self._scores(group)]
        for entry, score in zip(group, scores, strict=True):
            if math.isnan(score):
                raise DataError(
                    f"{entry.where}: its score is no number; a feature or the total is infinite"
                )
        order = sorted(range(len(group)), key=lambda n: -scores[n])
        return [group[n].with_total(scores[n]) for n in order]


def by_total(group: Group) -> list[float]:
    """The scores that the list has already."""
    return [entry.total for entry in group]


class Averaged:
    """The even average of the total and features: models' log-probabilities.

    :param names: features of one value each.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)

    def __call__(self, group: Group) -> list[float]:
        """:raises DataError: an entry lacks a feature, or it has several values."""
        return [self._average(entry) for entry in group]

    def _average(self, entry: Entry) -> float:
        features = entry.features
        values = [entry.total]
        for name in self._names:
            found = features.get(name)
            if found is None or len(found) != 1:
                raise DataError(
                    f"{entry.where}: has {'no' if found is None else len(found)} values of"
                    f" '{name}', where one is needed; it has the features {', '.join(features)}"
                )
            values.append(found[0])
        return sum(values) / len(values)


class Weighted:
    """The weighted sum of the features.

    A feature that has no weight counts nothing, and a warning names it.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._columns: FeatureColumns | None = None
        self._scale: LinearScorer | None = None

    def __call__(self, group: Group) -> list[float]:
        """:raises DataError: weights and list do not fit, or a line differs from the first."""
        if self._columns is None or self._scale is None:
            self._columns = FeatureColumns.of(group[0])
            self._scale = LinearScorer.of(self._columns, self._weights)
            self._tell(self._columns)
        features = np.array([self._columns.values(entry) for entry in group])
        totals = np.array([entry.total for entry in group])
        with np.errstate(invalid="ignore"):  # infinite values are found where scores are read
            return list(self._scale.scores(features, totals))

    def _tell(self, columns: FeatureColumns) -> None:
        path = self._weights.path
        if left := columns.without_weights(self._weights.values):
            log.warning("%s: has no weights of %s; they count nothing", path, ", ".join(left))
        hidden = [
            name
            for name in self._weights.values
            if name.startswith(HIDDEN) and name not in columns.sizes
        ]
        if hidden and self._weights.original is None:
            log.info("%s: not in the list, and left out: %s", path, ", ".join(hidden))


class Oracle:
    """BLEU of the sentence against its reference, Lin & Och's (`statistics.sentence_bleu`)."""

    def __init__(self, references: Sequence[str]) -> None:
        self._references = references

    def __call__(self, group: Group) -> list[float]:
        """:raises DataError: there is no reference for the sentence."""
        reference = Reference(reference_of(group[0], self._references))
        counts = np.array([reference.statistics(entry.hypothesis) for entry in group])
        return list(sentence_bleu(counts))
