"""Batches of segmentations that are drawn anew: the law of all batches, and resuming."""

import itertools

import numpy as np
import pytest

from nmtkit.config import DataConfig
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus, Side
from nmtkit.data.resampling import Resampler
from nmtkit.text.subword.bpe_dropout import DropoutRequest, Sentences

CONFIG = DataConfig(
    max_length=10, batch_size=30, batch_unit="tokens", sort_pool=3, order="random",
    shuffle="every-epoch",
)  # fmt: skip


class Repeating:
    """Repeats each id of a sentence as often as the key and the sentence say."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._open: list[DropoutRequest] = []

    def submit(self, request: DropoutRequest) -> None:
        assert not self._open, "the result of the request before has not been read"
        self.requests.append(request.key)
        self._open.append(request)

    def result(self) -> tuple[Sentences, Sentences]:
        key, sides = self._open.pop()
        random = np.random.default_rng(list(key.encode()))
        src, tgt = (
            Sentences.of(
                [*np.repeat(part[:-1], random.integers(1, 4, len(part) - 1)), 0]
                for part in np.split(side.ids, side.offsets[1:-1])
            )
            for side in sides
        )
        return src, tgt


def corpus(size: int) -> Corpus:
    """Return pairs that name themselves: all ids of pair i are i + 2."""
    lengths = np.random.default_rng(0).integers(1, 8, (2, size))
    sides = [
        Sentences.of([*[number + 2] * int(length), 0] for number, length in enumerate(row))
        for row in lengths
    ]
    return Corpus(*(Side(*side) for side in sides))


def batches_of(pairs: Corpus, part: tuple[int, int] = (0, 1)) -> Batches:
    return Batches(pairs, CONFIG, 3, part=part, resampler=Resampler(pairs, Repeating()))


def test_an_epoch_has_each_pair_once_in_segmentations_of_its_own() -> None:
    pairs = corpus(60)
    batches = batches_of(pairs)
    epochs: dict[int, dict[int, list[int]]] = {0: {}, 1: {}}
    stream = iter(batches)
    while (epoch := batches.position.epoch) < 2:
        batch = next(stream)
        assert int(batch.tgt_mask.sum()) == batch.tokens <= 30 or batch.pairs == 1
        for row, number in enumerate(batch.lines):
            ids = batch.src[row][batch.src_mask[row]].tolist()
            assert set(ids[:-1]) == {number + 1} and number not in epochs[epoch]
            epochs[epoch][number] = ids
    assert len(epochs[0]) == len(epochs[1]) == 60
    assert epochs[0] != epochs[1]


def test_resuming_from_any_position_gives_the_same_batches() -> None:
    pairs = corpus(50)
    whole = batches_of(pairs)
    stream = iter(whole)
    positions, batches = [whole.position], []
    while whole.position.epoch < 2:
        batches.append(next(stream))
        positions.append(whole.position)
    for number, position in enumerate(positions[:-1]):
        resumed = Batches(pairs, CONFIG, 3, position, resampler=Resampler(pairs, Repeating()))
        for one, other in zip(batches[number : number + 3], resumed, strict=False):
            assert one.lines == other.lines and one.src.equal(other.src)


def test_a_position_that_is_set_discards_what_was_drawn_ahead() -> None:
    pairs = corpus(50)
    batches = batches_of(pairs)
    first = list(itertools.islice(batches, 9))
    batches.position = type(batches.position)()
    again = list(itertools.islice(batches, 9))
    assert all(a.src.equal(b.src) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_parts_of_all_ranks_make_up_the_batch(ranks: int) -> None:
    pairs = corpus(50)
    parts = [batches_of(pairs, (rank, ranks)) for rank in range(ranks)]
    for whole, *divided in itertools.islice(zip(batches_of(pairs), *parts, strict=False), 8):
        assert sorted(whole.lines) == sorted(n for part in divided for n in part.lines)
        assert {part.tokens for part in divided} == {whole.tokens}


def test_the_next_pool_is_drawn_ahead() -> None:
    worker = Repeating()
    pairs = corpus(50)
    next(iter(Batches(pairs, CONFIG, 3, resampler=Resampler(pairs, worker))))
    assert len(worker.requests) == 2
