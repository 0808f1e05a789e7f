"""Samples of a phrase table for a report: random pairs, and long phrases, frequent and rare.

Cho et al. 2014, section 4.3, looks at phrase pairs "whose source phrase is long (more than 3 words
per source phrase) and frequent", then at those that are "long but rare in the corpus", and shows a
few "randomly selected from phrases with 4 or more words" (table 2). Figure 3 plots the two scores
of pairs. Both samples are drawn in one pass over a table of any size; memory holds only the pairs
drawn so far and the targets of the most and least frequent long phrases so far.

Departures and readings:

- The frequency of a phrase is the second number of the table's counts: how often Moses extracted it
  from the training corpus. (An occurrence with unaligned words at its edges is extracted several
  times.)
- The paper does not define "frequent". Long phrases are sorted by that count, equal counts at
  random; the frequent ones are drawn from the first 100 and the rare ones from the last 100, or
  from either half if there are fewer than 200.
- Only phrases with at least as many targets as are shown are eligible, because both models prefer
  a single target. Most phrases that occur once have a single target.
- The paper does not say which pairs figure 3 shows; here they are drawn uniformly from the whole
  table.
- Like Moses, this module raises probabilities below e^-100, including 0, to e^-100.
"""

import heapq
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from nmtkit.errors import DataError
from nmtkit.evaluation.phrase_comparison import ScoredPair
from nmtkit.smt.phrase_table import PhrasePair

POOL_SIZE = 100
"""Number of phrases from which the shown ones are drawn, unless more are shown."""

MIN_LOG_PROB = -100.0
"""Lower limit of log-probabilities, as in Moses."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class PhraseSamplingConfig:
    """Settings of the sampling.

    pairs: pairs drawn from the whole table.
    phrases: source phrases of each kind, frequent and rare.
    min_words: minimum length of a long source phrase.
    top: minimum number of targets of an eligible source phrase.
    seed: seed of all random choices.
    table_column: column of the translation model's p(target | source) among the scores, from 1.
    model_column: column of the neural model's; None if the table has none.
    logs: the neural model's column holds natural logarithms, not probabilities.
    """

    pairs: int = 5000
    phrases: int = 5
    min_words: int = 4
    top: int = 3
    seed: int = 1
    table_column: int = 3
    model_column: int | None = None
    logs: bool = False


@dataclass(frozen=True)
class SourcePhrase:
    """A source phrase with its distinct targets, in the table's order, and its count."""

    src: str
    count: float
    pairs: list[ScoredPair]


@dataclass(frozen=True)
class PhraseSample:
    """Result of the sampling.

    total: number of pairs in the table. drawn: random ones among them.
    eligible: number of long source phrases with enough targets.
    frequent, rare: samples of these, the most frequent first.
    """

    total: int
    drawn: list[ScoredPair]
    eligible: int
    frequent: list[SourcePhrase]
    rare: list[SourcePhrase]


def sample_phrase_table(
    pairs: Iterable[PhrasePair], path: str | Path, config: PhraseSamplingConfig
) -> PhraseSample:
    """Sample a phrase table in one pass.

    :param path: of the table, for messages.
    :raises DataError: a line lacks counts or a column or has an invalid score, the table is empty,
        or no source phrase is eligible.
    """
    drawn: Reservoir[ScoredPair] = Reservoir(config.pairs, random.Random(f"pairs {config.seed}"))
    phrases = _LongPhraseSampler(config)
    number = 0
    for number, pair in enumerate(pairs, start=1):
        scored, count = _scored_pair(pair, path, number, config)
        drawn.add(scored)
        phrases.add(scored, count, len(pair.fields[0].split()))
    phrases.end_phrase()
    if not number:
        raise DataError(f"{path}: the phrase table is empty")
    if not phrases.eligible:
        raise DataError(
            f"{path}: no source phrase of {config.min_words} or more words has {config.top} or more"
            " targets; ask for fewer words (--min-words) or targets (--top)"
        )
    return PhraseSample(number, drawn.items, phrases.eligible, *phrases.sample())


class Reservoir(Generic[Item]):
    """Uniform sample of a stream, of fixed size (Vitter 1985, algorithm R)."""

    def __init__(self, size: int, rng: random.Random) -> None:
        self.items: list[Item] = []
        self._size = size
        self._random = rng
        self._seen = 0

    def add(self, item: Item) -> None:
        """Add the next item of the stream."""
        self._seen += 1
        if len(self.items) < self._size:
            self.items.append(item)
        elif (index := self._random.randrange(self._seen)) < self._size:
            self.items[index] = item


