"""Learning the merges of byte pair encoding from word counts.

Sennrich, Haddow & Birch 2016, Algorithm 1: the most frequent pair of neighbouring symbols becomes
one symbol, again and again; of equally frequent pairs, the last in the order of symbols, as in
subword-nmt. The merges equal those of subword-nmt, which searches all pairs for every merge; here
pairs are in buckets by count, and only the bucket with the highest count is sorted.

This is exact because the count of a pair only falls after the merge that first made the pair.
Inside a span that becomes one symbol, nothing is merged with symbols outside of it. So a symbol
is built by the same merges everywhere in the corpus, and all of its occurrences arise at once.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Mapping

Pair = tuple[str, str]

END_OF_WORD = "</w>"
"""Suffix of the last symbol of a word."""

MIN_PAIR_COUNT = 2
"""Minimum count of a pair to be merged."""

MAX_WORD_LENGTH = 1000
"""Maximum length of a word in characters. Longer words are ignored in learning and split part by
part: they belong to no language, and merging takes a time that grows with the square of a word's
length, up to minutes."""


def learn_merges(counts: Mapping[str, int], merges: int) -> list[Pair]:
    """Return the pairs to merge, in order; fewer when no pair occurs twice any more.

    :param counts: how often each word occurs; no word is empty.
    :param merges: number of pairs to merge.
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
    """The distinct words of the corpus, as sequences of symbols after the merges so far.

    pairs: how often each pair of neighbouring symbols occurs in the corpus.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.pairs: defaultdict[Pair, int] = defaultdict(int)
        # Indices of the words with a pair, including some that no longer have it.
        self._words_with: defaultdict[Pair, list[int]] = defaultdict(list)
        short = [word for word in counts if len(word) <= MAX_WORD_LENGTH]
        self._words = [[*word[:-1], word[-1] + END_OF_WORD] for word in short]
        self._counts = [counts[word] for word in short]
        for index, word in enumerate(self._words):
            for pair in zip(word, word[1:], strict=False):
                self.pairs[pair] += self._counts[index]
                self._words_with[pair].append(index)

    def merge(self, pair: Pair) -> set[Pair]:
        """Merge a pair wherever it occurs; return the new pairs."""
        new_pairs: set[Pair] = set()
        for index in set(self._words_with.pop(pair)):
            self._merge_in_word(index, *pair, new_pairs)
        del self.pairs[pair]
        return new_pairs

    def _merge_in_word(self, index: int, first: str, second: str, new_pairs: set[Pair]) -> None:
        word, count = self._words[index], self._counts[index]
        pairs, words_with = self.pairs, self._words_with
        merged = first + second
        position = 0
        while position < len(word) - 1:
            if word[position] == first and word[position + 1] == second:
                word[position : position + 2] = [merged]
                neighbours = []
                if position:
                    pairs[word[position - 1], first] -= count
                    neighbours.append((word[position - 1], merged))
                if position + 1 < len(word):
                    pairs[second, word[position + 1]] -= count
                    neighbours.append((merged, word[position + 1]))
                for pair in neighbours:
                    pairs[pair] += count
                    words_with[pair].append(index)
                new_pairs.update(neighbours)
            position += 1


class _Queue:
    """Pairs by count, the most frequent first.

    A pair is in the bucket of its count, or in a higher one until that bucket is reached.
    """

    def __init__(self, pairs: Mapping[Pair, int]) -> None:
        self._pairs = pairs
        self._buckets: defaultdict[int, list[Pair]] = defaultdict(list)
        self._top = 0
        self._at_top: list[Pair] = []  # sorted
        self.add(pairs)

    def add(self, pairs: Iterable[Pair]) -> None:
        """Add new pairs; none may be more frequent than the pair popped last."""
        for pair in pairs:
            count = self._pairs[pair]
            if count < MIN_PAIR_COUNT:
                continue
            if count == self._top:
                insort(self._at_top, pair)
            else:
                self._buckets[count].append(pair)

    def pop(self) -> Pair | None:
        """Remove and return the most frequent pair, or None when no pair occurs twice."""
        while True:
            while self._at_top:
                pair = self._at_top.pop()
                count = self._pairs.get(pair, 0)
                if count == self._top:
                    return pair
                if count >= MIN_PAIR_COUNT:
                    self._buckets[count].append(pair)
            if not self._buckets:
                return None
            self._top = max(self._buckets)
            self._at_top = sorted(self._buckets.pop(self._top))
