"""n-gram language models with modified Kneser-Ney smoothing, interpolated, in sorted arrays.

Chen and Goodman 1998, section 3: with a(g) the adjusted count of an n-gram g, and h' the context h
without its first word,

    p(w | h) = max(a(hw) - D(a(hw)), 0) / sum_v a(hv) + gamma(h) p(w | h')
    gamma(h) = sum_v D(a(hv)) / sum_v a(hv)
    Y = n1 / (n1 + 2 n2),   D(i) = i - (i + 1) Y n(i+1) / n(i) for i = 1, 2 and 3 or more

where n(i) is the number of n-grams of that order with adjusted count i. The adjusted count of an
n-gram of the highest order is its count, that of a shorter one the number of distinct words before
it.

An n-gram is represented by its index among those of its order, which are sorted by the index of the
context, then by the last word. So the n-gram that ends at a position of a text is found from the
(n-1)-gram that ends at the position before. A whole text is looked up, exactly, by a few array
operations for each order, without Python code for single words.

Departures and readings:

- The vocabulary is closed: all other words are `<unk>`, which is treated as a word. The
  distribution below the unigrams is uniform over the words and `</s>`, so that no word has
  probability 0.
- No word comes before `<s>`: the adjusted count of an n-gram that begins with it is its count.
- If an order has no n-gram of count 1, 2, 3 or 4, or if a discount D(i) would not be in (0, i], D
  is 0.5, 1 and 1.5 in this order, as with KenLM's `--discount_fallback`.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmtkit.special_symbols import EOS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
"""D(1), D(2) and D(3 or more) for orders where they cannot be estimated."""

_NOT_FOUND = -1
"""Index for n-grams that are not in the model."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class _HashTable:
    """Hash table with open addressing that looks up the indices of many keys at once.

    It takes a third of the time of a binary search in the sorted keys.

    :param keys: distinct keys; the index of a key is its position in this array.
    """

    def __init__(self, keys: Ints) -> None:
        bits = max(1, (2 * len(keys)).bit_length())  # at most half of the slots are used
        self._keys = keys
        self._shift = np.uint64(64 - bits)
        self._mask = (1 << bits) - 1
        self._slots = np.full(1 << bits, _NOT_FOUND)
        pending, slots = np.arange(len(keys)), self._first_slots(keys)
        while len(pending):
            free = self._slots[slots] == _NOT_FOUND
            self._slots[slots[free]] = pending[free]  # if several keys want a slot, one gets it
            displaced = self._slots[slots] != pending
            pending, slots = pending[displaced], (slots[displaced] + 1) & self._mask

    def find(self, queries: Ints) -> Ints:
        """Return the index of each query, or _NOT_FOUND."""
        slots = self._first_slots(queries)
        indices = self._slots[slots]
        colliding = np.flatnonzero(self._is_other_key(indices, queries))
        while len(colliding):
            slots[colliding] = (slots[colliding] + 1) & self._mask
            indices[colliding] = self._slots[slots[colliding]]
            collides = self._is_other_key(indices[colliding], queries[colliding])
            colliding = colliding[collides]
        return indices

    def _is_other_key(self, indices: Ints, queries: Ints) -> NDArray[np.bool_]:
        """Return a mask of the indices whose key differs from the query."""
        if not len(self._keys):
            return np.zeros(len(indices), bool)
        differs: NDArray[np.bool_] = (indices != _NOT_FOUND) & (self._keys[indices] != queries)
        return differs

    def _first_slots(self, keys: Ints) -> Ints:
        """Return the hash of each key: leading bits of its product with 2^64 / golden ratio."""
        return (keys.astype(np.uint64) * _GOLDEN >> self._shift).astype(np.int64)


