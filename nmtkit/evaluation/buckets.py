"""Parts of a test set by what makes a sentence hard: length, unknown words, rare words.

- By length, as Cho et al. 2014b (SSST-8), figures 4 (a, b) and 5, in windows of so many lengths; or
  in buckets; or, as Sutskever et al. 2014, figure 3, in windows over the sorted sentences.
- By the largest number of unknown words that is allowed (Cho et al. 2014b, figure 4 c).
- By the mean rank of a sentence's words in a list by frequency (Sutskever et al. 2014, figure 3).
- The sentences without unknown words, and those of 10 to 20 words (Cho et al. 2014b, table 1).

Departures and readings:

- A length is a number of words between blanks, without the end of the sentence.
- "Both" (Cho et al. 2014b, figures 4 and 5) means that the condition holds of the source and of
  the reference, each for itself; so does table 1.
- "A window of size 10" is one of ten lengths, such as 11 to 20, moved by one word at a time, and
  drawn at its middle; only windows that lie between the shortest and the longest sentence count.
- A window over sorted sentences moves by a tenth of its size; where values are equal the order
  of the lines decides. It is drawn at the mean of its sentences' values.
- The most frequent word has rank 1. A word outside the list has the rank behind the last one. A
  sentence without words has no rank and belongs to no stratum by rank.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import ConfigError
from nmtkit.evaluation.metrics import Rewriting
from nmtkit.special_symbols import UNK
from nmtkit.text.vocabulary import Vocabulary

Values = NDArray[np.float64]
Indices = NDArray[np.intp]

BY = ("length", "unknown", "rank")
OF = ("source", "reference", "both")
BOUNDS: dict[str, tuple[float, ...]] = {
    "length": (10, 20, 30, 40, 50, 60),
    "unknown": tuple(range(11)),  # the axis of Cho et al. 2014b
    "rank": (100, 200, 400, 800, 1600, 3200, 6400),
}
"""Where strata end, if nothing else is said."""


@dataclass(frozen=True)
class Bucket:
    """Some sentences of a test set.

    low, high: a sentence is inside whose value is above `low` and not above `high`; in a window of
        neighbours, the least and the largest value.
    place: where it stands in pictures, on the axis of the values; NaN where it is empty.
    sentences: their numbers, from 0, in the order of the file.
    """

    low: float
    high: float
    place: float
    sentences: Indices


@dataclass(frozen=True)
class Texts:
    """What sentences are divided by.

    source, reference: lines, words separated by blanks; an empty source where it is not known.
    src_vocab, tgt_vocab: words by frequency, as the models that are compared know them.
    """

    reference: Sequence[str]
    source: Sequence[str] = ()
    src_vocab: Vocabulary | None = None
    tgt_vocab: Vocabulary | None = None

    def part(self, sentences: Indices) -> "Texts":
        """Some sentences alone."""
        reference = [self.reference[i] for i in sentences]
        source = [self.source[i] for i in sentences] if self.source else ()
        return Texts(reference, source, self.src_vocab, self.tgt_vocab)

    def rewritten(self, source: Rewriting | None, reference: Rewriting | None) -> "Texts":
        """The same, tokenised where that is asked for."""
        return replace(
            self,
            source=[source.line(line) for line in self.source] if source else self.source,
            reference=[reference.line(r) for r in self.reference] if reference else self.reference,
        )


@dataclass(frozen=True)
class Bucketing:
    """How sentences are divided.

    by: of `BY`.
    of: whose words count, of `OF`.
    bounds: where strata end; those of `BOUNDS` where empty.
    window: instead of buckets, windows of so many lengths; 0 for none.
    neighbours: instead of buckets, windows of so many sentences by order; 0 for none.
    :raises ConfigError: these do not go together.
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
            raise ConfigError("the bounds of strata must rise; give them in order, each once")
        if self.window and self.by != "length":
            raise ConfigError(f"a window of lengths cannot divide by {self.by}; use neighbours")
        if self.neighbours and (self.by == "unknown" or self.of == "both"):
            raise ConfigError("sentences are put in order by the length or rank of one side alone")

    @property
    def moves(self) -> bool:
        """Whether the strata overlap as windows do, each nearly the one before it."""
        return bool(self.window or self.neighbours)


def divide(division: Bucketing, texts: Texts) -> list[Bucket]:
    """The strata of a test set.

    Buckets may be empty, so that the tables of all test sets have the same rows; windows are not.

    :raises ConfigError: a text or a vocabulary that is needed is not there.
    """
    values = values_of(division.by, division.of, texts)
    if division.window:
        return length_windows(values, division.window)
    if division.neighbours:
        return sorted_windows(values[0], division.neighbours)
    bounds = division.bounds or BOUNDS[division.by]
    return at_most(values, bounds) if division.by == "unknown" else buckets(values, bounds)


