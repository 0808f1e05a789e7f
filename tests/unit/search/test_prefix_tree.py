"""Prefix trees; their log-probabilities are also tested in tests/unit/models/test_laws.py."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.data.batch import pad
from nmtkit.models.base import log_probs
from nmtkit.search.prefix_tree import PrefixTree, tree_log_probs

TARGETS = [[3, 1, 0], [3, 1, 2, 0], [0], [3, 1, 0], [2, 0]]


def counting_rows(model):
    """Return a list that gets the number of hypotheses of each step."""
    rows, step = [], model.step

    def counted(previous, state, encoded):
        rows.append(previous.size(1))
        return step(previous, state, encoded)

    model.step = counted
    return rows


def test_shared_prefixes_are_stored_once():
    tree = PrefixTree(TARGETS)
    first, second, third, fourth = tree.levels
    assert first == ([0, 0, 0], [3, 0, 2], [0, 2])
    assert second == ([0, 1], [1, 0], [0])
    assert third == ([0, 0], [0, 2], [1])
    assert fourth == ([0], [0], [])
    assert tree.size == 8
    assert tree.paths == [[0, 3, 5], [0, 3, 6, 7], [1], [0, 3, 5], [2, 4]]


@settings(derandomize=True)
@given(st.lists(st.lists(st.integers(1, 3), max_size=6).map(lambda words: [*words, 0])))
def test_paths_spell_the_translations_and_no_prefix_occurs_twice(targets):
    tree = PrefixTree(targets)
    words = [word for level in tree.levels for word in level.tokens]
    assert [[words[index] for index in path] for path in tree.paths] == targets
    different = {tuple(t[: i + 1]) for t in targets for i in range(len(t))}
    assert len(words) == tree.size == len(different)
    for level, following in zip(tree.levels, tree.levels[1:], strict=False):
        assert set(following.prefixes) == set(range(len(level.extended)))


def test_each_different_prefix_takes_one_step(prefix_model):
    model = prefix_model(1, 4)
    src, mask = pad([[5, 0]])
    rows = counting_rows(model)
    tree_log_probs(model, src, mask, PrefixTree(TARGETS))
    assert rows == [1, 2, 1, 1]


@pytest.mark.parametrize(("length", "most"), [(2, 64), (256, 32), (20_000, 1)])
def test_a_step_has_fewer_prefixes_for_a_long_source(prefix_model, length, most):
    model = prefix_model(1, 200)
    rows = counting_rows(model)
    src, mask = pad([[5] * (length - 1) + [0]])
    tree = PrefixTree([[word, 0] for word in range(1, 131)])
    assert len(tree_log_probs(model, src, mask, tree)) == 260
    assert max(rows) == most and sum(rows) == 131


def test_a_tree_without_translations_has_no_scores(prefix_model):
    src, mask = pad([[5, 0]])
    assert tree_log_probs(prefix_model(1, 4), src, mask, PrefixTree([])).tolist() == []


def test_tokens_have_the_models_probabilities(prefix_model):
    model = prefix_model(2, 4)
    src, mask = pad([[5, 7, 0]])
    encoded = model.encode(src, mask)
    state = model.initial_state(encoded)
    first = model.step(torch.full((1, 1), -1), state, encoded)
    second = model.step(torch.full((1, 1), 3), first.state, encoded)
    expected = [
        log_probs(model.output_layer(), step.readout)[0, 0, word].item()
        for step, word in ((first, 3), (first, 2), (second, 1), (second, 0))
    ]
    tree = PrefixTree([[3, 1], [2], [3, 0]])
    assert tree_log_probs(model, src, mask, tree).tolist() == pytest.approx(expected)
