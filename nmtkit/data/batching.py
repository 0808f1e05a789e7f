"""Shuffling, sorting by length and batching of a corpus (Bahdanau et al. 2015, appendix B.2).

The shuffled corpus is read a pool at a time; each pool is sorted by length and cut into batches.
The random order is a permutation that is computed, not stored: the position in it and the seed are
all that a checkpoint needs to resume exactly, and a corpus of any size costs no memory.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmtkit.config import DataConfig
from nmtkit.data.batch import Batch, make_batch, sentences_per_batch
from nmtkit.data.corpus import Corpus
from nmtkit.data.permutation import permute as permute
from nmtkit.data.resampling import Pool, Resampler
from nmtkit.data.sampling import Segment, WeightedOrder
from nmtkit.data.term_augmentation import TermAugmenter
from nmtkit.errors import DataError, counted

Ids = npt.NDArray[np.int64]

READ_PAIRS = 1024
"""Pairs whose lengths are looked up together."""

DEV_WINDOW_BATCHES = 50
"""Batches of the dev set that are sorted by length together."""


@dataclass(frozen=True)
class Position:
    """Position of the next batch. The names of the fields are those in a checkpoint.

    epoch: number of epochs completed.
    start: index in the shuffled epoch at which the current pool begins.
    used: number of batches of that pool already used.
    """

    epoch: int = 0
    start: int = 0
    used: int = 0


class Batches:
    """Endless iterator over the batches of a corpus; `position` is that of the next batch.

    With several ranks, rank r of N reads the pairs r, r + N, r + 2N, ... of each batch, which is
    sorted by length, so that the parts take about the same time; a part may be empty.
    """

    def __init__(
        self,
        corpus: Corpus,
        config: DataConfig,
        seed: int,
        position: Position | None = None,
        part: tuple[int, int] = (0, 1),
        segments: Sequence[Segment] = (),
        resampler: Resampler | None = None,
        augmenter: TermAugmenter | None = None,
    ) -> None:
        """Start at a position.

        :param part: rank and number of ranks.
        :param segments: pairs and weight of each corpus that the training data consists of; empty
            if all weights are 1.
        :param resampler: draws a segmentation of each pair, each time that it is used.
        :param augmenter: annotates terms in some of the pairs, other ones in each epoch.
        :raises DataError: all pairs are longer than `max_length`.
        """
        self.corpus = corpus
        self.config = config
        self.seed = seed
        self.position = position or Position()
        self.part = part
        self.segments = tuple(segments)
        self._weighted = WeightedOrder(segments, seed) if segments else None
        self._check_segments()
        self._resampler = resampler
        self._augmenter = augmenter
        self.allows: Callable[[float], bool] | None = None
        self._pool_share = 0.0  # epochs that the used batches of the current pool make
        self._check_max_length()

    def __iter__(self) -> Iterator[Batch]:
        """Yield batches endlessly; `position` is that of the batch after the one yielded.

        Batches whose mean target length `allows` refuses are skipped, but no more than a pool
        has.
        """
        passed = 0
        while True:
            pool = self.position
            pairs, end = self._read_pool(pool)
            content = self._content(pool, pairs, end)
            batches = self._cut_batches(content, pool)
            for number in range(pool.used, len(batches)):
                self._advance(pool, end, number + 1, len(batches))
                if passed < len(batches) and self._refuses(content, batches[number]):
                    passed += 1
                    continue
                passed = 0
                yield self._read_part(content, batches[number])
            if pool.used >= len(batches):  # all pairs are too long, or the corpus has shrunk
                self.position = self._next_pool(pool.epoch, end)

    def _advance(self, pool: Position, end: int, used: int, total: int) -> None:
        """Move the position behind a batch.

        :param pool: any position in the pool. end: index at which it ends.
        :param used, total: number of its batches up to this one, and of all.
        """
        if used == total:
            self.position, self._pool_share = self._next_pool(pool.epoch, end), 0.0
            return
        self.position = Position(pool.epoch, pool.start, used)
        pairs = (end - pool.start) * used / total
        self._pool_share = pairs / self._epoch_size(pool.epoch)

    def find_progress(self) -> None:
        """Let `progress` count the used batches of the pool also before another one is read.

        A position that was set holds their number, but not what share of the epoch they make.
        """
        pool = self.position
        if pool.used:
            pairs, end = self._read_pool(pool)
            total = len(self._cut_batches(self._content(pool, pairs, end), pool))
            self._advance(pool, end, pool.used, total)

    def _refuses(self, pool: Pool, rows: Ids) -> bool:
        """Return whether the mean target length of a batch is not allowed."""
        if self.allows is None:
            return False
        return not self.allows(float(pool.corpus.tgt.lengths(pool.indices[rows]).mean()))

    @property
    def checksum(self) -> str:
        """SHA-256 of what is trained on: the corpus, and the weights of its parts."""
        if not self.segments:
            return self.corpus.checksum
        return hashlib.sha256(f"{self.corpus.checksum} {self.segments}".encode()).hexdigest()

    def _content(self, position: Position, pairs: Ids, end: int) -> Pool:
        """Return the pairs of a pool, in the segmentations and with the terms of this epoch."""
        pool = self._segmented(position, pairs, end)
        if self._augmenter is None:
            return pool
        return self._augmenter.annotate(pool, self._pool_key(position))

    def _segmented(self, position: Position, pairs: Ids, end: int) -> Pool:
        """Return the pairs of a pool, in the segmentations of this epoch."""
        if self._resampler is None:
            return Pool(self.corpus, pairs, pairs)

        def following() -> tuple[str, Ids]:
            position_after = self._next_pool(position.epoch, end)
            return self._pool_key(position_after), self._read_pool(position_after)[0]

        return self._resampler.pool(self._pool_key(position), pairs, following)

    def _pool_key(self, position: Position) -> str:
        return f"{self.seed} {position.epoch} {position.start}"

    def _read_part(self, pool: Pool, rows: Ids) -> Batch:
        """Read this rank's part of a batch.

        :param rows: positions of the batch's pairs in the pool.
        """
        rank, size = self.part
        tokens = int(pool.corpus.tgt.lengths(pool.indices[rows]).sum())
        part = rows[rank::size]
        batch = read_batch(pool.corpus, pool.indices[part], pool.numbers[part])
        return batch._replace(pairs=len(rows), tokens=tokens)

    def epochs(self, position: Position) -> float:
        """Return the number of epochs up to a position as a float, which changes with each pool."""
        return position.epoch + position.start / max(1, self._epoch_size(position.epoch))

    def progress(self) -> float:
        """Return the number of epochs so far, as a float, which changes with each batch."""
        return self.epochs(self.position) + self._pool_share

    def _epoch_size(self, epoch: int) -> int:
        """Return how many pairs an epoch uses."""
        return self._weighted.size(epoch) if self._weighted else len(self.corpus)

    def _next_pool(self, epoch: int, end: int) -> Position:
        """Return the position of the pool after the one that ends at index `end`."""
        is_over = end >= self._epoch_size(epoch)
        return Position(epoch + 1) if is_over else Position(epoch, end)

    def _check_segments(self) -> None:
        """Raise DataError if the training data has not as many pairs as its corpora."""
        pairs = sum(pairs for pairs, _ in self.segments)
        if self.segments and pairs != len(self.corpus):
            raise DataError(
                f"{self.corpus.src.stem}: {counted(len(self.corpus), 'training pair')}, but the"
                f" corpora of the manifest have {pairs}, so that their weights cannot be used;"
                " prepare the folder again"
            )

    def _check_max_length(self) -> None:
        """Raise DataError if all pairs are longer than `max_length`."""
        longest = self.config.max_length + 1
        for start in range(0, len(self.corpus), READ_PAIRS * READ_PAIRS):
            block = np.arange(start, min(start + READ_PAIRS * READ_PAIRS, len(self.corpus)))
            if (self._max_lengths(block) <= longest).any():
                return
        raise DataError(
            f"{self.corpus.src.stem}: none of the {len(self.corpus)} training pairs has at most"
            f" {self.config.max_length} tokens a side; raise data.max_length or prepare more data"
        )

    def _max_lengths(self, pairs: Ids) -> Ids:
        """Return for each pair the length of its longer side."""
        return np.maximum(self.corpus.src.lengths(pairs), self.corpus.tgt.lengths(pairs))

    def _read_pool(self, position: Position) -> tuple[Ids, int]:
        """Return the pairs of a pool, without too long ones, and the index at which it ends."""
        config, size = self.config, self._epoch_size(position.epoch)
        key = 0 if config.shuffle == "once" else position.epoch
        pool_size = config.sort_pool * config.batch_size
        kept: list[Ids] = []
        filled, end = 0, position.start
        while filled < pool_size and end < size:
            indices = np.arange(end, min(end + READ_PAIRS, size))
            pairs = permute(indices, size, self.seed * 1_000_003 + key)
            if self._weighted:
                pairs = self._weighted.pairs(pairs, position.epoch)
            weight = np.where(self._max_lengths(pairs) <= config.max_length + 1, 1, 0)
            if config.batch_unit == "tokens":
                weight = weight * self.corpus.tgt.lengths(pairs)
            full = filled + np.cumsum(weight)
            used = min(int(np.searchsorted(full, pool_size)) + 1, len(indices))
            kept.append(pairs[:used][weight[:used] > 0])
            filled, end = int(full[used - 1]), end + used
        return np.concatenate(kept) if kept else np.zeros(0, np.int64), end

    def _cut_batches(self, pool: Pool, position: Position) -> list[Ids]:
        """Sort a pool by length, cut it into batches, and arrange these in their order of use.

        :return: for each batch, the positions of its pairs in the pool.
        """
        tgt, src = pool.corpus.tgt.lengths(pool.indices), pool.corpus.src.lengths(pool.indices)
        rows = np.lexsort((pool.numbers, src, tgt, np.maximum(src, tgt)))
        if self.config.batch_unit == "sentences":
            cuts = np.arange(self.config.batch_size, len(rows), self.config.batch_size)
        else:
            cuts = _token_cuts(tgt[rows], self.config.batch_size)
        batches = [batch for batch in np.split(rows, cuts) if len(batch)]
        if self.config.order == "random":
            random = np.random.default_rng([self.seed, position.epoch, position.start])
            batches = [batches[i] for i in random.permutation(len(batches))]
        return batches


def _token_cuts(lengths: Ids, budget: int) -> Ids:
    """Return the indices at which to cut, so that padded batches stay within `budget` tokens."""
    cuts, start, longest = [], 0, 0
    for i, length in enumerate(lengths):
        longest = max(longest, int(length))
        if i > start and longest * (i + 1 - start) > budget:
            cuts.append(i)
            start, longest = i, int(length)
    return np.asarray(cuts, np.int64)


def validation_batches(corpus: Corpus, batch_size: int) -> Iterator[Batch]:
    """Yield every pair once, longest first within windows of the corpus.

    :param batch_size: pairs in a batch of sentences of ordinary length; see `sentences_per_batch`.
    """
    window = DEV_WINDOW_BATCHES * batch_size
    for start in range(0, len(corpus), window):
        pairs = np.arange(start, min(start + window, len(corpus)))
        lengths = np.maximum(corpus.src.lengths(pairs), corpus.tgt.lengths(pairs))
        order = np.argsort(-lengths, kind="stable")
        while len(order):
            size = sentences_per_batch(int(lengths[order[0]]), batch_size)
            part = pairs[order[:size]]
            yield read_batch(corpus, part, part)
            order = order[size:]


def read_batch(corpus: Corpus, pairs: Ids, numbers: Ids) -> Batch:
    """Read a batch of pairs.

    :param pairs: their indices in the corpus, from 0.
    :param numbers: their indices in the text that the corpus was made of, from 0.
    """
    src = [corpus.src[i].tolist() for i in pairs]
    tgt = [corpus.tgt[i].tolist() for i in pairs]
    return make_batch(src, tgt, [int(i) + 1 for i in numbers])
