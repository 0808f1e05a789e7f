"""The order in which a corpus is trained on (Bahdanau et al. 2015, appendix B.2).

The corpus is put in a random order, read a pool at a time, each pool sorted by length and cut
into batches. The random order is a permutation that is computed, not stored: the place in it and
the seed are all that must be saved to go on exactly where training stopped, and a corpus of any
size costs no memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmtkit.config import DataConfig
from nmtkit.data.batch import Batch, make_batch
from nmtkit.data.corpus import Corpus
from nmtkit.errors import DataError

Ids = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
ROUNDS = 6
READ = 1024  # pairs whose lengths are looked up together


@dataclass(frozen=True)
class Position:
    """A place in training: so many epochs done, then where in the permuted corpus the present
    pool begins, and so many batches of that pool used."""

    epoch: int = 0
    start: int = 0
    used: int = 0


def permuted(places: Ids, size: int, key: int) -> Ids:
    """The pair numbers that stand at `places` of a random order of `size` pairs.

    A Feistel network over the smallest square of a power of two that holds `size`, walked until
    the value is below `size` again (cycle walking; Black and Rogaway 2002): a bijection.

    :param places: values in [0, size). :param key: which order. :return: values in [0, size).
    """
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    keys = np.random.SeedSequence(key).generate_state(ROUNDS, np.uint64).astype(np.uint64)
    values = _feistel(places.astype(np.uint64), half, keys)
    outside = values >= size
    while outside.any():
        values[outside] = _feistel(values[outside], half, keys)
        outside = values >= size
    return values.astype(np.int64)


def _feistel(values: Words, half: int, keys: Words) -> Words:
    mask = np.uint64((1 << half) - 1)
    left, right = values >> np.uint64(half), values & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ key) & mask)
    return (left << np.uint64(half)) | right


def _mixed(values: Words) -> Words:
    """The finaliser of SplitMix64 (Steele et al. 2014): every input bit moves every output bit."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class Batches:
    """Endless batches of a corpus, from a position on, which moves with each batch taken.

    Where several ranks train together, each has a part of the pairs of every batch, those at its
    number and every so many further on: pairs of like length, and none where a batch is too small.
    """

    def __init__(
        self,
        corpus: Corpus,
        config: DataConfig,
        seed: int,
        position: Position | None = None,
        part: tuple[int, int] = (0, 1),
    ) -> None:
        """
        :param part: which part of every batch is given, from 0, and of how many.
        :raises DataError: no pair is short enough to be trained on.
        """
        self.corpus = corpus
        self.config = config
        self.seed = seed
        self.position = position or Position()
        self.part = part
        self._check_some()

    def __iter__(self) -> Iterator[Batch]:
        """Batches, for ever; `position` is that of the batch after the one given last."""
        while True:
            here = self.position
            pairs, end = self._pool(here)
            chosen = self._batches(pairs, here)
            for number in range(here.used, len(chosen)):
                last = number + 1 == len(chosen)
                self.position = (
                    self._following(here.epoch, end)
                    if last
                    else Position(here.epoch, here.start, number + 1)
                )
                yield self._read(chosen[number])
            if not chosen:
                self.position = self._following(here.epoch, end)

    def _read(self, pairs: Ids) -> Batch:
        first, step = self.part
        tokens = int(self.corpus.tgt.lengths(pairs).sum())
        own = read_batch(self.corpus, pairs[first::step])
        return own._replace(pairs=len(pairs), tokens=tokens)

    def epochs(self, position: Position) -> float:
        """Epochs done at a position, the part of the present one included (by pool)."""
        return position.epoch + position.start / len(self.corpus)

    def progress(self) -> float:
        """Epochs done so far."""
        return self.epochs(self.position)

    def _following(self, epoch: int, end: int) -> Position:
        return Position(epoch + 1) if end >= len(self.corpus) else Position(epoch, end)

    def _check_some(self) -> None:
        longest = self.config.max_length + 1
        for start in range(0, len(self.corpus), READ * READ):
            block = np.arange(start, min(start + READ * READ, len(self.corpus)))
            if (self._longer(block) <= longest).any():
                return
        raise DataError(
            f"none of the {len(self.corpus)} training pairs has at most {self.config.max_length} "
            "tokens a side; raise data.max_length or prepare more data"
        )

    def _longer(self, pairs: Ids) -> Ids:
        return np.maximum(self.corpus.src.lengths(pairs), self.corpus.tgt.lengths(pairs))

    def _pool(self, here: Position) -> tuple[Ids, int]:
        """The pairs of the pool that begins at `here`, those too long left out, and its end."""
        config, size = self.config, len(self.corpus)
        key = 0 if config.shuffle == "once" else here.epoch
        wanted = config.sort_pool * config.batch_size
        kept: list[Ids] = []
        filled, end = 0, here.start
        while filled < wanted and end < size:
            places = np.arange(end, min(end + READ, size))
            pairs = permuted(places, size, self.seed * 1_000_003 + key)
            weight = np.where(self._longer(pairs) <= config.max_length + 1, 1, 0)
            if config.batch_unit == "tokens":
                weight = weight * self.corpus.tgt.lengths(pairs)
            full = filled + np.cumsum(weight)
            used = min(int(np.searchsorted(full, wanted)) + 1, len(places))
            kept.append(pairs[:used][weight[:used] > 0])
            filled, end = int(full[used - 1]), end + used
        return np.concatenate(kept) if kept else np.zeros(0, np.int64), end

    def _batches(self, pairs: Ids, here: Position) -> list[Ids]:
        """Sort a pool by length, cut it, and put the batches in the order of their use."""
        tgt, src = self.corpus.tgt.lengths(pairs), self.corpus.src.lengths(pairs)
        pairs = pairs[np.lexsort((pairs, src, tgt, np.maximum(src, tgt)))]
        if self.config.batch_unit == "sentences":
            cuts = np.arange(self.config.batch_size, len(pairs), self.config.batch_size)
        else:
            cuts = _token_cuts(self.corpus.tgt.lengths(pairs), self.config.batch_size)
        batches = [batch for batch in np.split(pairs, cuts) if len(batch)]
        if self.config.order == "random":
            random = np.random.default_rng([self.seed, here.epoch, here.start])
            batches = [batches[i] for i in random.permutation(len(batches))]
        return batches


def _token_cuts(lengths: Ids, budget: int) -> Ids:
    """Where to cut so that sentences times the longest of them stay within `budget`."""
    cuts, start, longest = [], 0, 0
    for i, length in enumerate(lengths):
        longest = max(longest, int(length))
        if i > start and longest * (i + 1 - start) > budget:
            cuts.append(i)
            start, longest = i, int(length)
    return np.asarray(cuts, np.int64)


def in_order(corpus: Corpus, batch_size: int) -> Iterator[Batch]:
    """Every pair once, in corpus order within windows sorted by length; for dev cost."""
    window = 50 * batch_size
    for start in range(0, len(corpus), window):
        pairs = np.arange(start, min(start + window, len(corpus)))
        pairs = pairs[np.argsort(corpus.tgt.lengths(pairs), kind="stable")]
        for first in range(0, len(pairs), batch_size):
            yield read_batch(corpus, pairs[first : first + batch_size])


def read_batch(corpus: Corpus, pairs: Ids) -> Batch:
    """The pairs of these numbers, counted from 0, side by side."""
    src = [corpus.src[i].tolist() for i in pairs]
    tgt = [corpus.tgt[i].tolist() for i in pairs]
    return make_batch(src, tgt, [int(i) + 1 for i in pairs])
