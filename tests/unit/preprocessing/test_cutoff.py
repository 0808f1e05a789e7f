"""The cutoff of a ranking equals that of sorting all of it."""

import random

import numpy as np
import pytest

from nmtkit.preprocessing import cutoff as ranking
from nmtkit.preprocessing.cross_entropy import RECORD
from nmtkit.preprocessing.cutoff import SELECT_ALL, Cutoff, find_cutoff, subset_sizes


def records(scores: list[float], words: list[int]) -> np.ndarray:
    array = np.zeros(len(scores), RECORD)
    array["score"], array["words"] = scores, words
    return array


def by_sorting(ranking_records: np.ndarray, limit: int, unit: str) -> list[int]:
    """Return the numbers of the best pairs within the limit, in order, found by sorting."""
    order = [
        n
        for n in np.argsort(ranking_records["score"], kind="stable")
        if ranking_records["score"][n] < np.inf
    ]
    selected, used = [], 0
    for number in order:
        used += 1 if unit == "pairs" else int(ranking_records["words"][number])
        if used > limit:
            break
        selected.append(int(number))
    return sorted(selected)


def selected(ranking_records: np.ndarray, cutoff: Cutoff) -> list[int]:
    return np.flatnonzero(cutoff.selects(ranking_records, 0)).tolist()


@pytest.mark.parametrize("unit", ["pairs", "words"])
@pytest.mark.parametrize("seed", range(6))
def test_the_cutoff_equals_that_of_sorting(
    seed: int, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "RECORDS_PER_BLOCK", 17)
    draw = random.Random(seed)
    few = [-1.5, -0.25, 0.0, 1e-300, 0.25, 3.0, float("inf")]
    scores = [
        draw.choice(few) if seed % 2 else draw.choice([draw.gauss(0, 1), 1e300, float("inf")])
        for _ in range(60)
    ]
    ranking_records = records(scores, [draw.randrange(1, 30) for _ in scores])
    for limit in (1, 2, 7, 20, 45, 59, 60, 61, 200, 500, 900, 2000):
        cutoff = find_cutoff(ranking_records, limit, unit)  # type: ignore[arg-type]
        assert selected(ranking_records, cutoff) == by_sorting(ranking_records, limit, unit), limit


def test_all_selectable_pairs_are_selected_below_the_limit() -> None:
    ranking_records = records([1, np.inf, -1], [5, 0, 5])
    for limit, unit in ((2, "pairs"), (3, "pairs"), (10, "words")):
        assert find_cutoff(ranking_records, limit, unit) == SELECT_ALL  # type: ignore[arg-type]
    assert selected(ranking_records, SELECT_ALL) == [0, 2]


def test_nothing_is_selected_if_the_best_pair_exceeds_the_limit() -> None:
    ranking_records = records([1, -1], [1, 5])
    assert selected(ranking_records, find_cutoff(ranking_records, 4, "words")) == []


def test_earlier_pairs_win_ties_also_in_blocks() -> None:
    ranking_records = records([2.0] * 10, [1] * 10)
    cutoff = find_cutoff(ranking_records, 4, "pairs")
    assert ranking.selected(ranking_records, cutoff).tolist() == [True] * 4 + [False] * 6
    assert selected(ranking_records, cutoff) == [0, 1, 2, 3]
    assert cutoff.selects(ranking_records[3:6], 3).tolist() == [True, False, False]


def test_subset_sizes_double_up_to_the_maximum() -> None:
    assert subset_sizes(40, 1000) == [10, 20, 40, 80, 160, 320, 640, 1000]
    assert subset_sizes(40, 80) == [10, 20, 40, 80]
    assert subset_sizes(1, 1) == [1]
    assert subset_sizes(400, 30) == [30]