def values_of(by: str, of: str, texts: Texts) -> Values:
    """What each sentence is divided by. Shape: [sides, sentences]; NaN where it has no value.

    :raises ConfigError: a text or a vocabulary that is needed is not there.
    """
    rows = []
    if of != "reference":
        if not texts.source:
            raise ConfigError(f"the {by} of the source is asked for, but no source is given")
        rows.append(_measured(texts.source, by, texts.src_vocab, "source"))
    if of != "source":
        rows.append(_measured(texts.reference, by, texts.tgt_vocab, "reference"))
    return np.array(rows, dtype=np.float64)


def buckets(values: Values, bounds: Sequence[float]) -> list[Bucket]:
    """Strata that end at the bounds, and what is above the last; all sides must be inside.

    :param values: Shape: [sides, sentences].
    """
    ends = [-math.inf, *bounds, math.inf]
    return [_between(values, low, high) for low, high in zip(ends, ends[1:], strict=False)]


def at_most(values: Values, bounds: Sequence[float]) -> list[Bucket]:
    """Strata that hold all that is not above a bound, each with those before it.

    The last is the first that holds all sentences; if there is none, the largest bound's.

    :param values: Shape: [sides, sentences].
    """
    largest = values.max(axis=0)
    found = []
    for bound in bounds:
        inside = np.flatnonzero(largest <= bound)
        found.append(Bucket(-math.inf, bound, bound, inside))
        if len(inside) == len(largest):
            break
    return found


def length_windows(lengths: Values, width: int) -> list[Bucket]:
    """Windows of `width` lengths, one for each place between the shortest and the longest sentence.

    :param lengths: whole numbers. Shape: [sides, sentences].
    """
    low, high = int(lengths.min()) - 1, int(lengths.max())
    starts = range(low, max(low, high - width) + 1)
    windows = [
        Bucket(start, start + width, start + (width + 1) / 2, stratum.sentences)
        for start in starts
        for stratum in [_between(lengths, start, start + width)]
    ]
    return [window for window in windows if len(window.sentences)]


def sorted_windows(values: Values, size: int) -> list[Bucket]:
    """Windows of `size` neighbours among the sentences in the order of their values.

    :param values: of one side. Shape: [sentences].
    """
    order = np.argsort(values, kind="stable")
    order = order[~np.isnan(values[order])]
    last = max(0, len(order) - size)
    starts = [*range(0, last, max(1, size // 10)), last]
    chosen = [order[start : start + size] for start in starts if len(order)]
    return [
        Bucket(float(values[c[0]]), float(values[c[-1]]), float(values[c].mean()), np.sort(c))
        for c in chosen
    ]


def known(texts: Texts) -> Indices:
    """The sentences without an unknown word in source and reference: the papers' "No UNK".

    :raises ConfigError: a text or a vocabulary that is needed is not there.
    """
    return np.flatnonzero((values_of("unknown", "both", texts) == 0).all(axis=0))


def of_words(texts: Texts, shortest: int, longest: int) -> Indices:
    """The sentences whose source and reference both have so many words, both ends included."""
    return _between(values_of("length", "both", texts), shortest - 1, longest).sentences


def _between(values: Values, low: float, high: float) -> Bucket:
    sentences = np.flatnonzero(((values > low) & (values <= high)).all(axis=0))
    place = float(values[:, sentences].mean()) if len(sentences) else math.nan
    return Bucket(low, high, place, sentences)


def _measured(
    lines: Sequence[str], by: str, vocabulary: Vocabulary | None, side: str
) -> list[float]:
    sentences = [[word for word in line.split(" ") if word] for line in lines]
    if by == "length":
        return [len(words) for words in sentences]
    if vocabulary is None:
        raise ConfigError(f"{by} words of the {side} are told by its vocabulary; give that, too")
    if by == "unknown":
        return [sum(word not in vocabulary for word in words) for words in sentences]
    return [_mean_rank(words, vocabulary) for words in sentences]


def _mean_rank(words: Sequence[str], vocabulary: Vocabulary) -> float:
    """The mean of the words' places in the list, from 1; NaN where there are no words."""
    ids = vocabulary.ids(words)
    ranks = [len(vocabulary) - UNK if i == UNK else i - UNK for i in ids]  # ids of words: 2, 3, ...
    return sum(ranks) / len(ranks) if ranks else math.nan
