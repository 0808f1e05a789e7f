"""BPE-dropout: each merge of a word is left out with some probability (Provilkov et al. 2020).

A model that sees many segmentations of a word learns what its parts mean, and how rare words are
spelt. subword-nmt draws the segmentations. A piece that is not in the model's vocabulary is split
again, down to characters if need be; a word with a character that is no piece is not split.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmtkit.special_symbols import EOS, UNK
from nmtkit.text.subword.bpe import BPE, SEPARATOR
from nmtkit.text.vocabulary import Vocabulary

Ids = npt.NDArray[np.int64]


class Sentences(NamedTuple):
    """Sentences as ids, each ending with `</s>`.

    ids: all ids. Shape: [sum of lengths], int64.
    offsets: sentence i is ids[offsets[i]:offsets[i + 1]]. Shape: [sentences + 1], int64.
    """

    ids: Ids
    offsets: Ids

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int] | Ids]) -> "Sentences":
        """Join sentences."""
        parts = [np.asarray(sentence, np.int64) for sentence in sentences]
        offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(np.concatenate([np.zeros(0, np.int64), *parts]), offsets)


class DropoutRequest(NamedTuple):
    """Sentence pairs to segment anew.

    key: decides on the segmentations, together with the sentences.
    sides: the pairs' source sentences and target sentences.
    """

    key: str
    sides: tuple[Sentences, Sentences]


@dataclass(frozen=True)
class DropoutSide:
    """What is needed to segment the sentences of one side.

    merges: file of BPE merges.
    words: the vocabulary, from id 0 on.
    glossaries: see `BPE`.
    unsplit: words that are never split.
    """

    merges: Path
    words: tuple[str, ...]
    glossaries: tuple[str, ...] = ()
    unsplit: tuple[str, ...] = ()


def bpe_dropout(
    sides: Sequence[DropoutSide], rate: float
) -> Callable[[DropoutRequest], tuple[Sentences, Sentences]]:
    """Return a function that draws new segmentations of sentence pairs.

    :param sides: of the source and of the target.
    :param rate: probability with which a merge is left out, each time that it could be made.
    :raises DataError: a file of merges cannot be read.
    """
    samplers = [_Sampler(side, rate) for side in sides]

    def draw(request: DropoutRequest) -> tuple[Sentences, Sentences]:
        state = random.getstate()
        random.seed(request.key)  # subword-nmt draws from Python's global generator
        src, tgt = (
            sampler.sample(sentences)
            for sampler, sentences in zip(samplers, request.sides, strict=True)
        )
        random.setstate(state)
        return src, tgt

    return draw


class _Sampler:
    """Draws segmentations of the sentences of one side."""

    def __init__(self, side: DropoutSide, rate: float) -> None:
        self._vocabulary = Vocabulary(side.words)
        self._continues = np.array([word.endswith(SEPARATOR) for word in side.words])
        self._unsplit = {EOS, UNK, *self._vocabulary.ids(side.unsplit)}
        self._bpe = BPE.load(side.merges, frozenset(side.words), side.glossaries)
        self._segment = partial(self._bpe.library.segment_tokens, dropout=rate)

    def sample(self, sentences: Sentences) -> Sentences:
        """Return the sentences in new segmentations."""
        ends = ~self._continues[sentences.ids]
        words = np.split(sentences.ids, np.flatnonzero(ends) + 1)
        sampled: list[list[int]] = [[]]
        for word in map(list[int], words[:-1]):
            sampled[-1] += self._sample(word)
            if word[-1] == EOS:
                sampled.append([])
        return Sentences.of(sampled[:-1])

    def _sample(self, word: list[int]) -> list[int]:
        """Return new pieces of a word; if one of them would be `<unk>`, it stays as it is."""
        if not self._unsplit.isdisjoint(word):
            return word
        text = "".join(piece.removesuffix(SEPARATOR) for piece in self._vocabulary.tokens(word))
        pieces = self._vocabulary.ids(self._bpe.split_word(text, self._segment))
        return word if UNK in pieces else pieces