@dataclass(order=True)
class _RankedPhrase:
    """A source phrase ordered by its count; `tie_break` is random."""

    count: float
    tie_break: float
    phrase: SourcePhrase = field(compare=False)


class _LongPhraseSampler:
    """Collects the most and the least frequent long source phrases of a stream of pairs."""

    def __init__(self, config: PhraseSamplingConfig) -> None:
        self.eligible = 0
        self._config = config
        self._random = random.Random(f"phrases {config.seed}")
        self._pool_size = max(POOL_SIZE, config.phrases)
        self._most: list[_RankedPhrase] = []  # a heap; its first item is dropped first
        self._least: list[_RankedPhrase] = []  # the same with negative counts and tie breaks
        self._src: str | None = None
        self._count = 0.0
        self._pairs: dict[str, ScoredPair] = {}

    def add(self, pair: ScoredPair, count: float, words: int) -> None:
        """Add the next pair of the table.

        :param words: length of its source phrase.
        """
        if pair.src != self._src:
            self.end_phrase()
            self._src, self._count = pair.src, count
        if words >= self._config.min_words:
            self._pairs.setdefault(pair.tgt, pair)

    def end_phrase(self) -> None:
        """End the current source phrase, all of whose targets have been added."""
        if self._src is not None and len(self._pairs) >= self._config.top:
            self.eligible += 1
            phrase = SourcePhrase(self._src, self._count, [*self._pairs.values()])
            tie_break = self._random.random()
            self._keep(self._most, _RankedPhrase(phrase.count, tie_break, phrase))
            self._keep(self._least, _RankedPhrase(-phrase.count, -tie_break, phrase))
        self._pairs.clear()

    def sample(self) -> tuple[list[SourcePhrase], list[SourcePhrase]]:
        """Draw the frequent and the rare phrases; no phrase is in both."""
        half = (self.eligible + 1) // 2
        return self._draw(self._most, half), self._draw(self._least, self.eligible - half)

    def _keep(self, heap: list[_RankedPhrase], ranked: _RankedPhrase) -> None:
        if len(heap) < self._pool_size:
            heapq.heappush(heap, ranked)
        else:
            heapq.heappushpop(heap, ranked)

    def _draw(self, heap: list[_RankedPhrase], limit: int) -> list[SourcePhrase]:
        """Draw from the `limit` largest items of a heap; the most frequent phrase comes first."""
        pool = [ranked.phrase for ranked in heapq.nlargest(min(limit, self._pool_size), heap)]
        phrases = self._random.sample(pool, min(self._config.phrases, len(pool)))
        return sorted(phrases, key=lambda phrase: (-phrase.count, phrase.src))


def _scored_pair(
    pair: PhrasePair, path: str | Path, number: int, config: PhraseSamplingConfig
) -> tuple[ScoredPair, float]:
    """Return the pair of a line with its scores, and the count of its source phrase."""
    table = _score(pair, config.table_column, False, path, number)
    model = math.nan
    if config.model_column is not None:
        model = _score(pair, config.model_column, config.logs, path, number)
    return ScoredPair(pair.src, pair.tgt, table, model), _source_count(pair, path, number)


def _score(pair: PhrasePair, column: int, is_log: bool, path: str | Path, number: int) -> float:
    """Return the natural logarithm of a score of a line."""
    scores = pair.scores
    if column > len(scores):
        raise DataError(
            f"{path}:{number}: there is no score {column}, only {len(scores)}; give the column,"
            " from 1, of the scores (--table-column, --column)"
        )
    text = scores[column - 1]
    value = _number(text)
    if not (value <= 0 if is_log else 0 <= value <= 1):
        expected = "the logarithm of a probability" if is_log else "a probability"
        raise DataError(
            f"{path}:{number}: score {column}, '{text.decode()}', is not {expected}; give"
            " the column, from 1, of the scores (--table-column, --column) or logarithms (--logs)"
        )
    if is_log:
        return max(value, MIN_LOG_PROB)
    return max(math.log(value), MIN_LOG_PROB) if value else MIN_LOG_PROB


def _source_count(pair: PhrasePair, path: str | Path, number: int) -> float:
    """Return how often the source phrase was extracted."""
    counts = pair.counts
    value = _number(counts[1]) if len(counts) > 1 else math.nan
    if not 0 < value < math.inf:
        text = f"'{b' '.join(counts).decode()}'" if counts else "missing"
        raise DataError(
            f"{path}:{number}: the counts (fifth field: target, source, both) are {text},"
            " but are needed to find frequent and rare phrases; use the table as Moses wrote it"
        )
    return value


def _number(text: bytes) -> float:
    """Convert to a number; NaN if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return math.nan
