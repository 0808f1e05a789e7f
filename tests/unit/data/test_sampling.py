"""Weights of corpora: how often each pair is used, without copies on disk."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.config import DataConfig
from nmtkit.data.batching import Batches, Position
from nmtkit.data.corpus import Corpus, Side
from nmtkit.data.sampling import WeightedOrder
from nmtkit.errors import DataError

CONFIG = DataConfig(batch_size=4, sort_pool=3, shuffle="every-epoch")
SEGMENTS = ((20, 1.0), (6, 2.0), (9, 0.5))


def corpus(pairs: int) -> Corpus:
    lengths = np.arange(pairs) % 7 + 1
    offsets = np.concatenate([[0], np.cumsum(lengths + 1)]).astype(np.int64)
    ids = np.ones(int(offsets[-1]), np.int64)
    ids[offsets[1:] - 1] = 0
    return Corpus(Side(ids, offsets), Side(ids, offsets))


def uses(order: WeightedOrder, epoch: int) -> Counter[int]:
    return Counter(order.pairs(np.arange(order.size(epoch)), epoch).tolist())


def lines(batches: Batches, epochs: int) -> list[list[int]]:
    """Return the lines of all batches of some epochs."""
    taken = []
    for batch in batches:
        taken.append(batch.lines)
        if batches.position.epoch == epochs:
            return taken
    raise AssertionError("endless")


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from([0.1, 0.5, 1, 1.5, 2, 3])), min_size=1),
    st.integers(0, 10**9),
)
def test_the_uses_of_a_pair_are_those_of_its_weight(
    segments: list[tuple[int, float]], seed: int
) -> None:
    order = WeightedOrder(segments, seed)
    total: Counter[int] = Counter()
    for epoch in range(10):
        total += uses(order, epoch)
        first = 0
        for pairs, weight in segments:
            expected = (epoch + 1) * weight
            counts = [total[i] for i in range(first, first + pairs)]
            assert all(abs(count - expected) <= 1 for count in counts)
            first += pairs
    exact = [round(10 * weight) for pairs, weight in segments for _ in range(pairs)]
    assert [total[i] for i in range(len(exact))] == exact  # ten epochs of tenths are exact


def test_a_fractional_epoch_is_no_slice_of_the_corpus() -> None:
    first = sorted(uses(WeightedOrder([(1000, 0.5)], seed=1), 0))
    assert len(first) == 500
    assert 400 < np.mean(first) < 600


def test_batches_use_each_pair_by_its_weight_on_all_ranks() -> None:
    whole = Counter(
        itertools.chain(*lines(Batches(corpus(35), CONFIG, 1, None, (0, 1), SEGMENTS), 2))
    )
    expected = {**dict.fromkeys(range(1, 21), 2), **dict.fromkeys(range(21, 27), 4)}
    assert whole == Counter({**expected, **dict.fromkeys(range(27, 36), 1)})
    parts = [lines(Batches(corpus(35), CONFIG, 1, None, (n, 3), SEGMENTS), 2) for n in range(3)]
    assert Counter(itertools.chain(*itertools.chain(*parts))) == whole


def test_a_resumed_stream_goes_on_with_the_same_batches() -> None:
    stream = Batches(corpus(35), CONFIG, 1, segments=SEGMENTS)
    positions, taken = [], []
    for batch, _ in zip(stream, range(30), strict=False):
        taken.append(batch.lines)
        positions.append(stream.position)
    for start in (0, 7, 20):
        resumed = Batches(corpus(35), CONFIG, 1, positions[start], segments=SEGMENTS)
        assert [b.lines for b, _ in zip(resumed, range(5), strict=False)] == taken[start + 1 :][:5]


def test_weights_of_one_give_the_batches_of_a_single_corpus() -> None:
    plain, weighted = (
        lines(Batches(corpus(35), CONFIG, 1, segments=segments), 2)
        for segments in ((), ((20, 1.0), (15, 1.0)))
    )
    assert weighted == plain


def test_the_progress_counts_the_pairs_of_the_epoch() -> None:
    batches = Batches(corpus(35), CONFIG, 1, segments=((35, 2.0),))
    assert batches.epochs(Position(1, 35)) == 1.5


def test_weights_are_part_of_the_data() -> None:
    checksums = {
        Batches(corpus(35), CONFIG, 1, segments=segments).checksum
        for segments in ((), SEGMENTS, ((35, 2.0),))
    }
    assert len(checksums) == 3
    assert Batches(corpus(35), CONFIG, 1).checksum == corpus(35).checksum


def test_corpora_of_another_text_are_refused() -> None:
    with pytest.raises(
        DataError, match="35 training pairs, but the corpora of the manifest have 9"
    ):
        Batches(corpus(35), CONFIG, 1, segments=((9, 2.0),))
