"""Kneser-Ney models against the formulas of Chen and Goodman, one number at a time."""

import itertools
import math
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from nmtkit.preprocessing.ngram_model import (
    FALLBACK_DISCOUNTS,
    NgramModel,
    _HashTable,
    estimate_discounts,
    line_sums,
)

START = "<s>"
END = 0
Gram = tuple[object, ...]


class Reference:
    """p(w | h) by the paper's recursion over dictionaries, for words 0 (`</s>`), 1, 2, ..."""

    def __init__(self, lines: list[list[int]], words: int, order: int) -> None:
        self.words, self.order = words, order
        padded = [[START, *line, END] for line in lines]
        seen = [
            Counter(
                tuple(line[i : i + size]) for line in padded for i in range(len(line) - size + 1)
            )
            for size in range(order + 1)
        ]
        before: dict[Gram, set[object]] = defaultdict(set)
        for size in range(2, order + 1):
            for gram in seen[size]:
                before[gram[1:]].add(gram[0])
        self.counts: list[dict[Gram, int]] = [{}]
        for size in range(1, order + 1):
            self.counts.append({
                gram: count if size == order or gram[0] == START else len(before[gram])
                for gram, count in seen[size].items()
                if gram != (START,)
            })  # fmt: skip

    def discount(self, size: int, count: int) -> float:
        if count == 0:
            return 0.0
        n = Counter(self.counts[size].values())
        if not all(n[i] for i in (1, 2, 3, 4)):
            return FALLBACK_DISCOUNTS[min(count, 3) - 1]
        y = n[1] / (n[1] + 2 * n[2])
        values = [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
        if any(not 0 < value <= place for place, value in enumerate(values, start=1)):
            values = list(FALLBACK_DISCOUNTS)
        return values[min(count, 3) - 1]

    def p(self, word: int, context: Gram) -> float:
        """Return p(word | context), where the context ends with the nearest word."""
        context = context[max(0, len(context) - self.order + 1) :]
        size = len(context) + 1
        counts = self.counts[size]
        followers = [counts.get((*context, other), 0) for other in range(self.words)]
        total = sum(followers)
        below = self.p(word, context[1:]) if context else 1 / self.words
        if not total:
            return below
        gamma = sum(self.discount(size, count) for count in followers) / total
        own = counts.get((*context, word), 0)
        return max(own - self.discount(size, own), 0) / total + gamma * below


def ids_of(lines: list[list[int]]) -> np.ndarray:
    return np.array([number for line in lines for number in (*line, END)], np.int64)


def text(seed: int, lines: int, words: int) -> list[list[int]]:
    """Return lines in which few words are frequent, as in real text; the last words never occur."""
    draw = random.Random(seed)
    weights = [1 / rank for rank in range(1, words - 1)]
    return [
        draw.choices(range(1, words - 1), weights, k=draw.randrange(1, 8)) for _ in range(lines)
    ]


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("lines", "words"), [(60, 30), (3, 6)])
def test_every_probability_is_the_papers(order: int, lines: int, words: int) -> None:
    learned, test_text = text(1, lines, words), text(2, 8, words) + [[words - 1, 1, words - 1]]
    reference = Reference(learned, words, order)
    log_probs = NgramModel.train(ids_of(learned), words, order).log_probs(ids_of(test_text))
    expected = [
        math.log(reference.p(word, (START, *line[:position])))
        for line in test_text
        for position, word in enumerate((*line, END))
    ]
    np.testing.assert_allclose(log_probs, expected, rtol=1e-10)


def test_the_discounts_of_the_larger_text_are_estimated() -> None:
    counts = np.array([3, 2, 2, 1, 1, 1, 1, 1, 4, 9])
    y = 5 / (5 + 2 * 2)
    expected = (1 - 2 * y * 2 / 5, 2 - 3 * y * 1 / 2, 3 - 4 * y * 1 / 1)
    assert estimate_discounts(counts) == pytest.approx(expected)
    learned = Reference(text(1, 60, 30), 30, 2)
    assert learned.discount(2, 1) != FALLBACK_DISCOUNTS[0]  # estimated, not given


