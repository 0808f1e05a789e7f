"""Links learned from many sentence pairs: two hidden Markov models that agree, and attention.

Attention looks at the source before the target word is known (Bahdanau et al. 2015, eq. (6)), so
that alone it links poorly. A hidden Markov model of each direction (`text/hmm_alignment.py`) learns
which words translate each other. Both are estimated together (Liang, Taskar and Klein 2006): words
are counted by

    q_ij = p(a_i = j | x, y) p(b_j = i | x, y)

the product of what both expect of a link, and so a rare word does not gather what has no
translation. Shares are those of a Dirichlet prior with parameter v (variational Bayes, as in Dyer
et al. 2013):

    t(y | x) = exp(psi(q(x, y) + v) - psi(q(x) + v n_x))

where psi is the digamma function, q(x, y) the sum of q_ij over all links of x and y, and n_x the
number of words that x meets. Two things are known beforehand. At first links are near the diagonal,
with weight exp(-lambda |i / T_y - j / T_x|). And always attention says something: a weight of
(alpha_ij / max_j' alpha_ij')^a in one direction, and with the maximum over i' in the other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from nmtkit.text.hmm_alignment import HMM, MAX_JUMP, smoothed
from nmtkit.text.pair_cells import (
    ATTENTION_EXPONENT,
    MIN_TRANSLATION,
    Floats,
    Ids,
    PairCells,
    TokenPair,
    Weights,
    diagonal_logs,
    shares,
)

ROUNDS = 6
"""Default number of rounds of estimation."""

DIAGONAL_ROUNDS = 3
"""The first rounds, in which links are near the diagonal."""

MIN_ATTENTION = 1e-4
"""Added to attention weights."""

DIRICHLET = 0.1
"""v: below 1, so that few words translate a word."""

MAX_CELLS = 20_000_000
"""Pairs of positions to learn from; each takes 28 bytes."""

MAX_SIDE_TOKENS = 2000
"""Tokens of the longer side of a sentence pair whose links are learned: there is a transition from
each of them to each."""

WINDOW_CELLS = 4_000_000
"""Pairs of positions whose links are computed at a time."""


class AttendedPair(NamedTuple):
    """Tokens of a sentence pair without `</s>`, and alpha_ij between them. Shape: [T_y, T_x]."""

    src: Sequence[str]
    tgt: Sequence[str]
    attention: Weights

    @property
    def is_learnable(self) -> bool:
        """Whether both sides have words, and not too many."""
        lengths: tuple[int, ...] = self.attention.shape
        return min(lengths) > 0 and max(lengths) <= MAX_SIDE_TOKENS


class Links(NamedTuple):
    """Probabilities of the links of a sentence pair; what is missing to 1 is that of no link.

    forward: of the source words for each target word. Shape: [T_y, T_x]. backward: of the target
    words for each source word. Shape: [T_x, T_y].
    """

    forward: Weights
    backward: Weights


@dataclass(frozen=True)
class TokenIds:
    """Numbers of the tokens of one side; all that are unknown have the last one.

    frequencies: share of each token in the text, above 0. Shape: [tokens + 1].
    """

    ids: Mapping[str, int]
    frequencies: Weights

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> "TokenIds":
        """Give each token of a text a number."""
        counts: dict[str, int] = {}
        for sentence in sentences:
            for token in sentence:
                counts[token] = counts.get(token, 0) + 1
        numbers = np.array([*counts.values(), 1], np.float32)
        return cls(dict(zip(counts, range(len(counts)), strict=True)), numbers / numbers.sum())

    def __call__(self, tokens: Sequence[str]) -> Ids:
        """Return the ids of tokens."""
        return np.array([self.ids.get(token, len(self.ids)) for token in tokens], np.int64)


@dataclass(frozen=True)
class LinkModel:
    """Two models of many sentence pairs. keys: words that were met, as in `PairCells`."""

    src: TokenIds
    tgt: TokenIds
    keys: Ids
    forward: HMM
    backward: HMM

    @classmethod
    def learn(cls, pairs: Sequence[AttendedPair], rounds: int = ROUNDS) -> "LinkModel":
        """Estimate both models.

        :param pairs: sentence pairs; see `learnable`.
        :param rounds: at least 1.
        """
        src, tgt = TokenIds.of(pair.src for pair in pairs), TokenIds.of(pair.tgt for pair in pairs)
        known = (_token_pair(pair, src, tgt) for pair in pairs)
        cells = PairCells.of(known, len(tgt.ids) + 1)
        strengths, jumps = np.ones(len(cells.keys) + 1, np.float32), np.ones(2 * MAX_JUMP + 1)
        forward = HMM(strengths, jumps, tgt.frequencies)
        backward = HMM(strengths, jumps, src.frequencies, to_target=False)
        for number in range(rounds):
            near = diagonal(cells) if number < DIAGONAL_ROUNDS else np.float32(1)
            there = forward.posteriors(cells, cells.forward * near)
            back = backward.posteriors(cells, cells.backward * near)
            agreed = np.bincount(cells.words, there.links * back.links, len(cells.keys))
            counts = agreed.astype(np.float64, copy=False)
            sources, targets = np.divmod(cells.keys, len(tgt.ids) + 1)
            if number + 1 < DIAGONAL_ROUNDS:
                moves, prior = (jumps, jumps), 0.0
            else:
                moves, prior = (smoothed(there.jumps), smoothed(back.jumps)), DIRICHLET
            forward = HMM(word_probabilities(counts, sources, prior), moves[0], tgt.frequencies)
            backward = HMM(
                word_probabilities(counts, targets, prior), moves[1], src.frequencies, False
            )
        return cls(src, tgt, cells.keys, forward, backward)

    def links(self, pairs: Iterable[AttendedPair]) -> list[Links]:
        """Return the links of sentence pairs, which need not be those that were learned from."""
        known = (_token_pair(pair, self.src, self.tgt) for pair in pairs)
        cells = PairCells.of(known, len(self.tgt.ids) + 1, self.keys)
        there = self.forward.posteriors(cells, cells.forward).links
        back = self.backward.posteriors(cells, cells.backward).links
        return [
            Links(cells.matrix(there, number), cells.matrix(back, number).T)
            for number in range(len(cells))
        ]


def learnable(pairs: Iterable[AttendedPair]) -> Iterator[AttendedPair]:
    """Yield the pairs to learn from, until they have `MAX_CELLS` pairs of positions."""
    cells = 0
    for pair in pairs:
        if pair.is_learnable:
            yield pair
            cells += pair.attention.size
        if cells >= MAX_CELLS:
            return


def word_probabilities(counts: Floats, words: Ids, prior: float = DIRICHLET) -> Weights:
    """Return t of each key, and `MIN_TRANSLATION` behind them.

    :param counts: q(x, y) of each key.
    :param words: x of each key.
    :param prior: v; 0: plain shares.
    """
    if prior:
        totals = np.bincount(words, counts) + prior * np.bincount(words)
        logs = [torch.from_numpy(values).digamma().numpy() for values in (counts + prior, totals)]
        found = np.exp(logs[0] - logs[1][words])
    else:
        found = shares(counts, words)
    return np.append(found, MIN_TRANSLATION).astype(np.float32)


def diagonal(cells: PairCells) -> Weights:
    """Return the weight of each cell that is near the diagonal."""
    parts = [np.empty(0, np.float32)]
    for src, tgt in zip(cells.src, cells.tgt, strict=True):
        parts.append(np.exp(diagonal_logs(len(tgt), len(src)), dtype=np.float32).ravel())
    return np.concatenate(parts)


def _token_pair(pair: AttendedPair, src: TokenIds, tgt: TokenIds) -> TokenPair:
    """Return the ids of a pair, and what its attention says."""
    attention = pair.attention.astype(np.float32) + np.float32(MIN_ATTENTION)
    weights = [attention / attention.max(axis, keepdims=True, initial=0) for axis in (1, 0)]
    forward, backward = (np.power(one, np.float32(ATTENTION_EXPONENT)) for one in weights)
    return TokenPair(src(pair.src), tgt(pair.tgt), forward, backward)
