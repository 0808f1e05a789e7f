"""The hidden Markov model of links: against all alignments one by one, and laws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.text import hmm_alignment
from nmtkit.text.hmm_alignment import EMPTY, HMM, MAX_JUMP, forward_backward, smoothed
from nmtkit.text.pair_cells import PairCells, TokenPair

WORDS = 5

sides = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=3)
seeds = st.integers(0, 2**32 - 1)


def random_pairs(texts: list[tuple[list[int], list[int]]], seed: int) -> PairCells:
    random = np.random.default_rng(seed)
    pairs = [
        TokenPair(
            np.array(src, np.int64),
            np.array(tgt, np.int64),
            *random.uniform(0.1, 1, (2, len(tgt), len(src))).astype(np.float32),
        )
        for src, tgt in texts
    ]
    return PairCells.of(pairs, WORDS)


def random_model(cells: PairCells, seed: int, to_target: bool) -> HMM:
    random = np.random.default_rng(seed)
    strengths = random.uniform(0, 1, len(cells.keys) + 1).astype(np.float32)
    jumps = random.uniform(0.01, 1, 2 * MAX_JUMP + 1)
    return HMM(strengths, jumps, random.dirichlet(np.ones(WORDS)).astype(np.float32), to_target)


def slowly(cells: PairCells, model: HMM, number: int) -> tuple[list[list[float]], dict[int, float]]:
    """Posteriors [observed][state] and jumps of a pair, by all alignments one by one."""
    strengths = cells.matrix(model.strengths[cells.words], number)
    weights = cells.matrix(cells.forward if model.to_target else cells.backward, number)
    emissions = (strengths * weights).astype(float)
    emissions = emissions if model.to_target else emissions.T
    observed = (cells.tgt if model.to_target else cells.src)[number]
    length, states = emissions.shape

    def jump(before: int, state: int) -> float:
        def share(to: int) -> float:
            return float(model.jumps[to - before + MAX_JUMP])

        return (1 - EMPTY) * share(state) / sum(map(share, range(states)))

    posteriors = [[0.0] * states for _ in range(length)]
    moves: dict[int, float] = {}
    total = 0.0
    paths = product(range(states), *[[*range(states), None]] * length)
    for start, *path in paths:
        probability, place, jumps = 1 / states, start, []
        for step, state in enumerate(path):
            if state is None:
                probability *= EMPTY * float(model.frequencies[observed[step]])
                continue
            if step:
                probability *= jump(place, state)
                jumps.append(state - place)
            else:
                probability *= (1 - EMPTY) / states
            probability *= emissions[step, state]
            place = state
        total += probability
        for step, state in enumerate(path):
            if state is not None:
                posteriors[step][state] += probability
        for distance in jumps:
            moves[distance] = moves.get(distance, 0.0) + probability
    return (
        [[value / total for value in row] for row in posteriors],
        {distance: value / total for distance, value in moves.items()},
    )


@settings(max_examples=50)
@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=4), seeds, st.booleans())
def test_posteriors_and_jumps_are_those_of_all_alignments(
    texts: list[tuple[list[int], list[int]]], seed: int, to_target: bool
) -> None:
    cells = random_pairs(texts, seed)
    model = random_model(cells, seed, to_target)
    found = model.posteriors(cells, cells.forward if to_target else cells.backward)
    jumps = np.zeros(2 * MAX_JUMP + 1)
    for number in range(len(texts)):
        posteriors, moves = slowly(cells, model, number)
        matrix = cells.matrix(found.links, number)
        assert np.allclose(matrix if to_target else matrix.T, posteriors, atol=1e-4)
        for distance, value in moves.items():
            jumps[distance + MAX_JUMP] += value
    assert np.allclose(found.jumps, jumps, atol=1e-4)


@settings(max_examples=50)
@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=5), seeds)
def test_the_other_pairs_of_a_block_do_not_matter(
    texts: list[tuple[list[int], list[int]]], seed: int
) -> None:
    cells = random_pairs(texts, seed)
    model = random_model(cells, seed, True)
    together = model.posteriors(cells, cells.forward).links
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hmm_alignment, "BLOCK_CELLS", 1)
        apart = model.posteriors(cells, cells.forward).links
    assert np.allclose(together, apart, atol=1e-5)


def test_pairs_without_words_have_no_links() -> None:
    cells = random_pairs([([], [1]), ([1], []), ([], [])], 1)
    found = random_model(cells, 1, True).posteriors(cells, cells.forward)
    assert not len(found.links) and not found.jumps.any()


def test_very_unlikely_sentences_stay_finite() -> None:
    random = np.random.default_rng(1)
    emissions = (10.0 ** random.uniform(-30, 0, (300, 2, 40))).astype(np.float32)
    transitions = np.full((40, 40), 0.8 / 40, np.float32)
    empty = np.full((300, 2), 1e-12, np.float32)
    links, moves = forward_backward(emissions, empty, np.array([300, 250]), transitions)
    assert np.isfinite(links).all() and np.isfinite(moves).all()
    assert links.sum(2).max() <= 1 + 1e-3
    assert not links[250:, 1].any()


def test_jumps_that_never_happened_stay_possible() -> None:
    counts = np.array([0.0, 3.0, 0.0])
    assert (smoothed(counts) > 0).all()
    assert smoothed(counts)[1] == 3
    assert (smoothed(np.zeros(3)) > 0).all()
