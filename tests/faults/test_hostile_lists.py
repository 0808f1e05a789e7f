"""A part of `hostile_lists.py`: each third list with one file of weights and one method."""

import itertools

import pytest

from tests.faults.hostile_lists import METHODS, WEIGHTS, lists, try_list

LISTS = list(lists())
LARGE = {name for name, *texts in LISTS if len(texts[0]) > 1_000_000}
PAIRS = list(itertools.product(WEIGHTS, METHODS))


@pytest.mark.parametrize("number", range(0, len(LISTS), 8), ids=lambda number: LISTS[number][0])
def test_a_list_is_tuned_or_refused_in_one_line(number, tmp_path):
    name, *texts = LISTS[number]
    weights, method = PAIRS[5 * number % len(PAIRS)]
    if name not in LARGE:
        try_list(tmp_path, (texts[0], texts[1]), weights, method)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("method", METHODS, ids=" ".join)
def test_weights_of_any_size_are_used_or_refused(weights, method, tmp_path):
    name, *texts = next(case for case in LISTS if case[0] == "both signs")
    try_list(tmp_path, (texts[0], texts[1]), weights, method)
