"""Comparison of systems: figures, intervals and p-values of a whole test set and of its buckets.

All pairs of systems are compared; the first system is not treated as a baseline. P-values are not
corrected for the number of pairs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.evaluation.bleu_tokenizer import BleuTokenizer
from nmtkit.evaluation.buckets import (
    Bucket,
    Bucketing,
    EvaluationSet,
    Indices,
    make_buckets,
    sentences_of_length,
    sentences_without_unknown_words,
)
from nmtkit.evaluation.metrics import USUAL_TOKENIZER, MetricScore
from nmtkit.evaluation.references import FILE_NAMES, References, check_line_counts
from nmtkit.evaluation.retokenize import Retokenizer
from nmtkit.evaluation.significance import SEED, Interval, interval, p_value, sample_sums
from nmtkit.evaluation.sufficient_statistics import (
    Statistics,
    SystemStatistics,
    collect_statistics,
    extend_signature,
)

StatisticsBySystem = Mapping[str, Sequence[SystemStatistics]]
"""For each system its metrics, the same ones in the same order."""


@dataclass(frozen=True)
class ComparisonConfig:
    """Settings of a comparison.

    tokenize, detokenize: bring the text into the form that metrics expect, see `metrics.evaluate`.
    tokenize_source: for a raw source.
    metrics: names in `metrics.METRICS`; all if empty.
    tokenizer: how sacreBLEU's BLEU finds words, see `bleu_tokenizer.choose_tokenizer`.
    samples: number of bootstrap samples for intervals and p-values; 0 for neither.
    seed: seed of the bootstrap.
    no_unknown: use only sentences without unknown words in source and reference.
    words: use only sentences whose source and reference both have a number of words in this range,
        inclusive.
    bucketings: ways to divide the test set into buckets, which are evaluated in addition to the
        whole.
    """

    tokenize: Retokenizer | None = None
    detokenize: Retokenizer | None = None
    tokenize_source: Retokenizer | None = None
    metrics: tuple[str, ...] = ()
    tokenizer: BleuTokenizer = USUAL_TOKENIZER
    samples: int = 0
    seed: int = SEED
    no_unknown: bool = False
    words: tuple[int, int] | None = None
    bucketings: tuple[Bucketing, ...] = ()


@dataclass(frozen=True)
class Figure:
    """One metric of one system; the interval is None without a bootstrap."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class PairedDifference:
    """Difference of two systems by one metric.

    measure: title of the metric.
    difference: the second system's figure minus the first's.
    p: probability of such a difference between equally good systems (`significance.p_value`).
    interval: 95 % interval of the difference, on the same samples.
    """

    first: str
    second: str
    measure: str
    difference: float
    p: float
    interval: Interval | None = None


@dataclass(frozen=True)
class SubsetResult:
    """Figures of all systems on some sentences.

    figures: by title of the metric, then by system; empty if there are no sentences.
    pairs: every pair of systems by every metric; empty without a bootstrap.
    """

    sentences: int
    figures: Mapping[str, Mapping[str, Figure]]
    pairs: tuple[PairedDifference, ...]