@pytest.mark.parametrize(
    "counts",
    [[1, 1, 2, 3], [2, 3, 4], [1, 2, 2, 3, 4, 4, 4, 4, 4], [0], []],
    ids=["no 4", "no 1", "one below 0", "not seen", "none"],
)
def test_discounts_fall_back(counts: list[int]) -> None:
    assert estimate_discounts(np.array(counts, np.int64)) == FALLBACK_DISCOUNTS


@pytest.mark.parametrize("order", [1, 3])
def test_probabilities_sum_to_1_after_every_context(order: int) -> None:
    words = 7
    model = NgramModel.train(ids_of(text(3, 40, words)), words, order)
    contexts = [
        line
        for size in range(4)
        for line in itertools.product(range(1, words), repeat=size)
        if size < 3 or line[0] < 3
    ]
    totals = np.zeros(len(contexts))
    for word in range(words):
        lines = [[*context, word] if word else [*context] for context in contexts]
        ids = ids_of(lines)
        positions = np.flatnonzero(ids == END) - (word != END)
        totals += np.exp(model.log_probs(ids)[positions])
    np.testing.assert_allclose(totals, 1, rtol=1e-10)


def test_a_line_is_not_changed_by_its_neighbours() -> None:
    model = NgramModel.train(ids_of(text(4, 50, 12)), 12, 4)
    lines = text(5, 20, 12)
    alone = np.concatenate([model.log_probs(ids_of([line])) for line in lines])
    np.testing.assert_array_equal(model.log_probs(ids_of(lines)), alone)


def test_a_model_of_no_text_is_uniform() -> None:
    model = NgramModel.train(np.zeros(0, np.int64), 5, 3)
    np.testing.assert_allclose(model.log_probs(np.array([3, 0])), math.log(1 / 5))
    assert len(model.log_probs(np.zeros(0, np.int64))) == 0


def test_text_like_the_training_text_is_likelier_than_other_text() -> None:
    learned = [[1, 2, 3], [1, 2, 4], [5, 2, 3]] * 4
    model = NgramModel.train(ids_of(learned), 6, 3)
    assert model.log_probs(ids_of([[1, 2, 3]])).sum() > model.log_probs(ids_of([[3, 2, 1]])).sum()


def test_a_saved_model_is_the_same(tmp_path: Path) -> None:
    model = NgramModel.train(ids_of(text(6, 50, 9)), 9, 3)
    model.save(tmp_path / "model")
    loaded = NgramModel.load(tmp_path / "model")
    assert loaded.words == 9 and loaded.order == 3
    ids = ids_of(text(7, 20, 9))
    np.testing.assert_array_equal(loaded.log_probs(ids), model.log_probs(ids))


def test_line_sums_add_up_the_values_of_each_line() -> None:
    ids = ids_of([[1, 2], [3], [4, 1, 1]])
    assert line_sums(np.arange(9.0), ids).tolist() == [3, 7, 26]
    assert line_sums(np.zeros(0), np.zeros(0, np.int64)).tolist() == []


@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000])
def test_keys_are_found_at_their_indices_and_other_keys_are_not(size: int) -> None:
    draw = random.Random(size)
    keys = np.array(sorted(draw.sample(range(1 << 40), size)), np.int64)
    table = _HashTable(keys)
    assert table.find(keys).tolist() == list(range(size))
    missing_keys = np.array([n for n in range(3000) if n not in set(keys.tolist())], np.int64)
    assert set(table.find(missing_keys).tolist()) == {-1}


def test_keys_that_collide_in_one_slot_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def last_but_one(table: _HashTable, keys: np.ndarray) -> np.ndarray:
        return np.full(len(keys), table._mask - 1)  # so that the search goes on at the first

    monkeypatch.setattr(_HashTable, "_first_slots", last_but_one)
    table = _HashTable(np.arange(0, 100, 2))
    assert table.find(np.arange(100)).tolist() == [
        number // 2 if number % 2 == 0 else -1 for number in range(100)
    ]
