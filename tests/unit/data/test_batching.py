"""The order of training: each pair once per epoch, and any position can be restored."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from nmtkit.config import DataConfig
from nmtkit.data import batching
from nmtkit.data.batch import sentences_per_batch
from nmtkit.data.batching import Batches, Position, permute, validation_batches
from nmtkit.data.corpus import Corpus, Side
from nmtkit.errors import DataError

UNITS = ["sentences", "tokens"]
ORDERS = ["ascending", "random"]
SHUFFLES = ["once", "every-epoch"]
OPTIONS = list(itertools.product(UNITS, ORDERS, SHUFFLES))


def side(lengths, first):
    """Return sentences of the given numbers of words and `</s>`; all words are different."""
    sentences = [
        [first + 100 * number + word for word in range(length)] + [0]
        for number, length in enumerate(lengths)
    ]
    ids = np.array([word for sentence in sentences for word in sentence], np.int64)
    return Side(ids, np.cumsum([0, *(len(s) for s in sentences)]).astype(np.int64))


def corpus(size, longest=12, seed=0):
    lengths = np.random.default_rng(seed).integers(0, longest + 1, (2, size))
    return Corpus(side(lengths[0], 1), side(lengths[1], 50))


def settings(unit: Any = "sentences", order: Any = "ascending", shuffle: Any = "once", **changes):
    values = {"max_length": 10, "batch_size": 4 if unit == "sentences" else 30, "sort_pool": 3}
    return DataConfig(batch_unit=unit, order=order, shuffle=shuffle, **{**values, **changes})


def epoch(batches, number=0):
    """Return the batches of epoch `number` from an iterator that is not past its start."""
    result = []
    for batch in batches:
        if batches.position.epoch > number + 1:
            raise AssertionError("an epoch without batches")
        result.append(batch)
        if batches.position.epoch == number + 1:
            return result
    raise AssertionError("training data came to an end")


def allowed(pairs, max_length):
    return [
        i + 1
        for i in range(len(pairs))
        if max(len(pairs.src[i]), len(pairs.tgt[i])) <= max_length + 1
    ]


def same(one, other):
    return one.lines == other.lines and all(
        np.array_equal(a, b) for a, b in zip(one[:4], other[:4], strict=True)
    )


@pytest.mark.parametrize("ranks", [2, 7])
@pytest.mark.parametrize("unit", UNITS)
def test_the_parts_of_all_ranks_make_up_the_batch(unit, ranks):
    pairs = corpus(37)
    whole = epoch(Batches(pairs, settings(unit), seed=1))
    parts_by_rank = [
        epoch(Batches(pairs, settings(unit), 1, part=(n, ranks))) for n in range(ranks)
    ]
    assert {len(part) for part in parts_by_rank} == {len(whole)}
    sizes = set()
    for batch, *parts in zip(whole, *parts_by_rank, strict=True):
        assert sorted(line for part in parts for line in part.lines) == sorted(batch.lines)
        assert (batch.pairs, batch.tokens) == (len(batch.lines), int(batch.tgt_mask.sum()))
        assert {(part.pairs, part.tokens) for part in parts} == {(batch.pairs, batch.tokens)}
        counts = [len(part.lines) for part in parts]
        assert max(counts) - min(counts) <= 1
        sizes |= {*counts}
    assert 0 in sizes or ranks == 2


def test_all_ranks_have_the_same_positions():
    pairs, config = corpus(37), settings()
    streams = [Batches(pairs, config, 1, part=part) for part in [(0, 1), (1, 3), (2, 3)]]
    for _ in zip(range(25), *streams, strict=False):
        assert len({stream.position for stream in streams}) == 1


@pytest.mark.parametrize("sizes", [range(1, 201), [4095, 4096, 4097, 100_003]])
def test_the_order_is_a_permutation(sizes):
    for size in sizes:
        actual = permute(np.arange(size), size, key=size + 5)
        assert actual.dtype == np.int64
        assert np.array_equal(np.sort(actual), np.arange(size)), size


def test_each_element_of_the_permutation_can_be_computed_alone():
    whole = permute(np.arange(1000), 1000, key=3)
    indices = np.array([999, 0, 517, 0])
    assert np.array_equal(permute(indices, 1000, key=3), whole[indices])
    assert np.array_equal(indices, [999, 0, 517, 0])


def test_keys_give_different_orders():
    orders = [permute(np.arange(1000), 1000, key) for key in range(20)]
    for one, other in itertools.combinations([np.arange(1000), *orders], 2):
        assert np.mean(one == other) < 0.02  # expected: 0.001


@pytest.mark.parametrize("size", [1000, 1025])
def test_the_order_is_random(size):
    """Over many keys each pair stands in each tenth of the order about equally often."""
    tenths = np.zeros((size, 10))
    for key in range(200):
        indices = np.empty(size, np.int64)
        indices[permute(np.arange(size), size, key)] = np.arange(size)
        tenths[np.arange(size), indices * 10 // size] += 1
    squares = ((tenths - 20) ** 2 / 20).sum() / (9 * size)  # chi-squared per degree of freedom
    assert 0.9 < squares < 1.1


def test_neighbours_are_separated():
    order = permute(np.arange(10_000), 10_000, key=1)
    assert np.mean(np.abs(np.diff(order)) < 100) < 0.03  # expected: 0.02
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.04


@pytest.mark.parametrize(("unit", "order", "shuffle"), OPTIONS)
def test_each_epoch_uses_each_short_pair_once_and_no_long_one(unit, order, shuffle):
    pairs = corpus(131)
    batches = Batches(pairs, settings(unit, order, shuffle), seed=1)
    expected = allowed(pairs, 10)
    assert 20 < len(expected) < 131
    stream = iter(batches)
    for number in range(3):
        lines = []
        while batches.position.epoch == number:
            lines += next(stream).lines
        assert sorted(lines) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_pairs_stay_together(unit):
    pairs = corpus(60)
    for batch in epoch(Batches(pairs, settings(unit), seed=1)):
        for row, line in enumerate(batch.lines):
            assert batch.src[row][batch.src_mask[row]].tolist() == pairs.src[line - 1].tolist()
            assert batch.tgt[row][batch.tgt_mask[row]].tolist() == pairs.tgt[line - 1].tolist()


@pytest.mark.parametrize("budget", [1, 10, 30, 200])
def test_token_batches_keep_their_budget_unless_single(budget):
    batches = epoch(Batches(corpus(200), settings("tokens", batch_size=budget), seed=1))
    sizes = [(batch.tgt.numel(), len(batch.lines)) for batch in batches]
    assert all(tokens <= budget or sentences == 1 for tokens, sentences in sizes)
    assert any(sentences > 1 for _, sentences in sizes) == (budget > 1)


def test_token_batches_are_filled():
    batches = epoch(Batches(corpus(400), settings("tokens", batch_size=60, sort_pool=20), seed=1))
    assert np.mean([batch.tgt.numel() for batch in batches]) > 45


@pytest.mark.parametrize("unit", UNITS)
def test_a_pool_is_sorted_by_length_and_used_in_ascending_order(unit):
    pairs = corpus(150)
    batches = Batches(pairs, settings(unit, batch_size=8 if unit == "sentences" else 50), seed=1)
    pools: dict[Position, list[int]] = {}
    stream = iter(batches)
    while batches.position.epoch == 0:
        position = Position(0, batches.position.start)
        batch = next(stream)
        lengths = torch.maximum(batch.src_mask.sum(1), batch.tgt_mask.sum(1)).tolist()
        pools.setdefault(position, []).extend(lengths)
    assert len(pools) > 3
    assert all(lengths == sorted(lengths) for lengths in pools.values())
    everything = [length for lengths in pools.values() for length in lengths]
    assert everything != sorted(everything)


@pytest.mark.parametrize("unit", UNITS)
def test_random_order_uses_the_same_batches_of_a_pool(unit):
    pairs = corpus(60)
    ascending = epoch(Batches(pairs, settings(unit, sort_pool=1000), seed=1))
    shuffled = epoch(Batches(pairs, settings(unit, order="random", sort_pool=1000), seed=1))
    assert [b.lines for b in ascending] != [b.lines for b in shuffled]
    assert sorted(b.lines for b in ascending) == sorted(b.lines for b in shuffled)


def test_a_pool_has_sort_pool_batches():
    batches = Batches(corpus(400, longest=10), settings(batch_size=5, sort_pool=4), seed=1)
    stream, starts = iter(batches), []
    while batches.position.epoch == 0:
        starts.append(batches.position.start)
        assert len(next(stream).lines) == 5
    assert starts == [20 * (number // 4) for number in range(80)]


def test_the_papers_settings_give_batches_of_80_in_ascending_order():
    lengths = np.random.default_rng(1).integers(1, 60, (2, 5000))
    pairs = Corpus(side(lengths[0], 1), side(lengths[1], 50))
    batches = epoch(Batches(pairs, DataConfig(), seed=1))
    kept = int((np.maximum(*lengths) <= 50).sum())
    assert [len(b.lines) for b in batches[:-1]] == [80] * (kept // 80)
    assert sum(len(b.lines) for b in batches) == kept
    longest = [max(b.src.size(1), b.tgt.size(1)) for b in batches]
    assert max(longest) <= 51
    for start in range(0, len(longest), 20):
        pool = longest[start : start + 20]
        assert pool == sorted(pool)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_shuffle_gives_one_order_or_one_per_epoch(shuffle):
    batches = Batches(corpus(80), settings(shuffle=shuffle), seed=1)
    stream = iter(batches)
    epochs: list[list[list[int]]] = [[], []]
    while batches.position.epoch < 2:
        number = batches.position.epoch
        epochs[number].append(next(stream).lines)
    assert (epochs[0] == epochs[1]) == (shuffle == "once")


@pytest.mark.parametrize(("unit", "order", "shuffle"), OPTIONS)
def test_the_seed_decides_the_order(unit, order, shuffle):
    pairs = corpus(60)

    def lines(seed):
        batches = Batches(pairs, settings(unit, order, shuffle), seed)
        return [batch.lines for batch in itertools.islice(batches, 30)]

    assert lines(1) == lines(1)
    assert lines(1) != lines(2)


@pytest.mark.parametrize(("unit", "order", "shuffle"), OPTIONS)
def test_resuming_from_any_position_gives_the_same_batches(unit, order, shuffle):
    pairs, config = corpus(50), settings(unit, order, shuffle)
    whole = Batches(pairs, config, seed=3)
    stream = iter(whole)
    positions, stream_batches = [whole.position], []
    while whole.position.epoch < 3:
        stream_batches.append(next(stream))
        positions.append(whole.position)
    assert len(stream_batches) > 12
    for number, position in enumerate(positions[:-1]):
        resumed = Batches(pairs, config, seed=3, position=position)
        again = list(itertools.islice(resumed, 3))
        following = stream_batches[number : number + 3]
        assert all(map(same, following, again))
        assert number + 3 >= len(positions) or resumed.position == positions[number + 3]


def mean_length(batch):
    return batch.tokens / batch.pairs


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ranks", [1, 3])
def test_batches_that_are_not_allowed_are_passed_by(order, ranks):
    pairs, config = corpus(60), settings(order=order)
    expected = [b.lines for b in epoch(Batches(pairs, config, 1)) if mean_length(b) <= 6]
    parts = []
    for rank in range(ranks):
        batches = Batches(pairs, config, 1, part=(rank, ranks))
        batches.allows = lambda length: length <= 6
        parts.append([batch.lines for batch in epoch(batches)][: len(expected)])
    joined: list[list[int]] = [sum(lines, start=[]) for lines in zip(*parts, strict=True)]
    assert list(map(sorted, joined)) == list(map(sorted, expected))


def test_a_batch_is_used_when_as_many_as_a_pool_were_refused():
    batches = Batches(corpus(40), settings(order="ascending"), seed=1)
    batches.allows = lambda length: False
    every = [batch.lines for batch in epoch(Batches(corpus(40), settings(), seed=1))]
    used = [batch.lines for batch in itertools.islice(batches, 2)]
    first, second = (every.index(lines) for lines in used)
    assert first == 3 and 2 <= second - first <= 4


def test_resuming_after_batches_that_were_passed_by_gives_the_same_batches():
    pairs, config = corpus(60), settings(order="random")
    batches = Batches(pairs, config, seed=1)
    batches.allows = lambda length: length <= 6
    first, position = next(iter(batches)), batches.position
    resumed = Batches(pairs, config, 1, position)
    resumed.allows = batches.allows
    stream = iter(Batches(pairs, config, 1))
    whole = [batch for batch in itertools.islice(stream, 30) if mean_length(batch) <= 6]
    second = next(iter(resumed))
    assert same(first, whole[0]) and same(second, whole[1])


def test_a_position_beyond_its_pool_goes_on_with_the_next_pool():
    position = Position(epoch=1, start=12, used=1000)
    batches = Batches(corpus(50), settings(), seed=3, position=position)
    next(iter(batches))
    assert batches.position.epoch == 1 and batches.position.start > 12


def test_the_position_can_be_set():
    pairs = corpus(50)
    first = Batches(pairs, settings(), seed=3)
    expected = list(itertools.islice(first, 7))
    position = first.position
    following = next(iter(first))
    second = Batches(pairs, settings(), seed=3)
    second.position = position
    assert same(next(iter(second)), following)
    assert not any(same(batch, following) for batch in expected)


def test_pools_of_only_long_pairs_are_skipped(monkeypatch):
    monkeypatch.setattr(batching, "READ_PAIRS", 2)
    lengths = np.array([20] * 40 + [3])
    pairs = Corpus(side(lengths, 1), side(lengths, 50))
    batches = Batches(pairs, settings(batch_size=1, sort_pool=1), seed=1)
    assert [batch.lines for batch in itertools.islice(batches, 3)] == [[41]] * 3
    assert batches.position.epoch in (2, 3)


def test_the_number_of_pairs_looked_up_together_changes_nothing(monkeypatch):
    pairs = corpus(90)
    expected = [b.lines for b in epoch(Batches(pairs, settings(), seed=1))]
    for read in (1, 7, 50):
        monkeypatch.setattr(batching, "READ_PAIRS", read)
        assert [b.lines for b in epoch(Batches(pairs, settings(), seed=1))] == expected


def test_max_length_applies_to_the_longer_side_without_its_end_symbol():
    src, tgt = np.array([10, 11, 3, 10]), np.array([10, 3, 11, 1])
    pairs = Corpus(side(src, 1), side(tgt, 50))
    (batch,) = epoch(Batches(pairs, settings(), seed=1))
    assert sorted(batch.lines) == [1, 4]


@pytest.mark.parametrize("size", [0, 5])
def test_no_pair_short_enough_is_an_error(size):
    lengths = np.full(size, 11)
    pairs = Corpus(side(lengths, 1), side(lengths, 50))
    with pytest.raises(DataError, match=r"10 tokens a side; raise data\.max_length"):
        Batches(pairs, settings(), seed=1)


def test_progress_counts_epochs():
    batches = Batches(corpus(40), settings(), seed=1)
    assert batches.progress() == 0
    stream, seen = iter(batches), [0.0]
    while batches.position.epoch < 2:
        next(stream)
        seen.append(batches.progress())
    assert seen == sorted(seen) and seen[-1] == 2
    assert any(0 < value < 1 for value in seen)


def test_progress_changes_with_each_batch_of_a_pool():
    pairs = corpus(40)
    batches = Batches(pairs, settings(batch_size=10, sort_pool=100, max_length=1000), seed=1)
    stream, seen = iter(batches), []
    while batches.position.epoch < 1:
        next(stream)
        seen.append(batches.progress())
    assert seen == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("size", [1, 3, 10, 400])
def test_validation_batches_yield_every_pair_once(size):
    pairs = corpus(size, longest=30)
    batches = list(validation_batches(pairs, 3))
    assert sorted(line for b in batches for line in b.lines) == list(range(1, size + 1))
    for batch in batches:
        longest = max(batch.src.size(1), batch.tgt.size(1))
        assert len(batch.lines) <= sentences_per_batch(longest, 3)
    for batch in batches:
        for row, line in enumerate(batch.lines):
            assert batch.tgt[row][batch.tgt_mask[row]].tolist() == pairs.tgt[line - 1].tolist()
            assert batch.src[row][batch.src_mask[row]].tolist() == pairs.src[line - 1].tolist()


def test_validation_batches_are_sorted_by_length_within_windows():
    pairs = corpus(150, longest=30)
    (first, *_, last) = validation_batches(pairs, 3)
    assert max(first.src.size(1), first.tgt.size(1)) > 28 and last.tgt.size(1) < 6
    assert len(first.lines) == 3 and len(last.lines) <= 12
