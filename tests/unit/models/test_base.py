"""Selecting of sentences and hypotheses, against plain indexing."""

from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.base import map_tensors, select_hypotheses, select_sentences


class Two(NamedTuple):
    narrow: Tensor
    wide: Tensor


def two(*leading):
    return Two(torch.randn(*leading), torch.randn(*leading, 2, 5))


def test_map_tensors_keeps_the_type_and_takes_every_tensor():
    values = two(3)
    doubled = map_tensors(values, lambda value: value * 2)
    assert type(doubled) is Two
    assert torch.equal(doubled.narrow, values.narrow * 2)
    assert torch.equal(doubled.wide, values.wide * 2)


def test_select_sentences_may_reorder_repeat_and_leave_out():
    values = two(4)
    rows = torch.tensor([3, 0, 0])
    chosen = select_sentences(values, rows)
    for place, row in enumerate(rows.tolist()):
        assert torch.equal(chosen.narrow[place], values.narrow[row])
        assert torch.equal(chosen.wide[place], values.wide[row])
    assert len(select_sentences(values, rows[:0]).wide) == 0


def test_select_hypotheses_follows_each_sentences_own_parents():
    values = two(3, 4)
    parents = torch.tensor([[3, 0], [1, 1], [2, 3]])
    chosen = select_hypotheses(values, parents)
    assert chosen.wide.shape == (3, 2, 2, 5)
    for sentence in range(3):
        for k in range(2):
            parent = int(parents[sentence, k])
            assert torch.equal(chosen.narrow[sentence, k], values.narrow[sentence, parent])
            assert torch.equal(chosen.wide[sentence, k], values.wide[sentence, parent])
