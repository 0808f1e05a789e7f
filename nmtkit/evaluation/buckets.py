"""Buckets of a test set by what makes a sentence hard: length, unknown words, rare words.

- By length, in windows of a fixed number of lengths (Cho et al. 2014b (SSST-8), figures 4 (a, b)
  and 5), in disjoint intervals, or in windows over the sorted sentences (Sutskever et al. 2014,
  figure 3).
- By the largest number of unknown words that is allowed (Cho et al. 2014b, figure 4 c).
- By the mean frequency rank of a sentence's words (Sutskever et al. 2014, figure 3).
- The sentences without unknown words, and those of 10 to 20 words (Cho et al. 2014b, table 1).

Departures and readings:

- A length is a number of words between blanks, without the end of the sentence.
- "Both" (Cho et al. 2014b, figures 4 and 5) means that the condition holds for the source and for
  the reference separately. The same applies to table 1.
- "A window of size 10" contains ten lengths, such as 11 to 20, and moves by one word. It is plotted
  at its middle. Only windows between the shortest and the longest sentence are used.
- Sutskever et al. sort the sentences but do not say how many are behind a point; the caller does.
  A window over them moves by a tenth of its size; equal values keep the order of the lines. It is
  plotted at the mean of its sentences' values.
- The most frequent word has rank 1. A word outside the list has the rank after the last one. A
  sentence without words has no rank and belongs to no bucket by rank.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import ConfigError
from nmtkit.evaluation.retokenize import Retokenizer
from nmtkit.special_symbols import UNK
from nmtkit.text.vocabulary import Vocabulary

Values = NDArray[np.float64]
Indices = NDArray[np.intp]

VALUE_NAMES = {"length": "lengths", "unknown": "unknown words", "rank": "word ranks"}
"""Names of the criteria's values in messages."""

DEFAULT_BOUNDS: dict[str, tuple[float, ...]] = {
    "length": (10, 20, 30, 40, 50, 60),
    "unknown": tuple(range(11)),  # the axis of Cho et al. 2014b
    "rank": (100, 200, 400, 800, 1600, 3200, 6400),
}
"""Upper ends of the buckets by each criterion."""


@dataclass(frozen=True)
class Bucket:
    """Some sentences of a test set.

    low, high: the bucket contains values above `low` and up to `high`; for a window over sorted
        sentences, the smallest and the largest value.
    position: position on the axis of the values in plots; NaN if the bucket is empty.
    sentences: indices from 0, in the order of the file.
    """

    low: float
    high: float
    position: float
    sentences: Indices


@dataclass(frozen=True)
class EvaluationSet:
    """References of a test set, and the texts that buckets depend on.

    reference, source: lines, words separated by blanks; source is empty if unknown.
    src_vocab, tgt_vocab: vocabularies of the compared models, sorted by frequency.
    more_references: further references, one line per sentence in each. Metrics use all references;
        buckets depend on the words of the first.
    """

    reference: Sequence[str]
    source: Sequence[str] = ()
    src_vocab: Vocabulary | None = None
    tgt_vocab: Vocabulary | None = None
    more_references: tuple[Sequence[str], ...] = field(default=(), kw_only=True)

    @property
    def references(self) -> tuple[Sequence[str], ...]:
        """All lists of references."""
        return (self.reference, *self.more_references)

    def subset(self, sentences: Indices) -> "EvaluationSet":
        """Return some of the sentences with the same vocabularies."""

        def chosen(lines: Sequence[str]) -> Sequence[str]:
            return [lines[i] for i in sentences]

        return replace(
            self,
            reference=chosen(self.reference),
            source=chosen(self.source) if self.source else (),
            more_references=tuple(map(chosen, self.more_references)),
        )

    def retokenized(
        self, source: Retokenizer | None, reference: Retokenizer | None
    ) -> "EvaluationSet":
        """Return a copy with the words of buckets converted; None leaves a side as it is."""
        return replace(
            self,
            source=[source.convert(line) for line in self.source] if source else self.source,
            reference=[reference.convert(r) for r in self.reference]
            if reference
            else self.reference,
        )


@dataclass(frozen=True)
class Bucketing:
    """A way to divide a test set into buckets.

    by: criterion, one of `DEFAULT_BOUNDS`.
    of: side whose words count: "source", "reference" or "both".
    bounds: upper ends of the buckets; `DEFAULT_BOUNDS` if empty.
    window: number of lengths in a moving window, instead of bounds; 0 for none.
    neighbours: number of sorted sentences in a moving window, instead of bounds; 0 for none.
    :raises ConfigError: two of bounds, window and neighbours are given, or they do not suit `by` or
        `of`.
    """

    by: str
    of: str = "source"
    bounds: tuple[float, ...] = ()
    window: int = 0
    neighbours: int = 0

    def __post_init__(self) -> None:
        if sum((bool(self.bounds), self.window > 0, self.neighbours > 0)) > 1:
            raise ConfigError("bounds, a window and neighbours exclude each other; give one")
        if list(self.bounds) != sorted(set(self.bounds)):
            raise ConfigError("the bounds of buckets must rise; give them in order, each once")
        if self.window and self.by != "length":
            raise ConfigError(f"a window of lengths cannot divide by {self.by}; use neighbours")
        if self.neighbours and (self.by == "unknown" or self.of == "both"):
            raise ConfigError("sorted windows need the length or rank of one side; change by or of")

    @property
    def overlapping(self) -> bool:
        """Return True for moving windows, which share most sentences with their neighbours."""
        return bool(self.window or self.neighbours)


