"""Aligns the words of sentence pairs by the attention of a model; also from Python.

    from nmtkit import Aligner
    for alignment in Aligner.load("model").align([("I see him.", "Je le vois.")]):
        print(alignment.links())

The model reads the given target word by word (teacher forcing); alpha_ij of Bahdanau et al. 2015,
eq. (6), is the weight of source word j for target word i.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nmtkit.inference.scorer import PairName, Score, Scorer, pair_number
from nmtkit.special_symbols import EOS_WORD
from nmtkit.text.subword.bpe import SEPARATOR

if TYPE_CHECKING:
    from nmtkit.text.lexicon import LinkCounts


@dataclass(frozen=True)
class Alignment:
    """The attention weight of each source word for each target word.

    src_words: source words before BPE, without `</s>`.
    tgt_words: target words, likewise.
    matrix: alpha_ij; rows sum to 1. The last column is the source's `</s>`; the last row is the
        target's, if the sentence is finished.
        Shape: [len(tgt_words) + 1, len(src_words) + 1], or one row fewer.
    """

    src_words: list[str]
    tgt_words: list[str]
    matrix: Tensor

    @property
    def columns(self) -> list[str]:
        """The words of the columns, `</s>` the last."""
        return [*self.src_words, EOS_WORD]

    @property
    def rows(self) -> list[str]:
        """The words of the rows, `</s>` the last if the sentence is finished."""
        return [*self.tgt_words, EOS_WORD][: len(self.matrix)]

    def links(self) -> list[tuple[int, int]]:
        """Link each target word to the source word with the highest weight (hard alignment).

        `</s>` has no link on either side, whatever its weight; of equal weights the first is taken.

        :return: pairs (source, target) of positions from 0, in the order of the target.
        """
        best = best_sources(self.matrix, len(self.tgt_words))
        return [(source, target) for target, source in enumerate(best)]

    def moses(self) -> str:
        """Format the hard alignment as Moses does: `0-0 2-1 1-2`, source first."""
        return " ".join(f"{source}-{target}" for source, target in self.links())


class Aligner:
    """Aligns sentence pairs.

    :param scorer: holds the model; of several models the first one's alignment is used.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    @classmethod
    def load(
        cls, folder: str | Path, device: str = "auto", batch_size: int = 64, params: str = "best"
    ) -> "Aligner":
        """Load a model folder.

        :param batch_size: sentence pairs computed together.
        :raises ModelError: the folder lacks something.
        """
        return cls(Scorer.load(folder, device=device, batch_size=batch_size, params=params))

    def align(
        self,
        pairs: Iterable[tuple[str, str]],
        tokenized: bool = False,
        counts: "LinkCounts | None" = None,
        pair_name: PairName = pair_number,
    ) -> Iterator[Alignment]:
        """Align sentence pairs, in the order given.

        :param pairs: source line and target line; either may be empty.
        :param tokenized: the lines are tokenised already.
        :param counts: counts the hard alignment of each pair between the tokens of the model: with
            BPE, between subwords.
        :param pair_name: names a pair in messages by its number, from 1.
        :raises ModelError: the model has no alignment.
        :raises DataError: a pair is too long for its alignment to fit into memory.
        :raises TypeError: `pairs` is a single string.
        """
        scores = self._scorer.score(pairs, tokenized, alignments=True, pair_name=pair_name)
        return self._align(scores, counts)

    def _align(self, scores: Iterable[Score], counts: "LinkCounts | None") -> Iterator[Alignment]:
        for score in scores:
            assert score.alignment is not None
            if counts is not None and score.src_tokens:
                links = best_sources(score.alignment, len(score.tgt_tokens))
                counts.add(score.src_tokens, score.tgt_tokens, links)
            yield word_alignment(
                score.src_tokens, score.tgt_tokens, score.alignment, self._scorer.has_subwords
            )


def best_sources(matrix: Tensor, target: int) -> list[int]:
    """Return for each target word the position of the source word with the highest weight.

    :param matrix: as in `Alignment`.
    :param target: number of target words.
    :return: positions from 0; an empty list if the source has no word but `</s>`.
    """
    if matrix.size(1) == 1:
        return []
    best: list[int] = matrix[:target, :-1].argmax(1).tolist()
    return best


def word_alignment(
    src_tokens: Sequence[str], tgt_tokens: Sequence[str], matrix: Tensor, subwords: bool
) -> Alignment:
    """Turn an alignment of subwords into one of words.

    The weight of a source word is the sum over its subwords; that of a target word is the mean over
    its subwords. So rows still sum to 1.

    :param src_tokens, tgt_tokens: without `</s>`.
    :param matrix: Shape: [tgt_tokens + 1, src_tokens + 1], or one row fewer.
    :param subwords: False if the tokens are words.
    """
    if not subwords:
        return Alignment(list(src_tokens), list(tgt_tokens), matrix)
    src_words, columns = pieces_of_words(src_tokens, subwords)
    tgt_words, rows = pieces_of_words(tgt_tokens, subwords)
    rows = [*rows, len(tgt_words)][: len(matrix)]
    sums = matrix.new_zeros(len(matrix), len(src_words) + 1)
    sums.index_add_(1, torch.tensor([*columns, len(src_words)]), matrix)
    places = torch.tensor(rows, dtype=torch.int64)
    pieces = places.bincount()
    means = matrix.new_zeros(len(pieces), sums.size(1)).index_add_(0, places, sums)
    return Alignment(src_words, tgt_words, means / pieces.unsqueeze(1))


def pieces_of_words(tokens: Sequence[str], subwords: bool) -> tuple[list[str], list[int]]:
    """Join subwords to words.

    :param subwords: False if the tokens are words.
    :return: the words, and for each token the index of its word.
    """
    if not subwords:
        return list(tokens), list(range(len(tokens)))
    words: list[str] = []
    numbers: list[int] = []
    continues = False
    for token in tokens:
        if not continues:
            words.append("")
        continues = token.endswith(SEPARATOR)
        words[-1] += token.removesuffix(SEPARATOR)
        numbers.append(len(words) - 1)
    return words, numbers
