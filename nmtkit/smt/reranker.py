"""Reranking of n-best lists.

    from nmtkit.smt.reranker import Reranker, WeightedScorer
    from nmtkit.smt.nbest import read_nbest
    from nmtkit.smt.weights import read_weights
    for hypotheses in Reranker(WeightedScorer(read_weights("tuned"))).rerank(read_nbest("list")):
        print(hypotheses[0].hypothesis if hypotheses else "")

There are four scores: the list's totals; a weighted sum of the features; the plain average of the
total and models' log-probabilities (Sutskever et al. 2014, section 3.2); and, to see how good the
list is, BLEU against a reference.
"""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from nmtkit.errors import DataError, counted
from nmtkit.evaluation.bleu_statistics import Reference, sentence_bleu
from nmtkit.evaluation.metrics import BleuScore, tokenized_bleu
from nmtkit.evaluation.references import References, references_by_sentence
from nmtkit.smt.feature_matrix import FeatureColumns, LinearScorer
from nmtkit.smt.nbest import Entry, group_by_sentence
from nmtkit.smt.tuning_list import references_for
from nmtkit.smt.weights import Weights

log = logging.getLogger("nmtkit")

MAX_MISSING_SENTENCES = 1_000_000
"""Maximum gap in the sentence numbers of a list if the number of sentences is not given.

Without a limit, a wrong sentence number could produce endless empty lines.
"""

Group = list[Entry]
"""Entries of one sentence."""

GroupScorer = Callable[[Group], Sequence[float]]
"""Computes a score for each entry of a sentence, higher is better."""


class Reranker:
    """Sorts the entries of each sentence by a score.

    :param scorer: computes the scores.

    best: best hypothesis of each sentence so far, empty for a sentence without hypotheses.
    missing: number of sentences so far without hypotheses.
    """

    def __init__(self, scorer: GroupScorer) -> None:
        self._scorer = scorer
        self.best: list[str] = []
        self.missing = 0

    def rerank(self, entries: Iterable[Entry], sentences: int | None = None) -> Iterator[Group]:
        """Yield the entries of each sentence from 0, best first, with the new score as total.

        Entries with equal scores keep their order. A sentence that the list lacks has no entries.

        :param sentences: their number; by default the list's last sentence is the last.
        :raises DataError: the list is unsorted, a line does not match the scorer, or a sentence
            number is too large: beyond `sentences` or, without it, far beyond the one before.
        """
        number = 0
        for group in group_by_sentence(entries):
            sentence = group[0].sentence
            if sentences is not None and sentence >= sentences:
                raise DataError(
                    f"{group[0].location}: sentence {sentence}, counted from 0, is beyond the"
                    f" {counted(sentences, 'sentence')} of the text; give the list of the same text"
                )
            if sentences is None and sentence - number > MAX_MISSING_SENTENCES:
                raise DataError(
                    f"{group[0].location}: sentence {sentence} comes where {number} was expected;"
                    " correct it, or give the number of sentences (--sentences)"
                )
            yield from (self._record([]) for _ in range(number, sentence))
            yield self._record(self._sorted_by_score(group))
            number = sentence + 1
        yield from (self._record([]) for _ in range(number, sentences or 0))

    def bleu(self, references: References) -> BleuScore:
        """Compute corpus BLEU of the best hypotheses, as multi-bleu does.

        :param references: one line per sentence, or several lists of lines.
        :raises DataError: the number of references differs, or is 0.
        """
        return tokenized_bleu(self.best, references, ("the list", "the references"))

    def _record(self, group: Group) -> Group:
        self.best.append(group[0].hypothesis if group else "")
        self.missing += not group
        return group

    def _sorted_by_score(self, group: Group) -> Group:
        scores = [float(score) for score in self._scorer(group)]
        for entry, score in zip(group, scores, strict=True):
            if math.isnan(score):
                raise DataError(
                    f"{entry.location}: the score is not a number: a feature or the total is"
                    " infinite or not a number; replace it with a finite number"
                )
        order = sorted(range(len(group)), key=lambda n: -scores[n])
        return [group[n].with_total(scores[n]) for n in order]


def total_scores(group: Group) -> list[float]:
    """Return the totals of the list as scores."""
    return [entry.total for entry in group]


class AverageScorer:
    """Plain average of the total and of features that are models' log-probabilities.

    :param names: features of one value each.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)

    def __call__(self, group: Group) -> list[float]:
        """Compute the averages.

        :raises DataError: an entry lacks a feature, or the feature has several values.
        """
        return [self._average(entry) for entry in group]

    def _average(self, entry: Entry) -> float:
        features = entry.features
        values = [entry.total]
        for name in self._names:
            feature = features.get(name)
            if feature is None or len(feature) != 1:
                raise DataError(
                    f"{entry.location}: has {'no' if feature is None else len(feature)} values of"
                    f" '{name}', where one is needed; it has the features"
                    f" {', '.join(features) or 'none'}"
                )
            values.append(feature[0])
        return sum(values) / len(values)


class WeightedScorer:
    """Weighted sum of the features.

    A feature without a weight gets weight 0, and a warning names it.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._columns: FeatureColumns | None = None
        self._scorer: LinearScorer | None = None

    def __call__(self, group: Group) -> list[float]:
        """Compute the weighted sums.

        :raises DataError: weights and list do not match, or a line's features differ from the
            first line's.
        """
        if self._columns is None or self._scorer is None:
            self._columns = FeatureColumns.from_entry(group[0])
            self._scorer = LinearScorer.from_weights(self._columns, self._weights)
            self._log_unmatched(self._columns)
        features = np.array([self._columns.row(entry) for entry in group])
        totals = np.array([entry.total for entry in group])
        with np.errstate(invalid="ignore"):  # infinite values are reported with the line
            return list(self._scorer.scores(features, totals))

    def _log_unmatched(self, columns: FeatureColumns) -> None:
        path = self._weights.path
        if missing := columns.without_weights(self._weights.values):
            log.warning("%s: no weight for %s; using 0", path, ", ".join(missing))
        hidden = [name for name in self._weights.values if columns.is_hidden(name)]
        if hidden and self._weights.original is None:
            log.info("%s: not in the list, ignored: %s", path, ", ".join(hidden))


class OracleScorer:
    """Sentence BLEU against the references, smoothed (`bleu_statistics.sentence_bleu`).

    :param references: one line per sentence, or several lists of lines.
    :raises DataError: the lists differ in length.
    """

    def __init__(self, references: References) -> None:
        self._references = references_by_sentence(references)

    def __call__(self, group: Group) -> list[float]:
        """Compute sentence BLEU.

        :raises DataError: the sentence has no reference.
        """
        reference = Reference(*references_for(group[0], self._references))
        statistics = np.array([reference.statistics(entry.hypothesis) for entry in group])
        return list(sentence_bleu(statistics))