def make_buckets(bucketing: Bucketing, data: EvaluationSet) -> list[Bucket]:
    """Divide a test set into buckets.

    Buckets between bounds may be empty, so that the tables of all test sets have the same rows;
    windows are never empty.

    :raises ConfigError: a necessary text or vocabulary is missing.
    """
    values = bucket_values(bucketing.by, bucketing.of, data)
    if bucketing.window:
        return length_windows(values, bucketing.window)
    if bucketing.neighbours:
        return sorted_windows(values[0], bucketing.neighbours)
    bounds = bucketing.bounds or DEFAULT_BOUNDS[bucketing.by]
    make = cumulative_buckets if bucketing.by == "unknown" else disjoint_buckets
    return make(values, bounds)


def bucket_values(by: str, of: str, data: EvaluationSet) -> Values:
    """Compute the value of each sentence; NaN if it has none. Shape: [sides, sentences].

    :raises ConfigError: a necessary text or vocabulary is missing.
    """
    rows = []
    if of != "reference":
        if not data.source:
            raise ConfigError(f"{VALUE_NAMES[by]} of the source need the source; give --source")
        rows.append(_sentence_values(data.source, by, data.src_vocab, "source"))
    if of != "source":
        rows.append(_sentence_values(data.reference, by, data.tgt_vocab, "reference"))
    return np.array(rows, dtype=np.float64)


def disjoint_buckets(values: Values, bounds: Sequence[float]) -> list[Bucket]:
    """Return buckets that end at the bounds, and one above the last.

    A sentence belongs to a bucket if the values of all sides do.

    :param values: Shape: [sides, sentences].
    """
    ends = [-math.inf, *bounds, math.inf]
    return [_between(values, low, high) for low, high in zip(ends, ends[1:], strict=False)]


def cumulative_buckets(values: Values, bounds: Sequence[float]) -> list[Bucket]:
    """Return for each bound the bucket of all sentences up to it.

    The first bucket that contains all sentences is the last one.

    :param values: Shape: [sides, sentences].
    """
    largest = values.max(axis=0)  # [sentences]
    buckets = []
    for bound in bounds:
        inside = np.flatnonzero(largest <= bound)
        buckets.append(Bucket(-math.inf, bound, bound, inside))
        if len(inside) == len(largest):
            break
    return buckets


def length_windows(lengths: Values, width: int) -> list[Bucket]:
    """Return moving windows of `width` lengths between the shortest and the longest sentence.

    :param lengths: whole numbers. Shape: [sides, sentences].
    """
    low, high = int(lengths.min()) - 1, int(lengths.max())
    starts = range(low, max(low, high - width) + 1)
    windows = [
        replace(
            _between(lengths, start, start + width),
            position=start + (width + 1) / 2,
        )
        for start in starts
    ]
    return [window for window in windows if len(window.sentences)]


def sorted_windows(values: Values, size: int) -> list[Bucket]:
    """Return moving windows of `size` neighbours among the sentences sorted by value.

    :param values: of one side. Shape: [sentences].
    """
    order = np.argsort(values, kind="stable")
    order = order[~np.isnan(values[order])]
    last = max(0, len(order) - size)
    starts = [*range(0, last, max(1, size // 10)), last]
    windows = [order[start : start + size] for start in starts if len(order)]
    return [
        Bucket(float(values[w[0]]), float(values[w[-1]]), float(values[w].mean()), np.sort(w))
        for w in windows
    ]


def sentences_without_unknown_words(data: EvaluationSet) -> Indices:
    """Return the sentences without unknown words on either side: the papers' "No UNK".

    :raises ConfigError: a necessary text or vocabulary is missing.
    """
    return np.flatnonzero((bucket_values("unknown", "both", data) == 0).all(axis=0))


def sentences_of_length(data: EvaluationSet, shortest: int, longest: int) -> Indices:
    """Return the sentences with `shortest` to `longest` words, inclusive, on both sides.

    :raises ConfigError: the source is missing.
    """
    return _between(bucket_values("length", "both", data), shortest - 1, longest).sentences


def _between(values: Values, low: float, high: float) -> Bucket:
    sentences = np.flatnonzero(((values > low) & (values <= high)).all(axis=0))
    position = float(values[:, sentences].mean()) if len(sentences) else math.nan
    return Bucket(low, high, position, sentences)


def _sentence_values(
    lines: Sequence[str], by: str, vocabulary: Vocabulary | None, side: str
) -> list[float]:
    sentences = [[word for word in line.split(" ") if word] for line in lines]
    if by == "length":
        return [len(words) for words in sentences]
    if vocabulary is None:
        option = {"source": "--src-vocab", "reference": "--tgt-vocab"}[side]
        raise ConfigError(f"{VALUE_NAMES[by]} of the {side} need its vocabulary; give {option}")
    if by == "unknown":
        return [sum(word not in vocabulary for word in words) for words in sentences]
    return [_mean_rank(words, vocabulary) for words in sentences]


def _mean_rank(words: Sequence[str], vocabulary: Vocabulary) -> float:
    """Return the mean frequency rank of the words, from 1; NaN if there are none."""
    ids = vocabulary.ids(words)
    ranks = [len(vocabulary) - UNK if i == UNK else i - UNK for i in ids]  # ids of words: 2, 3, ...
    return sum(ranks) / len(ranks) if ranks else math.nan
