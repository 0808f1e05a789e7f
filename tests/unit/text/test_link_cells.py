"""Soft links of many pairs: against dictionaries, and laws."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.link_cells import LinkCells, PriorLinks, shares

TGT_WORDS = 7

sentence_pairs = st.lists(
    st.tuples(
        st.lists(st.integers(0, 4), min_size=1, max_size=4),
        st.lists(st.integers(0, TGT_WORDS - 1), max_size=4),
        st.integers(0, 2**32 - 1),
    ),
    max_size=5,
)


def priors(pairs: list[tuple[list[int], list[int], int]]) -> list[PriorLinks]:
    return [
        PriorLinks(
            np.array(src, np.int64),
            np.array(tgt, np.int64),
            np.random.default_rng(seed).uniform(0.1, 1, (len(tgt), len(src))).astype(np.float32),
        )
        for src, tgt, seed in pairs
    ]


@given(sentence_pairs)
def test_weights_and_counts_are_those_of_dictionaries(
    pairs: list[tuple[list[int], list[int], int]],
) -> None:
    links = priors(pairs)
    cells = LinkCells.of(links, TGT_WORDS)
    strength = {key: 1 / (1 + key) for key in cells.keys.tolist()}
    weights = cells.weights(np.array(list(strength.values())))
    expected, counts = [], defaultdict[int, float](float)
    for pair in links:
        for i, y in enumerate(pair.tgt.tolist()):
            keys = [x * TGT_WORDS + y for x in pair.src.tolist()]
            row = [
                float(pair.prior[i, j]) * strength[key] / sum(
                    float(pair.prior[i, k]) * strength[other] for k, other in enumerate(keys)
                )
                for j, key in enumerate(keys)
            ]  # fmt: skip
            expected += row
            for key, weight in zip(keys, row, strict=True):
                counts[key] += weight
    assert weights.tolist() == pytest.approx(expected, rel=1e-5)
    assert cells.counts(weights).tolist() == pytest.approx(
        [counts[key] for key in sorted(strength)], rel=1e-5
    )
    assert (cells.sources * TGT_WORDS + cells.targets == cells.keys).all()


@given(sentence_pairs)
def test_shares_of_a_word_sum_to_1(pairs: list[tuple[list[int], list[int], int]]) -> None:
    cells = LinkCells.of(priors(pairs), TGT_WORDS)
    parts = shares(cells.counts(cells.weights(np.ones(len(cells.keys)))), cells.sources)
    sums = np.bincount(cells.sources, parts)
    assert sums[np.unique(cells.sources)].tolist() == pytest.approx(
        [1.0] * len(np.unique(cells.sources))
    )
