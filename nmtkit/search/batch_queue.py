"""A queue of encoded sentences for beam search."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.models.search_state import EncodedSource, upload

if TYPE_CHECKING:
    from nmtkit.search.constraints import Constraints
    from nmtkit.search.forced_decoding import Begun
    from nmtkit.search.repeats import RepeatedNgrams


class EncodedBatch(NamedTuple):
    """Source sentences, encoded by each model of an ensemble.

    encoded: the result of `encode` of each model, for the same sentences.
    lengths: T_x of each sentence for the first model, `</s>` counted. Shape: [B].
    candidates: tokens that each sentence may use, in ascending order, always including `</s>` and
        `<unk>`, padded with -1; None for the whole vocabulary. Shape: [B, C].
    constraints: of each sentence; empty if there are none.
    begun: the beginning of the translations, if all sentences are the same; constraints are then
        those behind it.
    repeatable: tokens that may end a repeated n-gram (`repeats.py`).
    """

    encoded: Sequence[EncodedSource]
    lengths: Tensor
    candidates: Tensor | None = None
    constraints: "Sequence[Constraints]" = ()
    begun: "Begun | None" = None
    repeatable: Sequence[int] = ()

    def select(self, rows: Tensor) -> "EncodedBatch":
        """Keep the sentences `rows`. Shape: [n], int64."""
        encoded = [source.select_sentences(rows) for source in self.encoded]
        candidates = None if self.candidates is None else self.candidates[rows]
        constraints = [self.constraints[row] for row in rows.tolist()] if self.constraints else ()
        lengths, kept = self.lengths[rows], (self.begun, self.repeatable)
        return EncodedBatch(encoded, lengths, candidates, constraints, *kept)

    def repeats(self, settings: SearchConfig, hypotheses: int = 1) -> "RepeatedNgrams | None":
        """Return what finds repeated n-grams in hypotheses; None if these are allowed.

        :param hypotheses: number of them for each sentence.
        """
        if not settings.no_repeat_ngram:
            return None
        from nmtkit.search.repeats import RepeatedNgrams  # rarely needed: start-up

        begun = upload(self.begun.tokens if self.begun else (), self.lengths.device)
        tokens = begun.expand(len(self.lengths), hypotheses, -1)
        return RepeatedNgrams(settings.no_repeat_ngram, self.repeatable, tokens)


def source_lengths(src: Tensor, src_mask: Tensor) -> Tensor:
    """Return T_x of each sentence, on the device of `src`. Shapes: [B, T_x] to [B]."""
    return src_mask.sum(1).to(src.device, non_blocking=True)


class BatchQueue:
    """Iterates over the sentences of batches, a few at a time; batches are read lazily."""

    def __init__(self, batches: Iterable[EncodedBatch]) -> None:
        self._batches: Iterator[EncodedBatch] = iter(batches)
        self._batch: EncodedBatch | None = next(self._batches, None)
        self._taken = 0

    @property
    def batch_size(self) -> int:
        """Sentences in the next batch, taken ones included; 0 at the end."""
        return 0 if self._batch is None else len(self._batch.lengths)

    @property
    def holds_one_sentence(self) -> bool:
        """Whether one sentence on a CPU is all that the queue will ever give."""
        if self._batch is None or self.batch_size > 1 or self._batch.lengths.device.type != "cpu":
            return False
        following = next(self._batches, None)
        if following is not None:
            self._batches = itertools.chain([following], self._batches)
        return following is None

    def fits(self, max_length: int, rows: int) -> bool:
        """Return True if the next sentences may join a search.

        The search must have at least as many rows as their batch, so that matrix products do not
        get smaller, and its longest source may be at most twice as long as theirs, because they
        are padded to that length. A sentence that was encoded alone joins none: 8-bit models keep
        it in another form.

        :param max_length: T_x of the longest sentence in the search.
        :param rows: rows of the search.
        """
        if self._batch is None or not 1 < self.batch_size <= rows:
            return False
        return max_length <= 2 * int(self._batch.lengths.max())

    def take(self, count: int) -> EncodedBatch:
        """Take 1 to `count` sentences, all of one batch; `batch_size` must not be 0."""
        assert self._batch is not None
        end = min(self._taken + count, self.batch_size)
        rows = torch.arange(self._taken, end, device=self._batch.lengths.device)
        taken, self._taken = self._batch.select(rows), end
        if end == self.batch_size:
            self._batch, self._taken = next(self._batches, None), 0
        return taken


def replace_sentences(values: Sequence[Any], rows: Tensor, newcomers: Sequence[Any]) -> list[Any]:
    """Replace some rows of each model's encoded source or state; see `Refillable`."""
    pairs = zip(values, newcomers, strict=True)
    return [value.replace_sentences(rows, new) for value, new in pairs]
