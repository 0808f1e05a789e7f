"""MERT reaches the result of an exhaustive search and is never worse than its start."""

import numpy as np
import pytest

from nmtkit.smt.mert import MertConfig, mert, normalize_point
from nmtkit.smt.tuning_list import load_tuning_list


def grid_best(tuning, steps=12):
    """Return the best BLEU of all integer weights on the surface of a cube."""
    numbers = np.arange(-steps, steps + 1, dtype=float)
    cube = np.stack(np.meshgrid(numbers, numbers, numbers), axis=-1).reshape(-1, 3)
    surface = cube[np.abs(cube).max(axis=1) == steps]
    return max(tuning.bleu(weights) for weights in surface[::3])


@pytest.mark.parametrize("seed", range(3))
def test_the_result_is_as_good_as_a_grid_search(make_list, seed):
    tuning = load_tuning_list(*make_list(seed, sentences=5, most=5))
    end = mert(tuning, np.ones(3), MertConfig(restarts=6))
    assert end.bleu >= grid_best(tuning) - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_result_is_never_below_the_start(make_list, seed):
    entries, references = make_list(seed, sentences=10, without=(4,))
    original = {"A": (0.3, 0.1), "B": (-0.2,)} if seed % 2 else None
    tuning = load_tuning_list(entries, references, original)
    start = np.random.default_rng(seed).normal(size=3)
    alone = mert(tuning, start, MertConfig(restarts=0))
    more = mert(tuning, start, MertConfig(restarts=2))
    assert tuning.bleu(start) <= alone.bleu <= more.bleu
    for end in (alone, more):
        assert tuning.bleu(end.weights, end.rest) == end.bleu
        assert np.abs(end.weights).sum() == pytest.approx(1.0)
        assert end.rest == pytest.approx(1.0 / np.abs(start).sum())


@pytest.mark.parametrize("seed", range(6))
def test_no_coordinate_improves_the_result(make_list, seed):
    tuning = load_tuning_list(*make_list(seed, sentences=20))
    end = mert(tuning, np.array([-1.0, 0.2, -0.4]), MertConfig(restarts=0))
    for column in range(3):
        for step in np.linspace(-2, 2, 401):
            moved = end.weights + step * np.eye(3)[column]
            assert tuning.bleu(moved, end.rest) <= end.bleu + 1e-12


def test_the_same_seed_gives_the_same_weights(make_list):
    tuning = load_tuning_list(*make_list(1, sentences=10))
    ends = [mert(tuning, np.ones(3), MertConfig(restarts=2, seed=seed)) for seed in (5, 5, 6)]
    assert ends[0].weights.tolist() == ends[1].weights.tolist()
    assert ends[0].weights.tolist() != ends[2].weights.tolist()


def test_a_start_of_zeros_works(make_list):
    tuning = load_tuning_list(*make_list(1))
    end = mert(tuning, np.zeros(3), MertConfig(restarts=0))
    assert end.bleu > tuning.bleu(np.zeros(3))


def test_scaled_weights_choose_the_same_hypotheses(make_list):
    entries, references = make_list(4)
    tuning = load_tuning_list(entries, references, {"A": (0.3, 0.1), "B": (-0.2,)})
    weights = np.array([3.0, -4.0, 3.0])
    point = normalize_point(tuning, weights)
    assert point.weights == pytest.approx([0.3, -0.4, 0.3])
    assert point.rest == pytest.approx(0.1)
    assert point.bleu == tuning.bleu(weights)


def test_each_start_is_logged(make_list):
    tuning = load_tuning_list(*make_list(1))
    progress: list[str] = []
    mert(tuning, np.ones(3), MertConfig(restarts=2), progress.append)
    assert [line[:12] for line in progress] == ["start 0 of 2", "start 1 of 2", "start 2 of 2"]


def test_the_weight_of_the_rest_is_the_same_from_every_start(make_list):
    start, won = np.array([-5.0, 2.0, -4.0]), 0
    for seed in range(8):
        tuning = load_tuning_list(*make_list(seed))
        alone, more = (mert(tuning, start, MertConfig(n, directions=0)) for n in (0, 4))
        assert alone.rest == more.rest == pytest.approx(1.0 / 11.0)
        won += more.bleu > alone.bleu
    assert won, "no other start was better in any list"


@pytest.mark.parametrize("restarts", [0, 2])
def test_weights_are_normalised_where_nothing_is_won(make_list, restarts):
    tuning = load_tuning_list(*make_list(1, most=1))
    end = mert(tuning, np.array([3.0, -4.0, 3.0]), MertConfig(restarts))
    assert end.weights == pytest.approx([0.3, -0.4, 0.3]) and end.rest == pytest.approx(0.1)
