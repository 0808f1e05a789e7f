"""Learning the merges of byte pair encoding from word counts.

Sennrich, Haddow & Birch 2016, Algorithm 1: the most frequent pair of neighbouring symbols becomes
one symbol, again and again; of equally frequent pairs, the last in the order of symbols, as in
subword-nmt. The merges equal those of subword-nmt, which searches all pairs for every merge; here
pairs are in buckets by count, only the bucket with the highest count is sorted, and a merge visits
only the places where its pair stands.

This is exact because the count of a pair only falls after the merge that first made the pair.
Inside a span that becomes one symbol, nothing is merged with symbols outside of it. So a symbol
is built by the same merges everywhere in the corpus, and all of its occurrences arise at once.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING

from nmtkit.text.subword.bpe import MAX_WORD_LENGTH, Pair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Positions = NDArray[np.int32]

IdPair = tuple[int, int]
"""A pair of neighbouring symbols, by their ids."""

_BOUNDARY = 0
"""Id of what stands between two words."""

_MERGED = -1
"""Marks a position that became part of the symbol before it."""

_MIN_VECTOR = 64
"""Positions from which a merge is computed with vectors; for fewer a loop is faster."""

END_OF_WORD = "</w>"
"""Suffix of the last symbol of a word."""

MIN_PAIR_COUNT = 2
"""Minimum count of a pair to be merged."""


def learn_merges(counts: Mapping[str, int], merges: int) -> list[Pair]:
    """Return the pairs to merge, in order; fewer when no pair occurs twice any more.

    :param counts: how often each word occurs; no word is empty.
    :param merges: number of pairs to merge.
    """
    text = _Text(counts)
    queue = _Queue(text)
    learned: list[Pair] = []
    while len(learned) < merges:
        pair = queue.pop()
        if pair is None:
            break
        learned.append(text.spell(pair))
        queue.add(text.merge(pair))
    return learned


class _Ids(dict[str, int]):
    """Ids of symbols; a symbol that has none gets the next one.

    spellings: symbols by id.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spellings = [""]  # _BOUNDARY has none

    def __missing__(self, symbol: str) -> int:
        number = self[symbol] = len(self.spellings)
        self.spellings.append(symbol)
        return number


