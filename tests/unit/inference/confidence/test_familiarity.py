"""A stream unlike the dev set is noticed early, one like it never."""

from dataclasses import replace

import numpy as np
import pytest

from nmtkit.inference.confidence.familiarity import MAX_LEVELS, Familiarity, score_levels
from tests.unit.calibrations import RECORD

RANDOM = np.random.default_rng(7)
DEV: list[float] = RANDOM.normal(-0.6, 0.3, 1000).tolist()
START = RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Give each test the same random numbers, whichever tests ran before it."""
    RANDOM.bit_generator.state = START


def familiarity():
    scores, levels = score_levels(DEV)
    record = replace(RECORD, pairs=1000, scores=tuple(scores), levels=tuple(levels))
    return Familiarity(record)


def noticed_after(scores):
    stream = familiarity()
    return next((n for n, score in enumerate(scores, start=1) if stream.add(score)), None)


def test_levels_are_shares_of_the_dev_set():
    scores, levels = score_levels(DEV)
    assert len(scores) == len(levels) <= MAX_LEVELS
    assert levels[0] == 0.001 and levels[-1] == 1 and scores == sorted(scores)
    for score, level in zip(scores, levels, strict=True):
        assert np.mean(score + 1e-5 >= np.array(DEV)) == pytest.approx(level, abs=2e-3)


def test_lines_like_the_dev_set_are_never_noticed():
    assert all(noticed_after(RANDOM.normal(-0.6, 0.3, 2000)) is None for _ in range(50))


def test_lines_that_are_a_little_harder_are_not_noticed():
    assert all(noticed_after(RANDOM.normal(-0.65, 0.32, 2000)) is None for _ in range(20))


@pytest.mark.parametrize(("mean", "most"), [(-1.5, 10), (-1.2, 40)])
def test_other_lines_are_noticed_early(mean, most):
    counts = [noticed_after(RANDOM.normal(mean, 0.3, 500)) for _ in range(20)]
    assert all(count is not None and 4 <= count <= most for count in counts), counts


def test_a_few_bad_lines_are_no_evidence():
    assert noticed_after([-50.0] * 3 + list(RANDOM.normal(-0.6, 0.3, 500))) is None


@pytest.mark.parametrize("scores", [[-1.0], [-1.0, -1.0], [-2.0, -1.0]])
def test_dev_sets_of_a_line_or_two_have_levels(scores):
    assert score_levels(scores)[1][-1] == 1