@dataclass(frozen=True)
class BucketResult:
    """One bucket and its figures."""

    bucketing: Bucketing
    bucket: Bucket
    result: SubsetResult

    def label(self, dash: str = "-") -> str:
        """Return the values of the bucket as text: `11-20`, `to 10`, `over 60`."""
        low, high, by = self.bucket.low, self.bucket.high, self.bucketing.by
        if self.bucketing.neighbours:  # the smallest and the largest value
            return f"{low:g}{dash}{high:g}" if by == "length" else f"{low:.0f}{dash}{high:.0f}"
        if by == "unknown":
            return f"{high:g}"
        if math.isinf(low):
            return f"to {high:g}"
        if math.isinf(high):
            return f"over {low:g}"
        if by == "length":  # whole numbers, whatever the bounds are
            low, high = math.floor(low) + 1, math.floor(high)
        return f"{low:g}{dash}{high:g}"


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison.

    lines: number of lines of the files; `whole` has fewer sentences if the settings select some.
    scores: scores of each system, with signatures and the parts of BLEU.
    """

    lines: int
    scores: Mapping[str, tuple[MetricScore, ...]]
    whole: SubsetResult
    buckets: tuple[BucketResult, ...]


def compare(
    systems: Mapping[str, Sequence[str]],
    data: EvaluationSet,
    config: ComparisonConfig,
    names: Mapping[str, str] | None = None,
) -> Comparison:
    """Evaluate systems on the same sentences.

    :param systems: translations by name of the system, one line per reference.
    :param data: references in the same form as the translations; for buckets also the source.
    :param names: in error messages, of each system's lines and, under the key "", of the
        references, for example their files.
    :raises DataError: a system has more or fewer lines than the references, no sentence is
        selected, or no sentence is in any bucket.
    :raises ConfigError: buckets need a text or a vocabulary that is missing.
    """
    names = {**{name: name for name in systems}, "": FILE_NAMES[1], **(names or {})}
    for name, hypotheses in systems.items():
        check_line_counts(hypotheses, data.references, (names[name], names[""]))
    tokenized = data.retokenized(config.tokenize_source, config.tokenize)
    selected = _select_sentences(tokenized, config)
    tokenized, references = tokenized.subset(selected), data.subset(selected).references
    buckets = [
        (bucketing, bucket)
        for bucketing in config.bucketings
        for bucket in _nonempty_buckets(bucketing, tokenized)
    ]
    statistics = {
        name: _signed_statistics([hypotheses[i] for i in selected], references, config)
        for name, hypotheses in systems.items()
    }
    all_sentences = np.arange(len(selected))
    return Comparison(
        lines=len(data.reference),
        scores={name: tuple(s.score for s in metrics) for name, metrics in statistics.items()},
        whole=evaluate_subset(statistics, all_sentences, config.samples, config.seed),
        buckets=tuple(
            BucketResult(bucketing, bucket, _evaluate_bucket(statistics, bucketing, bucket, config))
            for bucketing, bucket in buckets
        ),
    )


def evaluate_subset(
    statistics: StatisticsBySystem, sentences: Indices, samples: int, seed: int = SEED
) -> SubsetResult:
    """Compute all metrics of all systems on some sentences.

    :param samples: of the bootstrap; 0 for none.
    """
    systems = list(statistics)
    if not len(sentences):
        return SubsetResult(0, {}, ())
    sampled = _bootstrap_figures(statistics, sentences, samples, seed)
    figures: dict[str, dict[str, Figure]] = {}
    pairs = []
    for number, first_statistics in enumerate(statistics[systems[0]]):
        title = first_statistics.metric.title
        values = {system: statistics[system][number].figure(sentences) for system in systems}
        figures[title] = {
            system: Figure(values[system], interval(sampled[system][number]) if samples else None)
            for system in systems
        }
        for first, second in combinations(systems, 2) if samples else ():
            difference = values[second] - values[first]
            of_samples = sampled[first][number], sampled[second][number]
            p = p_value(*of_samples, difference)
            ends = interval(of_samples[1] - of_samples[0])
            pairs.append(PairedDifference(first, second, title, difference, p, ends))
    return SubsetResult(len(sentences), figures, tuple(pairs))


def _bootstrap_figures(
    statistics: StatisticsBySystem, sentences: Indices, samples: int, seed: int
) -> dict[str, list[NDArray[np.float64]]]:
    """Return every figure on every sample, by system, then by metric. All share the samples."""
    if not samples:
        return {}
    blocks = [s.per_sentence[sentences] for metrics in statistics.values() for s in metrics]
    sums = sample_sums(np.hstack(blocks), samples, seed)  # [samples, columns of all blocks]
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    parts: list[Statistics] = np.split(sums, ends, axis=1)[::-1]
    return {
        name: [s.metric.figures(parts.pop()) for s in metrics]
        for name, metrics in statistics.items()
    }


def _evaluate_bucket(
    statistics: StatisticsBySystem, bucketing: Bucketing, bucket: Bucket, config: ComparisonConfig
) -> SubsetResult:
    """Evaluate a bucket. Windows get no intervals: they are many and overlap almost entirely."""
    samples = 0 if bucketing.overlapping else config.samples
    return evaluate_subset(statistics, bucket.sentences, samples, config.seed)


def _select_sentences(data: EvaluationSet, config: ComparisonConfig) -> Indices:
    """Return the sentences that the settings select.

    :raises DataError: they select none.
    """
    selected = np.arange(len(data.reference))
    if config.no_unknown:
        selected = np.intersect1d(selected, sentences_without_unknown_words(data))
    if config.words:
        selected = np.intersect1d(selected, sentences_of_length(data, *config.words))
    if not len(selected):
        raise DataError(
            f"none of the {len(data.reference)} sentences is selected; allow more words or unknown"
            " words, or check that the vocabularies fit the text"
        )
    return selected


def _nonempty_buckets(bucketing: Bucketing, data: EvaluationSet) -> list[Bucket]:
    buckets = make_buckets(bucketing, data)
    if not buckets:
        raise DataError(
            f"no sentence belongs to a bucket by {bucketing.by} of {bucketing.of}; divide by the"
            " words of one side, or leave out blank lines"
        )
    return buckets


def _signed_statistics(
    hypotheses: Sequence[str], references: References, config: ComparisonConfig
) -> tuple[SystemStatistics, ...]:
    """Collect the statistics of one system; signatures name bootstrap and selected sentences."""
    fields: dict[str, object] = {}
    if config.samples:
        fields |= {"bs": config.samples, "seed": config.seed}
    selection = ["no-unk"] if config.no_unknown else []
    if config.words:
        selection.append("words-{}-{}".format(*config.words))
    if selection:
        fields["subset"] = ",".join(selection)
    collected = collect_statistics(
        hypotheses,
        references,
        tokenize=config.tokenize,
        detokenize=config.detokenize,
        metrics=config.metrics,
        tokenizer=config.tokenizer,
    )
    return tuple(
        replace(s, score=replace(s.score, signature=extend_signature(s.score.signature, fields)))
        for s in collected
    )