class _Text:
    """The distinct words of the corpus in a row, as symbols after the merges so far.

    A symbol stands at the position of its first character, with the positions of the symbols before
    and after it, so that a merge reads only the places where its pair stands.

    counts: how often each pair of neighbouring symbols occurs in the corpus.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        import numpy as np  # takes a tenth of a second: not for commands that only split words

        self._numpy = np
        short = {word: count for word, count in counts.items() if len(word) <= MAX_WORD_LENGTH}
        self._ids = _Ids()
        symbols = chain.from_iterable(map(self._symbols_of, short))
        self._symbols = np.array([_BOUNDARY, *symbols], np.int32)  # by position
        lengths = np.fromiter(map(len, short), np.int64, len(short)) + 1
        weights = np.repeat(np.fromiter(short.values(), np.int64, len(short)), lengths)
        self._weights = np.concatenate([weights[:1], weights])  # count of the word at a position
        self._next = np.arange(1, len(self._symbols) + 1, dtype=np.int32)
        self._previous = np.arange(-1, len(self._symbols) - 1, dtype=np.int32)
        self.counts: defaultdict[IdPair, int] = defaultdict(int)
        # Positions of the first symbol of each pair, including some where it is no longer.
        self._positions: dict[IdPair, Positions] = {}
        self._find_pairs()

    def _symbols_of(self, word: str) -> list[int]:
        """Return the ids of a word's symbols, and of the boundary after it."""
        find = self._ids.__getitem__
        return [*map(find, word[:-1]), find(word[-1] + END_OF_WORD), _BOUNDARY]

    def _find_pairs(self) -> None:
        """Count the pairs, and store their positions."""
        np = self._numpy
        first, second = self._symbols[:-1], self._symbols[1:]
        positions = np.flatnonzero((first > 0) & (second > 0)).astype(np.int32)
        size = len(self._ids.spellings)
        pairs = first[positions].astype(np.int64) * size + second[positions]
        for pair, group, count in self._groups(pairs, positions):
            self._positions[divmod(pair, size)] = group
            self.counts[divmod(pair, size)] = count

    def _groups(
        self, keys: "NDArray[np.integer]", positions: "Positions"
    ) -> "Iterator[tuple[int, Positions, int]]":
        """Yield each key with its positions, ascending, and the sum of their weights."""
        np = self._numpy
        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        keys, positions = keys[order], positions[order]
        starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
        counts = np.add.reduceat(self._weights[positions], starts).tolist()
        bounds = [*starts.tolist(), len(keys)]
        for index, (key, count) in enumerate(zip(keys[starts].tolist(), counts, strict=True)):
            yield key, positions[bounds[index] : bounds[index + 1]].copy(), count

    def spell(self, pair: IdPair) -> Pair:
        """Return the symbols of a pair."""
        return self._ids.spellings[pair[0]], self._ids.spellings[pair[1]]

    def merge(self, pair: IdPair) -> list[IdPair]:
        """Merge a pair wherever it stands; return the new pairs."""
        spelling = "".join(self.spell(pair))
        is_new = spelling not in self._ids  # always, unless words contain `</w>`
        merged = self._ids[spelling]
        positions = self._positions.pop(pair)
        if is_new and pair[0] != pair[1] and len(positions) >= _MIN_VECTOR:
            new_pairs = self._merge_vectors(pair, merged, positions)
        else:
            new_pairs = self._merge_in_turn(pair, merged, positions)
        del self.counts[pair]
        return new_pairs

    def _merge_vectors(self, pair: IdPair, merged: int, positions: "Positions") -> list[IdPair]:
        """Merge a pair of two different symbols at all positions at once."""
        first, second = pair
        symbols = self._symbols
        positions = positions[symbols[positions] == first]
        positions = positions[symbols[self._next[positions]] == second]
        others = self._next[positions]
        right = self._next[others]
        symbols[positions], symbols[others] = merged, _MERGED
        self._next[positions], self._previous[right] = right, positions
        left = self._previous[positions]
        # Where two merged symbols meet, the pair (second, first) is lost, and is counted once.
        new_pairs = []
        for symbol, group, count in self._groups(symbols[left], left):
            if symbol:
                new_pairs.append((symbol, merged))
                self._add(new_pairs[-1], group, count)
                if symbol != merged:
                    self.counts[symbol, first] -= count
        for symbol, group, count in self._groups(symbols[right], positions):
            if symbol == merged:
                self.counts[second, first] -= count
            elif symbol:
                new_pairs.append((merged, symbol))
                self._add(new_pairs[-1], group, count)
                self.counts[second, symbol] -= count
        return new_pairs

    def _merge_in_turn(self, pair: IdPair, merged: int, positions: "Positions") -> list[IdPair]:
        """Merge a pair from left to right: in a row of equal symbols, every other one."""
        first, second = pair
        item = self._symbols.item
        counts = self.counts
        found: defaultdict[IdPair, list[int]] = defaultdict(list)
        gained: defaultdict[IdPair, int] = defaultdict(int)
        for position in sorted(positions.tolist()):
            other = self._next.item(position)
            if item(position) != first or item(other) != second:
                continue
            left, right = self._previous.item(position), self._next.item(other)
            self._symbols[position], self._symbols[other] = merged, _MERGED
            self._next[position], self._previous[right] = right, position
            count = self._weights.item(position)
            if symbol := item(left):
                counts[symbol, first] -= count
                gained[symbol, merged] += count
                found[symbol, merged].append(left)
            if symbol := item(right):
                counts[second, symbol] -= count
                gained[merged, symbol] += count
                found[merged, symbol].append(position)
        for new_pair, group in found.items():
            self._add(new_pair, self._numpy.array(group, positions.dtype), gained[new_pair])
        return [*found]

    def _add(self, pair: IdPair, positions: "Positions", count: int) -> None:
        """Count a new pair at these positions."""
        self.counts[pair] += count
        if pair in self._positions:  # only where words contain `</w>`
            positions = self._numpy.concatenate([self._positions[pair], positions])
        self._positions[pair] = positions


class _Queue:
    """Pairs by count, the most frequent first.

    A pair is in the bucket of its count, or in a higher one until that bucket is reached.
    """

    def __init__(self, text: _Text) -> None:
        self._text = text
        self._buckets: defaultdict[int, list[IdPair]] = defaultdict(list)
        self._negated: list[int] = []  # a heap: the counts of the buckets
        self._top = 0
        self._at_top: list[IdPair] = []  # sorted
        self.add(text.counts)

    def add(self, pairs: Iterable[IdPair]) -> None:
        """Add new pairs; none may be more frequent than the pair popped last."""
        for pair in pairs:
            count = self._text.counts[pair]
            if count < MIN_PAIR_COUNT:
                continue
            if count == self._top:
                insort(self._at_top, pair, key=self._text.spell)
            else:
                self._put(pair, count)

    def _put(self, pair: IdPair, count: int) -> None:
        if count not in self._buckets:
            heappush(self._negated, -count)
        self._buckets[count].append(pair)

    def pop(self) -> IdPair | None:
        """Remove and return the most frequent pair, or None when no pair occurs twice."""
        while True:
            while self._at_top:
                pair = self._at_top.pop()
                count = self._text.counts.get(pair, 0)
                if count == self._top:
                    return pair
                if count >= MIN_PAIR_COUNT:
                    self._put(pair, count)
            if not self._buckets:
                return None
            self._top = -heappop(self._negated)
            self._at_top = sorted(self._buckets.pop(self._top), key=self._text.spell)