@dataclass(frozen=True)
class NgramModel:
    """n-gram model: p(w | h) for every word w of a vocabulary and every context h.

    words: size of the vocabulary, `</s>` and `<unk>` included; `<s>` has the next id.
    keys: for each order from 2: index of the context x words + last word, ascending.
    logs: for each order from 1: ln p of each n-gram. Shape: [n-grams].
    backoffs: for each order but the last: ln gamma of each n-gram as a context, 0 if it is never a
        context; order 1 has one more entry, for `<s>`.
    """

    words: int
    keys: tuple[Ints, ...]
    logs: tuple[Floats, ...]
    backoffs: tuple[Floats, ...]

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.logs)

    @cached_property
    def _tables(self) -> tuple[_HashTable, ...]:
        return tuple(map(_HashTable, self.keys))

    @classmethod
    def train(cls, ids: Ints, words: int, order: int) -> "NgramModel":
        """Estimate a model from a text, with a peak memory of some 100 bytes a token.

        :param ids: ids of all lines, with `</s>` after each line, as `Vocabulary.ids_of_lines`
            returns them. Shape: [tokens].
        :param words: size of the vocabulary.
        :param order: length of the longest n-grams, at least 1.
        """
        starts = _line_starts(ids)
        keys, suffixes, counts = [], [], [np.bincount(ids, minlength=words)]
        contexts, ngrams = _first_contexts(ids, starts, words), ids
        for _ in range(2, order + 1):
            shorter, positions = ngrams, np.flatnonzero(contexts != _NOT_FOUND)
            order_keys, indices, order_counts = np.unique(
                contexts[positions] * words + ids[positions],
                return_inverse=True,
                return_counts=True,
            )
            suffix = np.empty(len(order_keys), np.int64)
            suffix[indices] = shorter[positions]
            ngrams = np.full(len(ids), _NOT_FOUND)
            ngrams[positions] = indices
            keys.append(order_keys)
            suffixes.append(suffix)
            counts.append(order_counts)
            contexts = _next_contexts(ngrams, starts)
        return cls._smooth(words, keys, suffixes, counts)

    @classmethod
    def _smooth(
        cls, words: int, keys: list[Ints], suffixes: list[Ints], raw_counts: list[Ints]
    ) -> "NgramModel":
        """Compute probabilities from counts, from the lowest order to the highest.

        :param suffixes: for each order from 2: the index of each n-gram without its first word.
        :param raw_counts: for each order: how often each n-gram occurs.
        """
        counts = _adjusted_counts(raw_counts[0], suffixes[0] if suffixes else None)
        discounts = _discounts(counts)
        total = max(counts.sum(), 1)
        gamma_0 = discounts.sum() / total if counts.any() else 1.0
        probabilities = (counts - discounts) / total + gamma_0 / words
        logs, backoffs = [np.log(probabilities)], []
        for index, (key, suffix) in enumerate(zip(keys, suffixes, strict=True), start=1):
            longer = suffixes[index] if index < len(suffixes) else None
            counts = _adjusted_counts(raw_counts[index], longer)
            discounts = _discounts(counts)
            contexts, size = key // words, len(logs[-1]) + (index == 1)
            totals = np.bincount(contexts, counts, size)
            gamma = np.bincount(contexts, discounts, size) / np.maximum(totals, 1)
            shorter = probabilities[suffix]
            probabilities = (counts - discounts) / totals[contexts] + gamma[contexts] * shorter
            logs.append(np.log(probabilities))
            backoffs.append(np.log(np.where(totals > 0, gamma, 1)))
        return cls(words, tuple(keys), tuple(logs), tuple(backoffs))

    def log_probs(self, ids: Ints) -> Floats:
        """Return ln p of each word and `</s>` of a text, given the words before it in its line.

        :param ids: ids of all lines, with `</s>` after each line. Shape: [tokens].
        :return: Shape: [tokens].
        """
        starts = _line_starts(ids)
        result = self.logs[0][ids]
        contexts = _first_contexts(ids, starts, self.words)
        for index, table in enumerate(self._tables):
            positions = np.flatnonzero(contexts != _NOT_FOUND)
            known = contexts[positions]
            indices = table.find(known * self.words + ids[positions])
            found = indices != _NOT_FOUND
            result[positions] += self.backoffs[index][known]
            result[positions[found]] = self.logs[index + 1][indices[found]]
            ngrams = np.full(len(ids), _NOT_FOUND)
            ngrams[positions] = indices
            contexts = _next_contexts(ngrams, starts)
        return result

    def save(self, path: Path) -> None:
        """Write the arrays to a file, without compression."""
        arrays_by_name = {"words": np.array(self.words)}
        for name, arrays in (("keys", self.keys), ("logs", self.logs), ("backoffs", self.backoffs)):
            arrays_by_name |= {f"{name}{number}": array for number, array in enumerate(arrays)}
        with open(path, "wb") as output:
            np.savez(output, allow_pickle=False, **arrays_by_name)

    @classmethod
    def load(cls, path: Path) -> "NgramModel":
        """Load the file that `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            order = sum(name.startswith("logs") for name in arrays.files)
            return cls(
                int(arrays["words"]),
                tuple(arrays[f"keys{number}"] for number in range(order - 1)),
                tuple(arrays[f"logs{number}"] for number in range(order)),
                tuple(arrays[f"backoffs{number}"] for number in range(order - 1)),
            )


def line_sums(values: Floats, ids: Ints) -> Floats:
    """Return the sum of the values of each line's tokens, `</s>` included.

    :param values: a value for each token. Shape: [tokens].
    :param ids: ids of all lines, with `</s>` after each line. Shape: [tokens].
    :return: Shape: [lines].
    """
    return np.add.reduceat(values, np.flatnonzero(_line_starts(ids))) if len(ids) else values


def line_lengths(ids: Ints) -> Ints:
    """Return the number of tokens of each line, `</s>` included. Shape: [lines]."""
    return np.diff(np.flatnonzero(ids == EOS), prepend=-1)


def _line_starts(ids: Ints) -> NDArray[np.bool_]:
    """Return a mask of the tokens that begin a line. Shape: [tokens]."""
    return np.concatenate(([True], ids[:-1] == EOS))[: len(ids)]


def _first_contexts(ids: Ints, starts: NDArray[np.bool_], words: int) -> Ints:
    """Return the id of the word before each token, `<s>` at the start of a line."""
    before = np.roll(ids, 1)
    before[starts] = words
    return before


def _next_contexts(ngrams: Ints, starts: NDArray[np.bool_]) -> Ints:
    """Return the index of the n-gram that ends before each token; _NOT_FOUND at a line start."""
    before = np.roll(ngrams, 1)
    before[starts] = _NOT_FOUND
    return before


def _adjusted_counts(counts: Ints, suffixes: Ints | None) -> Ints:
    """Return the adjusted count of each n-gram of one order.

    :param counts: how often each n-gram occurs.
    :param suffixes: for each distinct n-gram of the next order, the index of the n-gram without its
        first word; None for the last order. N-grams that begin with `<s>` are never suffixes.
    """
    if suffixes is None:
        return counts
    distinct_before = np.bincount(suffixes, minlength=len(counts))
    return np.where(distinct_before > 0, distinct_before, counts)


def _discounts(counts: Ints) -> Floats:
    """Return D(a) of each adjusted count; 0 for a count of 0."""
    return np.array([0.0, *estimate_discounts(counts)])[np.minimum(counts, 3)]


def estimate_discounts(counts: Ints) -> tuple[float, float, float]:
    """Estimate D(1), D(2) and D(3 or more) of one order.

    :param counts: adjusted counts of the n-grams of this order.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).tolist()
    if not all(n[1:5]):
        return FALLBACK_DISCOUNTS
    y = n[1] / (n[1] + 2 * n[2])
    d1, d2, d3 = (i - (i + 1) * y * n[i + 1] / n[i] for i in (1, 2, 3))
    if not (0 < d1 <= 1 and 0 < d2 <= 2 and 0 < d3 <= 3):
        return FALLBACK_DISCOUNTS
    return d1, d2, d3
