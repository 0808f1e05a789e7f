"""Word alignments from attention weights, with subwords joined to words."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.special_symbols import EOS_WORD

UNLINKED = 4.0
"""How many times the weight of its best word `</s>` has for a word without a link."""

JoinedTokens = tuple[list[str], list[int]]
"""The words of a sentence, and for each token the index of its word (`TextPipeline.join`)."""


@dataclass(frozen=True)
class Alignment:
    """The attention weight of each source word for each target word.

    src_words: source words before BPE, without `</s>`.
    tgt_words: target words, likewise.
    matrix: alpha_ij; rows sum to 1. The last column is the source's `</s>`; the last row is the
        target's, if the sentence is finished.
        Shape: [len(tgt_words) + 1, len(src_words) + 1], or one row fewer. `==` does not compare it.
    """

    src_words: list[str]
    tgt_words: list[str]
    matrix: Tensor = field(compare=False)

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

    def is_linked(self, target: int) -> bool:
        """Return whether a target word has a link: `</s>` has not far more weight than any word.

        :param target: its position, from 0.
        """
        *words, end = self.matrix[target].tolist()
        return bool(words) and end <= UNLINKED * max(words)

    def moses(self) -> str:
        """Format the hard alignment as Moses does: `0-0 2-1 1-2`, source first."""
        return moses_links(self.links())


class LinkedPair(NamedTuple):
    """The links of a sentence pair: (source, target), from 0; and its numbers of words."""

    links: list[tuple[int, int]]
    lengths: tuple[int, int]


def moses_links(links: Iterable[tuple[int, int]]) -> str:
    """Format links (source, target) as Moses does."""
    return " ".join(f"{source}-{target}" for source, target in links)


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


def word_alignment(src: JoinedTokens, tgt: JoinedTokens, matrix: Tensor) -> Alignment:
    """Turn an alignment of subwords into one of words.

    The weight of a source word is the sum over its subwords; that of a target word is the mean over
    its subwords. So rows still sum to 1.

    :param src, tgt: the words of each side, and for each token the index of its word.
    :param matrix: Shape: [target tokens + 1, source tokens + 1], or one row fewer.
    """
    (src_words, columns), (tgt_words, rows) = src, tgt
    if len(src_words) == len(columns) and len(tgt_words) == len(rows):
        return Alignment(src_words, tgt_words, matrix)
    rows = [*rows, len(tgt_words)][: len(matrix)]
    sums = matrix.new_zeros(len(matrix), len(src_words) + 1)
    sums.index_add_(1, torch.tensor([*columns, len(src_words)]), matrix)  # [rows, source words + 1]
    row_words = torch.tensor(rows, dtype=torch.int64)
    pieces = row_words.bincount()  # subwords of each target word
    means = matrix.new_zeros(len(pieces), sums.size(1)).index_add_(0, row_words, sums)
    return Alignment(src_words, tgt_words, means / pieces.unsqueeze(1))
