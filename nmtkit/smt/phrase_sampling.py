"""What of a phrase table is worth showing: pairs at random, and long phrases, frequent and rare.

Cho et al. 2014, section 4.3, looks at phrase pairs "whose source phrase is long (more than 3 words
per source phrase) and frequent", then at those that are "long but rare in the corpus", and shows a
few "randomly selected from phrases with 4 or more words" (table 2). Figure 3 shows pairs by both
scores. Here both are chosen in one pass over a table of any size: what is kept are the pairs drawn
so far, and the targets of the most and least frequent long phrases so far.

Departures and readings:

- How often a phrase occurs is the second number of the table's counts: how often Moses extracted it
  from the training corpus. (An occurrence with unaligned words at its edges is extracted several
  times.)
- The paper does not say how frequent is frequent. Long phrases are put in order by that count,
  those of equal count by lot; the frequent ones are drawn from the first 100 and the rare ones from
  the last 100, or from either half where there are fewer than 200.
- Only phrases with at least as many targets as are to be shown take part: where there is one target
  both models prefer it. Most phrases that occur once have one.
- Nor does the paper say which pairs figure 3 shows; here they are drawn from the whole table, each
  with the same chance.
- Moses reads a probability below e^-100 as e^-100, and so does this file, 0 included.
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

POOL = 100
"""Phrases that those shown are drawn from, unless more are to be shown."""

LEAST = -100.0
"""What a logarithm is at least (Moses's)."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class SamplingConfig:
    """How to choose.

    pairs: how many pairs are drawn from the whole table.
    phrases: source phrases of either kind, frequent and rare.
    min_words: words of a long source phrase, at least.
    top: targets that a chosen source phrase has, at least.
    seed: decides all that is drawn.
    table_column: which of a line's scores is p(target | source) of the translation model, from 1.
    model_column: which is that of the neural model; None: none is.
    logs: whether that column holds natural logarithms, not probabilities.
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
class Block:
    """A source phrase with its targets, each once, in the table's order; count as in the table."""

    src: str
    count: float
    pairs: list[ScoredPair]


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    total: pairs in the table. drawn: some of them.
    eligible: long source phrases that have targets enough.
    frequent, rare: some of these, the most frequent first.
    """

    total: int
    drawn: list[ScoredPair]
    eligible: int
    frequent: list[Block]
    rare: list[Block]


def choose(pairs: Iterable[PhrasePair], path: str | Path, how: SamplingConfig) -> Choice:
    """Choose in one pass.

    :param path: of the table, for messages.
    :raises DataError: a line lacks counts or a column, or has a score that is none; the table is
        empty, or no source phrase is eligible.
    """
    drawn: Reservoir[ScoredPair] = Reservoir(how.pairs, random.Random(f"pairs {how.seed}"))
    phrases = _LongPhrases(how)
    number = 0
    for number, pair in enumerate(pairs, start=1):
        scored, count = _read(pair, path, number, how)
        drawn.offer(scored)
        phrases.offer(scored, count, len(pair.fields[0].split()))
    phrases.close()
    if not number:
        raise DataError(f"{path}: the phrase table is empty")
    if not phrases.eligible:
        raise DataError(
            f"{path}: no source phrase of {how.min_words} or more words has {how.top} or more"
            " targets; ask for fewer words (--min-words) or targets (--top)"
        )
    return Choice(number, drawn.items, phrases.eligible, *phrases.chosen())


class Reservoir(Generic[Item]):
    """So many of a stream's items, each with the same chance (Vitter 1985, algorithm R)."""

    def __init__(self, size: int, draw: random.Random) -> None:
        self.items: list[Item] = []
        self._size = size
        self._draw = draw
        self._met = 0

    def offer(self, item: Item) -> None:
        """The next item of the stream."""
        self._met += 1
        if len(self.items) < self._size:
            self.items.append(item)
        elif (place := self._draw.randrange(self._met)) < self._size:
            self.items[place] = item


@dataclass(order=True)
class _Place:
    """A source phrase by its place in the order of counts; `lot` parts those of equal count."""

    count: float
    lot: float
    block: Block = field(compare=False)


class _LongPhrases:
    """The most and the least frequent of the long source phrases, as they come."""

    def __init__(self, how: SamplingConfig) -> None:
        self.eligible = 0
        self._how = how
        self._draw = random.Random(f"phrases {how.seed}")
        self._pool = max(POOL, how.phrases)
        self._most: list[_Place] = []  # a heap, the first to go first; of the least, numbers are
        self._least: list[_Place] = []  # negative, so that theirs is the most frequent
        self._src: str | None = None
        self._count = 0.0
        self._pairs: dict[str, ScoredPair] = {}

    def offer(self, pair: ScoredPair, count: float, words: int) -> None:
        """The next pair of the table, whose source phrase has so many words."""
        if pair.src != self._src:
            self.close()
            self._src, self._count = pair.src, count
        if words >= self._how.min_words:
            self._pairs.setdefault(pair.tgt, pair)

    def close(self) -> None:
        """All targets of a source phrase have come."""
        if self._src is not None and len(self._pairs) >= self._how.top:
            self.eligible += 1
            block, lot = Block(self._src, self._count, [*self._pairs.values()]), self._draw.random()
            self._keep(self._most, _Place(block.count, lot, block))
            self._keep(self._least, _Place(-block.count, -lot, block))
        self._pairs.clear()

    def chosen(self) -> tuple[list[Block], list[Block]]:
        """The frequent and the rare phrases; none is both."""
        half = (self.eligible + 1) // 2
        return self._some(self._most, half), self._some(self._least, self.eligible - half)

    def _keep(self, heap: list[_Place], place: _Place) -> None:
        if len(heap) < self._pool:
            heapq.heappush(heap, place)
        else:
            heapq.heappushpop(heap, place)

    def _some(self, heap: list[_Place], room: int) -> list[Block]:
        """Some of the last `room` of a heap's phrases, the most frequent first."""
        pool = [place.block for place in heapq.nlargest(min(room, self._pool), heap)]
        blocks = self._draw.sample(pool, min(self._how.phrases, len(pool)))
        return sorted(blocks, key=lambda block: (-block.count, block.src))


def _read(
    pair: PhrasePair, path: str | Path, number: int, how: SamplingConfig
) -> tuple[ScoredPair, float]:
    """A line's pair with its scores, and the count of its source phrase."""
    table = _score(pair, how.table_column, False, path, number)
    model = math.nan
    if how.model_column is not None:
        model = _score(pair, how.model_column, how.logs, path, number)
    return ScoredPair(pair.src, pair.tgt, table, model), _source_count(pair, path, number)


def _score(pair: PhrasePair, column: int, is_log: bool, path: str | Path, number: int) -> float:
    """The natural logarithm of one of a line's scores."""
    scores = pair.scores
    if column > len(scores):
        raise DataError(
            f"{path}:{number}: there is no score {column}, only {len(scores)}; say which"
            " column, from 1, holds the scores (--table-column, --column)"
        )
    text = scores[column - 1]
    value = _number(text)
    if not (value <= 0 if is_log else 0 <= value <= 1):
        wanted = "the logarithm of a probability" if is_log else "a probability"
        raise DataError(
            f"{path}:{number}: score {column}, '{text.decode()}', is not {wanted}; say which"
            " column, from 1, holds the scores (--table-column, --column) or logarithms (--logs)"
        )
    if is_log:
        return max(value, LEAST)
    return max(math.log(value), LEAST) if value else LEAST


def _source_count(pair: PhrasePair, path: str | Path, number: int) -> float:
    """How often the source phrase was extracted."""
    counts = pair.counts
    value = _number(counts[1]) if len(counts) > 1 else math.nan
    if not 0 < value < math.inf:
        found = f"'{b' '.join(counts).decode()}'" if counts else "missing"
        raise DataError(
            f"{path}:{number}: the counts (fifth field: target, source, both) are {found},"
            " and without them no phrase is frequent or rare; use the table as Moses wrote it"
        )
    return value


def _number(text: bytes) -> float:
    """NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
