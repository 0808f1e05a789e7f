"""Which pairs of symbols byte pair encoding merges, learned from counted words.

Sennrich, Haddow & Birch 2016, Algorithm 1: again and again the most frequent pair of neighbouring
symbols becomes one symbol; of equally frequent pairs the one whose symbols sort last, as in
subword-nmt. The merges are those of subword-nmt, which looks at every pair again for every merge;
here the pairs lie in buckets by count, and only those of the bucket at hand are sorted.

What makes that exact: a count falls, but never grows once the merge that first made its pair is
done. For inside a span that becomes one symbol nothing is merged with what lies around it, so a
symbol comes about by the same merges everywhere, by one last pair, all at once.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Mapping

Pair = tuple[str, str]

END = "</w>"
"""Belongs to the last symbol of a word."""

LEAST = 2
"""A pair that occurs less often is not merged."""

LONGEST = 1000
"""Characters of a word that is learned from, and that are cut together. What is longer is none of a
language, and merging would take minutes: its time grows with the square of a word's length."""


def learn_merges(counts: Mapping[str, int], merges: int) -> list[Pair]:
    """The pairs to merge, in their order; fewer where no pair is left that occurs twice.

    :param counts: how often each word occurs; no word is empty.
    :param merges: how many pairs to merge.
    """
    words = _Words(counts)
    queue = _Queue(words.pairs)
    learned: list[Pair] = []
    while len(learned) < merges:
        pair = queue.pop()
        if pair is None:
            break
        learned.append(pair)
        queue.add(words.merge(pair))
    return learned


class _Words:
    """The different words, cut into the symbols of the moment.

    pairs: how often each pair of neighbours occurs in the corpus.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.pairs: defaultdict[Pair, int] = defaultdict(int)
        self._where: defaultdict[Pair, list[int]] = defaultdict(list)  # also where it was once
        short = [word for word in counts if len(word) <= LONGEST]
        self._words = [[*word[:-1], word[-1] + END] for word in short]
        self._counts = [counts[word] for word in short]
        for place, word in enumerate(self._words):
            for pair in zip(word, word[1:], strict=False):
                self.pairs[pair] += self._counts[place]
                self._where[pair].append(place)

    def merge(self, pair: Pair) -> set[Pair]:
        """Merge a pair wherever it occurs; return the pairs that this made."""
        made: set[Pair] = set()
        for place in set(self._where.pop(pair)):
            self._merge_in(place, *pair, made)
        del self.pairs[pair]
        return made

    def _merge_in(self, place: int, first: str, second: str, made: set[Pair]) -> None:
        word, count = self._words[place], self._counts[place]
        pairs, where = self.pairs, self._where
        both = first + second
        at = 0
        while at < len(word) - 1:
            if word[at] == first and word[at + 1] == second:
                word[at : at + 2] = [both]
                around = []
                if at:
                    pairs[word[at - 1], first] -= count
                    around.append((word[at - 1], both))
                if at + 1 < len(word):
                    pairs[second, word[at + 1]] -= count
                    around.append((both, word[at + 1]))
                for pair in around:
                    pairs[pair] += count
                    where[pair].append(place)
                made.update(around)
            at += 1


class _Queue:
    """Pairs by count, the most frequent first; each lies at its count or, not yet seen, above."""

    def __init__(self, pairs: Mapping[Pair, int]) -> None:
        self._pairs = pairs
        self._buckets: defaultdict[int, list[Pair]] = defaultdict(list)
        self._top = 0
        self._at_top: list[Pair] = []  # sorted
        self.add(pairs)

    def add(self, pairs: Iterable[Pair]) -> None:
        """Take up pairs that are new; none is more frequent than the one popped last."""
        for pair in pairs:
            count = self._pairs[pair]
            if count < LEAST:
                continue
            if count == self._top:
                insort(self._at_top, pair)
            else:
                self._buckets[count].append(pair)

    def pop(self) -> Pair | None:
        """The most frequent pair, or None where none occurs twice."""
        while True:
            while self._at_top:
                pair = self._at_top.pop()
                count = self._pairs.get(pair, 0)
                if count == self._top:
                    return pair
                if count >= LEAST:
                    self._buckets[count].append(pair)
            if not self._buckets:
                return None
            self._top = max(self._buckets)
            self._at_top = sorted(self._buckets.pop(self._top))
