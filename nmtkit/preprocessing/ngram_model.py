"""n-gram language models with modified Kneser-Ney smoothing, interpolated, in sorted arrays.

Chen and Goodman 1998, section 3: with a(g) the adjusted count of an n-gram g, and h' the context h
without its first word,

    p(w | h) = max(a(hw) - D(a(hw)), 0) / sum_v a(hv) + gamma(h) p(w | h')
    gamma(h) = sum_v D(a(hv)) / sum_v a(hv)
    Y = n1 / (n1 + 2 n2),   D(i) = i - (i + 1) Y n(i+1) / n(i) for i = 1, 2 and 3 or more

n(i) being the number of n-grams of that order with adjusted count i. The adjusted count of a
longest n-gram is how often it was seen, that of a shorter one how many different words were seen
before it.

An n-gram is known by its place among those of its length, which are sorted by the place of all but
the last word, then by the last word. So an n-gram that ends at a position of a text is found from
the one, shorter by a word, that ends at the position before: a whole text is looked up, exactly,
by a few operations on arrays for each length, and nothing is done in Python for single words.

Departures and readings:

- The vocabulary is closed: every word outside is `<unk>`, a word like others. The distribution
  below the unigrams is uniform over the words and `</s>`, so that no word has probability 0.
- Nothing stands before `<s>`: an n-gram that begins with it is counted as often as it was seen.
- Where an order has no n-gram of count 1, 2, 3 or 4, or a discount would not be above 0 or take
  more than is there, D is 0.5, 1 and 1.5 in this order, as with KenLM's `--discount_fallback`.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmtkit.special_symbols import EOS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FALLBACK = (0.5, 1.0, 1.5)
"""D(1), D(2), D(3 or more) where they cannot be estimated."""

_NONE = -1
"""The place of an n-gram that is not there."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class _Table:
    """Finds the places of keys: a hash table with open addressing, asked for many keys at once.

    That takes a third of the time of a search in the sorted keys.

    :param keys: all different.
    """

    def __init__(self, keys: Ints) -> None:
        bits = max(1, (2 * len(keys)).bit_length())  # at most half of the slots are taken
        self._keys = keys
        self._shift = np.uint64(64 - bits)
        self._last = (1 << bits) - 1
        self._slots = np.full(1 << bits, _NONE)
        rest, slots = np.arange(len(keys)), self._first_slots(keys)
        while len(rest):
            free = self._slots[slots] == _NONE
            self._slots[slots[free]] = rest[free]  # of several that want one slot, one gets it
            left = self._slots[slots] != rest
            rest, slots = rest[left], (slots[left] + 1) & self._last

    def places(self, wanted: Ints) -> Ints:
        """The place of each wanted key, or none."""
        slots = self._first_slots(wanted)
        places = self._slots[slots]
        other = np.flatnonzero(self._is_other(places, wanted))
        while len(other):
            slots[other] = (slots[other] + 1) & self._last
            places[other] = self._slots[slots[other]]
            other = other[self._is_other(places[other], wanted[other])]
        return places

    def _is_other(self, places: Ints, wanted: Ints) -> NDArray[np.bool_]:
        """Whether another key than the wanted one is at each place."""
        if not len(self._keys):
            return np.zeros(len(places), bool)
        other: NDArray[np.bool_] = (places != _NONE) & (self._keys[places] != wanted)
        return other

    def _first_slots(self, keys: Ints) -> Ints:
        """Where to begin: the leading bits of a product with 2^64 over the golden ratio."""
        return (keys.astype(np.uint64) * _GOLDEN >> self._shift).astype(np.int64)


