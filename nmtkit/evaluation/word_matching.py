"""Which words of a reference stand in a translation, and what stands in place of the others.

Words match if they are equal apart from case, in order (a longest common subsequence) or elsewhere
in the sentence, or if they are alike, such as two forms of a verb: by chrF of single words
(Popović 2015), with F1. What is left between two words that match in order is compared by its
position: words of the translation stand in place of words of the reference, one each; words of the
reference beyond these are missing, words of the translation are added.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

MATCHED, DIFFERENT, UNMATCHED = 0, 1, 2
"""States of a word: matched; another word stands in its place, or it is alike; nothing does."""

MIN_SIMILARITY = 0.5
"""chrF of two words that are taken for forms of the same word."""

MAX_NGRAM = 6  # characters, as in chrF
MAX_CELLS = 4_000_000
"""Sentence pairs with a larger product of lengths are not compared."""

MAX_SIMILAR_CELLS = 10_000
"""More remaining words are not compared by their characters."""

MAX_COMPARED_LENGTH = 64  # characters of a word
CACHED_PAIRS = 1 << 16


@dataclass(frozen=True)
class WordMatch:
    """States of the words of a translation and of its reference.

    translation: `MATCHED`, `DIFFERENT`, or `UNMATCHED` for an added word, for each word.
    reference: the same, `UNMATCHED` for a missing word.
    """

    translation: list[int]
    reference: list[int]


def match_words(translation: Sequence[str], reference: Sequence[str]) -> WordMatch:
    """Match the words of a translation with those of its reference.

    If both are very long, all words count as matched.
    """
    if len(translation) * len(reference) > MAX_CELLS:
        return WordMatch([MATCHED] * len(translation), [MATCHED] * len(reference))
    ours, theirs = _folded(translation), _folded(reference)
    anchors = common_subsequence(ours, theirs)
    states = WordMatch([UNMATCHED] * len(ours), [UNMATCHED] * len(theirs))
    for i, j in anchors:
        states.translation[i] = states.reference[j] = MATCHED
    _match_elsewhere(states, ours, theirs)
    _match_similar(states, ours, theirs)
    ends = (len(ours), len(theirs))
    for (i, j), (i_end, j_end) in zip([(-1, -1), *anchors], [*anchors, ends], strict=True):
        _pair_remaining(states, range(i + 1, i_end), range(j + 1, j_end), theirs)
    return states


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of a longest common subsequence.

    The table is computed by rows of bits (Hyyrö 2004, "Bit-parallel LCS-length computation
    revisited"): a bit is 0 where the length grows.
    """
    places: dict[str, int] = {}
    for j, word in enumerate(second):
        places[word] = places.get(word, 0) | (1 << j)
    full = (1 << len(second)) - 1
    row, rows = full, []
    for word in first:
        common = row & places.get(word, 0)
        row = ((row + common) | (row - common)) & full
        rows.append(row)
    pairs = []
    i, j = len(first), len(second)
    while i and j:
        bit = 1 << (j - 1)
        if rows[i - 1] & bit:  # column j adds nothing
            j -= 1
        elif i > 1 and not rows[i - 2] & bit:  # nor does row i
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


@lru_cache(CACHED_PAIRS)
def word_similarity(first: str, second: str) -> float:
    """Return chrF of two words, from 0 to 1: the mean F1 of character n-grams, n up to 6.

    Only the beginnings of very long words are compared. Different words without a common bigram
    have 0.
    """
    first, second = first[:MAX_COMPARED_LENGTH], second[:MAX_COMPARED_LENGTH]
    if first != second and _bigrams(first).isdisjoint(_bigrams(second)):
        return 0.0  # less than half of the n-grams can be common
    scores = []
    for n in range(1, min(MAX_NGRAM, max(len(first), len(second))) + 1):
        ours, theirs = _ngrams(first, n), _ngrams(second, n)
        total = ours.total() + theirs.total()
        scores.append(2 * (ours & theirs).total() / total)
    return sum(scores) / len(scores) if scores else 0.0


def _folded(words: Sequence[str]) -> list[str]:
    return [unicodedata.normalize("NFC", word).casefold() for word in words]


@lru_cache(CACHED_PAIRS)
def _bigrams(word: str) -> frozenset[str]:
    return frozenset(map("".join, pairwise(word)))


@lru_cache(CACHED_PAIRS)
def _ngrams(word: str, n: int) -> Counter[str]:
    return Counter(word[i : i + n] for i in range(len(word) - n + 1))


def _unmatched(states: Sequence[int]) -> list[int]:
    return [index for index, state in enumerate(states) if state == UNMATCHED]


def _match_elsewhere(states: WordMatch, ours: Sequence[str], theirs: Sequence[str]) -> None:
    """Match equal words that stand in another order."""
    places: dict[str, list[int]] = {}
    for i in reversed(_unmatched(states.translation)):
        places.setdefault(ours[i], []).append(i)
    for j in _unmatched(states.reference):
        if places.get(theirs[j]):
            states.translation[places[theirs[j]].pop()] = states.reference[j] = MATCHED


def _match_similar(states: WordMatch, ours: Sequence[str], theirs: Sequence[str]) -> None:
    """Match words that are alike, the most similar first."""
    rest = _unmatched(states.translation), _unmatched(states.reference)
    if len(rest[0]) * len(rest[1]) > MAX_SIMILAR_CELLS:
        return
    pairs = [(word_similarity(ours[i], theirs[j]), i, j) for i in rest[0] for j in rest[1]]
    for similarity, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if similarity < MIN_SIMILARITY:
            return
        if states.translation[i] == states.reference[j] == UNMATCHED:
            states.translation[i] = states.reference[j] = DIFFERENT


def _pair_remaining(
    states: WordMatch, ours: range, theirs: range, reference: Sequence[str]
) -> None:
    """Take remaining words between two anchors for each other; those beyond stay unmatched.

    On the longer side the shortest words are left: they are mostly function words, which two
    translations of the same thing need in different numbers.
    """
    i_rest = [i for i in ours if states.translation[i] == UNMATCHED]
    j_rest = [j for j in theirs if states.reference[j] == UNMATCHED]
    count = min(len(i_rest), len(j_rest))
    longest = sorted(j_rest, key=lambda j: -len(reference[j]))
    for i in i_rest[:count]:
        states.translation[i] = DIFFERENT
    for j in longest[:count]:
        states.reference[j] = DIFFERENT
