"""Selecting and replacing sentences and hypotheses, against plain indexing."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nmtkit.models.search_state import EncodedTensors, FixedSizeState, Refillable


@dataclass(frozen=True)
class State(FixedSizeState):
    narrow: Tensor
    wide: Tensor


@dataclass(frozen=True)
class Encoded(EncodedTensors):
    vector: Tensor
    annotations: Tensor


def random_state(*leading: int) -> State:
    return State(torch.randn(*leading), torch.randn(*leading, 2, 5))


def random_encoded(sentences: int, width: int) -> Encoded:
    return Encoded(torch.randn(sentences), torch.randn(sentences, width, 3))


def test_select_sentences_may_reorder_repeat_and_leave_out():
    state = random_state(4)
    rows = torch.tensor([3, 0, 0])
    chosen = state.select_sentences(rows)
    assert type(chosen) is State
    for position, row in enumerate(rows.tolist()):
        assert torch.equal(chosen.narrow[position], state.narrow[row])
        assert torch.equal(chosen.wide[position], state.wide[row])
    assert len(state.select_sentences(rows[:0]).wide) == 0


def test_select_hypotheses_follows_each_sentences_own_parents():
    state = random_state(3, 4)
    parents = torch.tensor([[3, 0], [1, 1], [2, 3]])
    chosen = state.select_hypotheses(parents)
    assert chosen.wide.shape == (3, 2, 2, 5)
    for sentence in range(3):
        for k in range(2):
            parent = int(parents[sentence, k])
            assert torch.equal(chosen.narrow[sentence, k], state.narrow[sentence, parent])
            assert torch.equal(chosen.wide[sentence, k], state.wide[sentence, parent])


def test_selecting_from_one_hypothesis_per_sentence_changes_nothing():
    state = random_state(3, 1)
    assert state.select_hypotheses(torch.zeros(3, 1, dtype=torch.int64)) is state


def test_append_hypotheses_puts_them_side_by_side():
    first, second, third = (random_state(2, k) for k in (1, 3, 2))
    joined = first.append_hypotheses([second, third])
    assert torch.equal(joined.narrow, torch.cat([first.narrow, second.narrow, third.narrow], 1))
    assert torch.equal(joined.wide[:, 1:4], second.wide)


def test_newcomers_become_the_first_hypothesis_of_their_rows():
    state, newcomers = random_state(4, 3), random_state(2, 1)
    kept = state.wide[[0, 2]].clone()
    replaced = state.replace_sentences(torch.tensor([3, 1]), newcomers)
    assert replaced.wide.shape == (4, 3, 2, 5)
    assert torch.equal(replaced.wide[[3, 1], :1], newcomers.wide)
    assert torch.equal(replaced.wide[[0, 2]], kept)


def test_encoded_sources_of_any_length_are_padded_to_the_longer():
    for old, new in ((2, 5), (5, 2), (3, 3)):
        encoded, newcomers = random_encoded(3, old), random_encoded(1, new)
        kept = encoded.annotations[[0, 2]].clone()
        replaced = encoded.replace_sentences(torch.tensor([1]), newcomers)
        assert replaced.annotations.shape == (3, max(old, new), 3)
        assert torch.equal(replaced.vector[1:2], newcomers.vector)
        assert torch.equal(replaced.annotations[1:2, :new], newcomers.annotations)
        assert (replaced.annotations[1, new:] == 0).all()
        assert torch.equal(replaced.annotations[[0, 2], :old], kept)


def test_encoded_tensors_without_source_positions_have_no_padding():
    encoded = random_encoded(3, 2)
    assert encoded.trim_padding() is encoded


def test_fixed_size_states_are_refillable():
    for value in (random_state(1, 1), random_encoded(1, 1)):
        assert isinstance(value, Refillable)
    nothing: Any = object()
    assert not isinstance(nothing, Refillable)
