"""Sufficient statistics of a system's translations, from which any part of a test set is evaluated.

A figure of a bucket or of a bootstrap sample costs one sum, see `nmtkit.evaluation.metrics`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmtkit.evaluation.bleu_tokenizer import BleuTokenizer
from nmtkit.evaluation.metrics import (
    USUAL_TOKENIZER,
    Metric,
    MetricScore,
    RetokenizedTexts,
    select_metrics,
)
from nmtkit.evaluation.references import FILE_NAMES, References, check_line_counts, reference_sets
from nmtkit.evaluation.retokenize import Retokenizer

Statistics = NDArray[np.float64]


@dataclass(frozen=True)
class SystemStatistics:
    """One metric of one system, for any of its sentences.

    metric: entry of the registry.
    score: of all sentences.
    per_sentence: sufficient statistics. Shape: [sentences, statistics].
    """

    metric: Metric
    score: MetricScore
    per_sentence: Statistics

    def figure(self, sentences: NDArray[np.intp]) -> float:
        """Return the figure of some sentences in percent."""
        return float(self.metric.figures(self.per_sentence[sentences].sum(axis=0)))


def collect_statistics(
    hypotheses: Sequence[str],
    references: References,
    names: Sequence[str] = FILE_NAMES,
    tokenize: Retokenizer | None = None,
    detokenize: Retokenizer | None = None,
    metrics: Sequence[str] = (),
    tokenizer: BleuTokenizer = USUAL_TOKENIZER,
) -> tuple[SystemStatistics, ...]:
    """Collect the statistics of each metric, on the form of text that it expects.

    :param hypotheses: one line per sentence.
    :param references: one line per sentence; or several lists of lines.
    :param names: of the texts in error messages, for example their files.
    :param tokenize: for raw text; applied for the metrics of tokenised text.
    :param detokenize: for tokenised text; applied for the metrics of detokenised text.
    :param metrics: names in `METRICS`, in any order; all if empty.
    :param tokenizer: how sacreBLEU's BLEU finds words.
    :return: in the order of `metrics.select_metrics`.
    :raises DataError: there are no lines, or the numbers of lines differ.
    :raises ConfigError: the tokeniser cannot be used.
    """
    sets = reference_sets(references)
    check_line_counts(hypotheses, sets, names)
    texts = RetokenizedTexts(hypotheses, sets, tokenize, detokenize)
    collected = []
    for metric in select_metrics(metrics, tokenizer):
        per_sentence = metric.statistics(*texts.lines(metric))
        score = metric.score(per_sentence.sum(axis=0), texts.retokenizer(metric), len(sets))
        collected.append(SystemStatistics(metric, score, per_sentence))
    return tuple(collected)


def sentence_chrf(
    hypotheses: Sequence[str], references: Sequence[str], detokenize: Retokenizer | None = None
) -> list[float]:
    """Return the chrF of each sentence in percent; sentence BLEU is 0 without a matching 4-gram.

    :param detokenize: for tokenised text.
    """
    (counts,) = collect_statistics(hypotheses, references, detokenize=detokenize, metrics=["chrf"])
    return [counts.figure(np.array([number])) for number in range(len(hypotheses))]


def extend_signature(signature: str, fields: Mapping[str, object]) -> str:
    """Insert fields into a signature after `nrefs`, where sacreBLEU writes such fields."""
    first, bar, rest = signature.partition("|")
    return "|".join([first, *(f"{key}:{value}" for key, value in fields.items())]) + bar + rest
