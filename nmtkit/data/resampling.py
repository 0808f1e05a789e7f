"""Pools of sentence pairs in segmentations that are drawn anew, by BPE-dropout."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from nmtkit.data.corpus import Corpus, Ids, Side
from nmtkit.text.subword.bpe_dropout import DropoutRequest, Sentences


class Pool(NamedTuple):
    """Sentence pairs that are sorted and cut into batches together.

    corpus: holds the pairs.
    indices: their indices in it. Shape: [pairs].
    numbers: their indices in the training data. Same shape.
    """

    corpus: Corpus
    indices: Ids
    numbers: Ids


class Worker(Protocol):
    """Draws segmentations in the background."""

    def submit(self, request: DropoutRequest) -> None:
        """Begin with a request; the result of the one before must have been read."""
        ...

    def result(self) -> tuple[Sentences, Sentences]:
        """Wait for the result of the last request."""
        ...


class Resampler:
    """Draws the segmentations of one pool while the model is trained on the one before.

    :param corpus: the training data.
    :param worker: draws them.
    """

    def __init__(self, corpus: Corpus, worker: Worker) -> None:
        self._corpus = corpus
        self._worker = worker
        self._submitted = ""

    def pool(self, key: str, pairs: Ids, following: Callable[[], tuple[str, Ids]]) -> Pool:
        """Return pairs in the segmentations of a key, and begin with the following pool.

        :param key: seed of the segmentations.
        :param pairs: indices in the training data. Shape: [pairs].
        :param following: returns key and pairs of the next pool.
        """
        if self._submitted != key:
            if self._submitted:
                self._worker.result()
            self._submit(key, pairs)
        sides = self._worker.result()
        self._submit(*following())
        corpus = Corpus(*(Side(*side, checksum="drawn") for side in sides))
        return Pool(corpus, np.arange(len(pairs)), pairs)

    def _submit(self, key: str, pairs: Ids) -> None:
        src, tgt = (
            Sentences.of(side[index] for index in pairs)
            for side in (self._corpus.src, self._corpus.tgt)
        )
        self._worker.submit(DropoutRequest(key, (src, tgt)))
        self._submitted = key
