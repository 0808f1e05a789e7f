"""The laws of packed batches."""

import pytest
import torch

from nmtkit.models.packing import Packing, computed_padding, longest_first

LENGTHS = [[1], [3, 3], [2, 5, 1, 5], [1, 2, 3, 4]]


def mask_of(lengths, width=0):
    return torch.arange(max(width, *lengths)) < torch.tensor(lengths).unsqueeze(1)


def packing_of(mask):
    return Packing.of(mask, torch.device("cpu"))


@pytest.mark.parametrize("lengths", LENGTHS)
def test_packing_lists_every_real_position_once_step_by_step(lengths):
    packing = packing_of(mask_of(lengths, 6))
    expected = []
    order = sorted(range(len(lengths)), key=lambda b: -lengths[b])
    for position in range(max(lengths)):
        expected += [6 * b + position for b in order if lengths[b] > position]
    assert packing.rows.tolist() == expected
    assert packing.sizes == [sum(length > t for length in lengths) for t in range(max(lengths))]
    assert [order.index(b) for b in range(len(lengths))] == packing.ranks.tolist()
    assert list(packing.steps())[-1][1] == len(expected)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_pad_undoes_pack_with_zeros_at_padding(lengths):
    mask = mask_of(lengths, 6)
    values = torch.randn(*mask.shape, 2)
    packing = packing_of(mask)
    assert torch.equal(packing.pad(packing.pack(values)), values * mask.unsqueeze(2))


@pytest.mark.parametrize("lengths", LENGTHS)
def test_mirror_reverses_every_sentence(lengths):
    mask = mask_of(lengths)
    packing = packing_of(mask)
    words = torch.arange(mask.numel()).view(mask.shape)
    reverse_words = packing.pad(packing.pack(words).index_select(0, packing.mirror).unsqueeze(1))
    for sentence, length in enumerate(lengths):
        expected = words[sentence, :length].flip(0)
        assert torch.equal(reverse_words[sentence, :length, 0], expected)


def test_previous_states_are_those_after_the_step_before():
    packing = packing_of(mask_of([3, 1, 2]))
    first, states = torch.randn(2, 3, 4), torch.randn(2, 6, 4)
    before = packing.previous_states(first, states)
    assert torch.equal(before[:, :3], first)
    assert torch.equal(before[:, 3:], states[:, [0, 1, 3]])


def test_pad_passes_gradients_to_real_positions_only():
    packing = packing_of(mask_of([2, 3, 1]))
    rows = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(packing.pad, (rows,))


def test_sentences_of_one_length_keep_their_order():
    assert longest_first(mask_of([2, 3, 2, 3])).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_computed_padding_packs_every_position_and_mirrors_the_real_ones(lengths):
    mask = mask_of(lengths, 6)
    words = torch.arange(mask.numel()).view(mask.shape)
    with computed_padding():
        packing = packing_of(mask)
        assert longest_first(mask).tolist() == list(range(len(lengths)))
    assert packing.sizes == [len(lengths)] * 6
    assert torch.equal(packing.pad(packing.pack(words).unsqueeze(1)).squeeze(2), words)
    assert torch.equal(packing.pad(packing.real.unsqueeze(1)).squeeze(2), mask)
    mirrored = packing.pad(packing.pack(words).index_select(0, packing.mirror).unsqueeze(1))
    for sentence, length in enumerate(lengths):
        line = words[sentence]
        reverse_and_padding = torch.cat([line[:length].flip(0), line[length:]])
        assert torch.equal(mirrored[sentence, :, 0], reverse_and_padding)
        assert packing.pack(words)[packing.last[sentence]] == words[sentence, length - 1]
    assert packing_of(mask).real is None
