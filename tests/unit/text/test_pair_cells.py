"""Pairs of positions in flat arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.text import pair_cells
from nmtkit.text.pair_cells import PairCells, TokenPair, shares

TGT_WORDS = 6

ids = st.lists(st.integers(0, TGT_WORDS - 1), max_size=4)
sentence_pairs = st.lists(st.tuples(ids, ids), max_size=6)


def token_pairs(pairs: list[tuple[list[int], list[int]]]) -> list[TokenPair]:
    random = np.random.default_rng(1)
    return [
        TokenPair(
            np.array(src, np.int64),
            np.array(tgt, np.int64),
            *random.uniform(0.1, 1, (2, len(tgt), len(src))).astype(np.float32),
        )
        for src, tgt in pairs
    ]


@settings(max_examples=50)
@given(sentence_pairs)
def test_each_cell_has_the_key_of_its_words(pairs: list[tuple[list[int], list[int]]]) -> None:
    known = token_pairs(pairs)
    cells = PairCells.of(known, TGT_WORDS)
    assert len(cells) == len(pairs)
    met = sorted({x * TGT_WORDS + y for src, tgt in pairs for x in src for y in tgt})
    assert cells.keys.tolist() == met
    for number, (src, tgt) in enumerate(pairs):
        words = cells.matrix(cells.words.astype(np.float32), number).astype(int)
        expected = [[met.index(x * TGT_WORDS + y) for x in src] for y in tgt]
        assert words.tolist() == np.array(expected, int).reshape(len(tgt), len(src)).tolist()
        assert (cells.matrix(cells.forward, number) == known[number].forward).all()
        assert (cells.matrix(cells.backward, number) == known[number].backward).all()


def test_how_many_cells_are_sorted_at_a_time_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = token_pairs([([1, 2], [3, 4, 5]), ([0], [1]), ([5, 5], [2]), ([2], [3])])
    whole = PairCells.of(pairs, TGT_WORDS)
    monkeypatch.setattr(pair_cells, "CHUNK_CELLS", 1)
    parts = PairCells.of(pairs, TGT_WORDS)
    assert parts.keys.tolist() == whole.keys.tolist()
    assert parts.words.tolist() == whole.words.tolist()


def test_words_that_are_not_among_the_keys_have_the_last_number() -> None:
    pairs = token_pairs([([1, 2], [3])])
    cells = PairCells.of(pairs, TGT_WORDS, keys=np.array([TGT_WORDS * 2 + 3]))
    assert cells.words.tolist() == [1, 0]
    assert PairCells.of(pairs, TGT_WORDS, keys=np.empty(0, np.int64)).words.tolist() == [0, 0]


@settings(max_examples=50)
@given(sentence_pairs)
def test_shares_of_each_target_position_sum_to_1(pairs: list[tuple[list[int], list[int]]]) -> None:
    cells = PairCells.of(token_pairs(pairs), TGT_WORDS)
    shares = cells.shares_of_targets(cells.forward)
    for number, (src, tgt) in enumerate(pairs):
        own = cells.matrix(cells.forward, number)
        expected = own / own.sum(1, keepdims=True) if src and tgt else own
        assert cells.matrix(shares, number) == pytest.approx(expected, rel=1e-5)


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0.01, 100)), min_size=1, max_size=30))
def test_the_shares_of_a_word_add_up_to_one(counts: list[tuple[int, float]]) -> None:
    """A word without counts has no shares, which divide nothing by 0."""
    words = np.array([word for word, _ in counts] + [7])
    found = shares(np.array([count for _, count in counts] + [0.0]), words)
    sums = np.bincount(words, found)
    assert sums[np.unique(words[:-1])] == pytest.approx(1)
    assert found[-1] == 0
