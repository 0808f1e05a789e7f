"""Padding keeps all words in order and masks the rest."""

import pytest
import torch

from nmtkit.data.batch import make_batch, pad, sentences_per_batch


def test_pad_keeps_every_word_and_masks_the_rest():
    sentences = [[5, 3, 0], [0], [7, 0]]
    ids, mask = pad(sentences)
    assert ids.dtype == torch.int64 and mask.dtype == torch.bool
    assert ids.tolist() == [[5, 3, 0], [0, 0, 0], [7, 0, 0]]
    assert mask.sum(1).tolist() == [3, 1, 2]
    for sentence, row, real in zip(sentences, ids, mask, strict=True):
        assert row[real].tolist() == sentence


def test_pad_takes_ids_of_any_size():
    ids, _ = pad([[2**40, 0]])
    assert ids.tolist() == [[2**40, 0]]


def test_pad_accepts_empty_sentences():
    ids, mask = pad([[], [4, 0]])
    assert ids.tolist() == [[0, 0], [4, 0]] and mask.tolist() == [[False, False], [True, True]]


def test_a_batch_has_both_sides_and_its_line_numbers():
    batch = make_batch([[4, 0], [5, 6, 0]], [[0], [9, 0]], [17, 3])
    assert batch.src.tolist() == [[4, 0, 0], [5, 6, 0]]
    assert batch.src_mask.tolist() == [[True, True, False], [True, True, True]]
    assert batch.tgt.tolist() == [[0, 0], [9, 0]]
    assert batch.tgt_mask.tolist() == [[True, False], [True, True]]
    assert batch.lines == [17, 3]


def test_halves_are_the_batches_of_half_the_pairs():
    src, tgt = [[4, 0], [5, 6, 7, 0], [8, 0]], [[0], [9, 0], [3, 2, 0]]
    one, other = make_batch(src, tgt, [17, 3, 5]).halves()
    for half, rows in ((one, slice(0, 1)), (other, slice(1, 3))):
        expected = make_batch(src[rows], tgt[rows], [17, 3, 5][rows])
        assert half.lines == expected.lines
        assert all(map(torch.equal, half[:4], expected[:4]))
    assert one.halves() == [one]


def test_ids_move_to_the_device_and_masks_stay_on_the_host():
    batch = make_batch([[4, 0]], [[5, 0]], [1]).to(torch.device("meta"))
    assert batch.src.device.type == batch.tgt.device.type == "meta"
    assert batch.src_mask.device.type == batch.tgt_mask.device.type == "cpu"
    assert batch.lines == [1]


def test_a_batch_may_be_empty():
    batch = make_batch([], [], [])
    assert batch.src.shape == batch.tgt_mask.shape == (0, 0)
    assert (batch.src.dtype, batch.src_mask.dtype) == (torch.int64, torch.bool)
    (whole,) = batch.halves()
    assert whole is batch


def test_halves_keep_the_size_of_the_whole_batch():
    batch = make_batch([[4, 0], [5, 6, 0]], [[0], [9, 0]], [17, 3])
    assert (batch.pairs, batch.tokens) == (2, 3)
    assert [(half.pairs, half.tokens) for half in batch.halves()] == [(2, 3), (2, 3)]


def test_pieces_of_a_batch_without_dropout_have_none_either():
    batch = make_batch([[4, 0], [5, 6, 0]], [[0], [9, 0]], [17, 3])._replace(dropout=False)
    pieces = [*batch.halves(), *batch.parts(2), batch.to(torch.device("meta"))]
    assert not any(piece.dropout for piece in pieces)


def test_a_batch_of_any_length_has_bounded_positions():
    for size in (3, 64):
        sizes = [sentences_per_batch(length, size) for length in range(2000)]
        assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 1
        assert sizes[0] == sizes[6] == 4 * size and sizes[25] == sizes[50] == size
        assert all(n == 1 or n * length <= 50 * size for length, n in enumerate(sizes))
    assert {sentences_per_batch(length, 1) for length in range(2000)} == {1}


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_parts_are_the_batches_of_some_pairs_each_and_of_all_together(size):
    pairs = [([4 + n] * (n % 4) + [0], [9 - n] * (n % 3) + [0]) for n in range(size)]
    numbers = list(range(17, 17 + size))
    src, tgt = zip(*pairs, strict=True)
    batch = make_batch(src, tgt, numbers)
    for count in range(1, 10):
        parts = batch.parts(count)
        assert len(parts) == min(count, size) and all(part.lines for part in parts)
        assert sorted(line for part in parts for line in part.lines) == numbers
        for part in parts:
            rows = [n - 17 for n in part.lines]
            expected = make_batch([src[n] for n in rows], [tgt[n] for n in rows], rows)
            assert all(map(torch.equal, part[:4], expected[:4]))
            assert (part.pairs, part.tokens) == (batch.pairs, batch.tokens)
