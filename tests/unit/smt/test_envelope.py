"""Envelope and line search against an exhaustive search over many points."""

import numpy as np
import pytest

from nmtkit.evaluation.bleu_statistics import bleu
from nmtkit.smt.envelope import exact_line_search, upper_envelopes
from nmtkit.smt.tuning_list import load_tuning_list, segment_argmax

OFFSETS = np.array([0, 1, 3, 8, 20, 40])


def lines(seed, whole):
    """Return slopes and heights; whole numbers give many equal lines and shared crossings."""
    random = np.random.default_rng(seed)
    if whole:
        return random.integers(-3, 4, (2, OFFSETS[-1])).astype(float)
    return random.normal(size=(2, OFFSETS[-1]))


def walk(envelopes, gamma, sentence):
    """Return the best line of a sentence at gamma from the crossings before it."""
    line = envelopes.initial[sentence]
    in_sentence = (envelopes.before >= OFFSETS[sentence]) & (
        envelopes.before < OFFSETS[sentence + 1]
    )
    for n in np.flatnonzero(in_sentence)[
        np.argsort(envelopes.crossings[in_sentence], kind="stable")
    ]:
        if envelopes.crossings[n] < gamma:
            assert envelopes.before[n] == line
            line = envelopes.after[n]
    return line


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_envelope_is_the_highest_line_everywhere(seed, whole):
    slopes, heights = lines(seed, whole)
    envelopes = upper_envelopes(slopes, heights, OFFSETS)
    for gamma in [-1e6, *np.random.default_rng(9).uniform(-6, 6, 200), 1e6]:
        values = heights + gamma * slopes
        highest = values[segment_argmax(values, OFFSETS)]
        for sentence in range(len(OFFSETS) - 1):
            assert values[walk(envelopes, gamma, sentence)] == pytest.approx(highest[sentence])


@pytest.mark.parametrize("seed", range(5))
def test_crossings_lead_to_steeper_lines_and_each_line_occurs_once(seed):
    slopes, heights = lines(seed, whole=True)
    _, at, before, after = upper_envelopes(slopes, heights, OFFSETS)
    assert (slopes[after] > slopes[before]).all()
    assert len(set(after)) == len(after)
    assert heights[before] + at * slopes[before] == pytest.approx(
        heights[after] + at * slopes[after]
    )


def test_parallel_lines_do_not_cross_and_the_first_highest_is_used():
    offsets = np.array([0, 4])
    actual = upper_envelopes(np.full(4, 2.0), np.array([1.0, 3, 3, 2]), offsets)
    assert actual.initial.tolist() == [1] and not len(actual.crossings)


def test_three_lines_through_one_point_give_one_crossing():
    slopes, heights = np.array([-1.0, 0, 1, 1]), np.array([0.0, 0, 0, 0])
    actual = upper_envelopes(slopes, heights, np.array([0, 4]))
    assert (actual.crossings.tolist(), actual.before.tolist(), actual.after.tolist()) == (
        [0],
        [0],
        [2],
    )
    slopes, heights = np.array([-3.0, -1, 1, 3]), np.array([0.0, 0, 0, -10])
    actual = upper_envelopes(slopes, heights, np.array([0, 4]))
    assert (actual.crossings.tolist(), actual.after.tolist()) == ([0, 5], [2, 3])


@pytest.mark.parametrize("seed", range(8))
def test_no_point_on_the_line_has_higher_bleu(make_list, seed):
    entries, references = make_list(seed, sentences=8, without=(seed % 3,))
    tuning = load_tuning_list(entries, references)
    random = np.random.default_rng(seed)
    weights, direction = random.normal(size=(2, 3))
    arguments = tuning.features @ direction, tuning.scores(weights)
    statistics = tuning.offsets, tuning.statistics, tuning.missing
    gamma, reached = exact_line_search(*arguments, *statistics)
    assert tuning.bleu(weights + gamma * direction) == pytest.approx(reached)
    grid = np.concatenate([np.linspace(-5, 5, 2001), [-1e4, 1e4]])
    tried = [tuning.bleu(weights + place * direction) for place in grid]
    assert max(tried) <= reached + 1e-12
    assert max(tried) == pytest.approx(reached)
    assert reached > np.median(tried)


RIGHT, HALF, WRONG = [5, 4, 3, 2, 5, 4, 3, 2, 5], [3, 2, 2, 1, 5, 4, 3, 2, 5], [0] * 9


@pytest.mark.parametrize(
    ("second", "statistics", "expected"),
    [
        (1.5, [WRONG, RIGHT, WRONG, RIGHT], 4.0),  # 1 to 1.5, or from 3 on
        (1.5, [WRONG, RIGHT, WRONG, HALF], 1.25),
        (1.0 + 1e-12, [WRONG, RIGHT, WRONG, HALF], 4.0),  # 1 to 1.000000000001 is too narrow
    ],
)
def test_the_widest_of_the_best_intervals_is_used(second, statistics, expected):
    crossings = np.array([1.0, second, 3.0])  # of the lines with the slopes 0, 1, 2, 3
    heights = -np.cumsum([0.0, *crossings])
    offsets, missing = np.array([0, 4]), np.zeros(9, int)
    actual = exact_line_search(np.arange(4.0), heights, offsets, np.array(statistics), missing)
    assert actual[0] == pytest.approx(expected)


@pytest.mark.parametrize(("slope", "beyond"), [(1.0, 6.0), (-1.0, -6.0)])
def test_beyond_the_last_crossing_is_one_away_from_it(slope, beyond):
    slopes, heights = np.array([0.0, slope]), np.array([5.0, 0.0])
    statistics = np.array([WRONG, RIGHT])
    actual = exact_line_search(slopes, heights, np.array([0, 2]), statistics, np.zeros(9, int))
    assert list(actual) == pytest.approx([beyond, 1.0])


@pytest.mark.parametrize("words", [0, 4])
def test_without_crossings_the_step_is_zero(words):
    """Sentences without hypotheses, of so many words, count."""
    statistics = np.array([RIGHT] * 2)
    offsets, missing = np.array([0, 2]), np.array([0] * 8 + [words])
    actual = exact_line_search(np.zeros(2), np.array([1.0, 2.0]), offsets, statistics, missing)
    assert list(actual) == pytest.approx([0.0, float(bleu(statistics[0] + missing))])