@dataclass(frozen=True)
class NgramModel:
    """p(w | h) for every word w of a vocabulary and every context h.

    words: in the vocabulary, `</s>` and `<unk>` counted; `<s>` has the place after them.
    keys: of each order from 2: context's place x words + last word, in rising order.
    logs: of each order from 1: ln p of each n-gram. Shape: [n-grams].
    backoffs: of each order but the last: ln gamma of each n-gram as a context, 0 where nothing
        was seen after it; in order 1 with an entry more, for `<s>`.
    """

    words: int
    keys: tuple[Ints, ...]
    logs: tuple[Floats, ...]
    backoffs: tuple[Floats, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.logs)

    @cached_property
    def _tables(self) -> tuple[_Table, ...]:
        return tuple(map(_Table, self.keys))

    @classmethod
    def train(cls, ids: Ints, words: int, order: int) -> "NgramModel":
        """Estimate a model from a text.

        Memory at the height of it is some 100 bytes a token.

        :param ids: of all lines in a row, `</s>` after each, as `Vocabulary.ids_of_lines` has them.
        :param words: in the vocabulary.
        :param order: the length of the longest n-grams, at least 1.
        """
        starts = _line_starts(ids)
        keys, suffixes, seen = [], [], [np.bincount(ids, minlength=words)]
        contexts, found = _first_contexts(ids, starts, words), ids
        for _ in range(2, order + 1):
            shorter, here = found, np.flatnonzero(contexts != _NONE)
            different, places, counts = np.unique(
                contexts[here] * words + ids[here], return_inverse=True, return_counts=True
            )
            suffix = np.empty(len(different), np.int64)
            suffix[places] = shorter[here]
            found = np.full(len(ids), _NONE)
            found[here] = places
            keys.append(different)
            suffixes.append(suffix)
            seen.append(counts)
            contexts = _next_contexts(found, starts)
        return cls._smoothed(words, keys, suffixes, seen)

    @classmethod
    def _smoothed(
        cls, words: int, keys: list[Ints], suffixes: list[Ints], seen: list[Ints]
    ) -> "NgramModel":
        """Probabilities from counts, from the shortest n-grams to the longest.

        :param suffixes: of each order from 2: the place of each n-gram without its first word.
        :param seen: of each order: how often each n-gram was seen.
        """
        counts = _adjusted(seen[0], suffixes[0] if suffixes else None)
        discounts = _discounted(counts)
        total = max(counts.sum(), 1)
        below = discounts.sum() / total if counts.any() else 1.0
        probabilities = (counts - discounts) / total + below / words
        logs, backoffs = [np.log(probabilities)], []
        for place, (key, suffix) in enumerate(zip(keys, suffixes, strict=True), start=1):
            longer = suffixes[place] if place < len(suffixes) else None
            counts = _adjusted(seen[place], longer)
            discounts = _discounted(counts)
            contexts, size = key // words, len(logs[-1]) + (place == 1)
            totals = np.bincount(contexts, counts, size)
            gamma = np.bincount(contexts, discounts, size) / np.maximum(totals, 1)
            shorter = probabilities[suffix]
            probabilities = (counts - discounts) / totals[contexts] + gamma[contexts] * shorter
            logs.append(np.log(probabilities))
            backoffs.append(np.log(np.where(totals > 0, gamma, 1)))
        return cls(words, tuple(keys), tuple(logs), tuple(backoffs))

    def log_probs(self, ids: Ints) -> Floats:
        """ln p of each word and `</s>` of a text, given those before it in its line.

        :param ids: of all lines in a row, `</s>` after each. Shape: [tokens].
        """
        starts = _line_starts(ids)
        result = self.logs[0][ids]
        contexts = _first_contexts(ids, starts, self.words)
        for place, table in enumerate(self._tables):
            here = np.flatnonzero(contexts != _NONE)
            known = contexts[here]
            places = table.places(known * self.words + ids[here])
            seen = places != _NONE
            result[here] += self.backoffs[place][known]
            result[here[seen]] = self.logs[place + 1][places[seen]]
            found = np.full(len(ids), _NONE)
            found[here] = places
            contexts = _next_contexts(found, starts)
        return result

    def save(self, path: Path) -> None:
        """Write the arrays, without compression."""
        named = {"words": np.array(self.words)}
        for name, arrays in (("keys", self.keys), ("logs", self.logs), ("backoffs", self.backoffs)):
            named |= {f"{name}{number}": array for number, array in enumerate(arrays)}
        with open(path, "wb") as output:
            np.savez(output, allow_pickle=False, **named)

    @classmethod
    def load(cls, path: Path) -> "NgramModel":
        """Read what `save` has written."""
        with np.load(path, allow_pickle=False) as named:
            order = sum(name.startswith("logs") for name in named.files)
            return cls(
                int(named["words"]),
                tuple(named[f"keys{number}"] for number in range(order - 1)),
                tuple(named[f"logs{number}"] for number in range(order)),
                tuple(named[f"backoffs{number}"] for number in range(order - 1)),
            )


def line_sums(values: Floats, ids: Ints) -> Floats:
    """The sum over each line, `</s>` included.

    :param values: of each token. Shape: [tokens].
    :param ids: of all lines in a row, `</s>` after each. Shape: [tokens].
    :return: Shape: [lines].
    """
    return np.add.reduceat(values, np.flatnonzero(_line_starts(ids))) if len(ids) else values


def _line_starts(ids: Ints) -> NDArray[np.bool_]:
    """Whether each token is the first of its line."""
    return np.concatenate(([True], ids[:-1] == EOS))[: len(ids)]


def _first_contexts(ids: Ints, starts: NDArray[np.bool_], words: int) -> Ints:
    """The place of the one word before each token, `<s>` at the start of a line."""
    before = np.roll(ids, 1)
    before[starts] = words
    return before


def _next_contexts(found: Ints, starts: NDArray[np.bool_]) -> Ints:
    """The place of the n-gram that ends before each token; none at the start of a line."""
    before = np.roll(found, 1)
    before[starts] = _NONE
    return before


def _adjusted(seen: Ints, suffixes: Ints | None) -> Ints:
    """The adjusted count of each n-gram of one order.

    :param suffixes: of the n-grams one longer, which are different from each other; None in the
        last order. What begins with `<s>` is the suffix of none.
    """
    if suffixes is None:
        return seen
    before = np.bincount(suffixes, minlength=len(seen))
    return np.where(before > 0, before, seen)


def _discounted(counts: Ints) -> Floats:
    """D(a) of each adjusted count; 0 of what was not seen."""
    return np.array([0.0, *discounts_of(counts)])[np.minimum(counts, 3)]


def discounts_of(counts: Ints) -> tuple[float, float, float]:
    """D(1), D(2) and D(3 or more) of one order.

    :param counts: the adjusted count of each of its n-grams.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).tolist()
    if not all(n[1:5]):
        return FALLBACK
    y = n[1] / (n[1] + 2 * n[2])
    one, two, three = (i - (i + 1) * y * n[i + 1] / n[i] for i in (1, 2, 3))
    if not (0 < one <= 1 and 0 < two <= 2 and 0 < three <= 3):
        return FALLBACK
    return one, two, three
