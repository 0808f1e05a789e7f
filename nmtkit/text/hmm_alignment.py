"""Word alignment by a hidden Markov model (Vogel, Ney and Tillmann 1996).

The states of a sentence are the words x_j of the other side; each emits observed words y_i:

    p(y, a | x) = prod_i p(a_i | a_i-1) t(y_i | x_a_i) w_i,a_i
    p(j | j') = (1 - p_0) c(j - j') / sum_l c(l - j')

where c counts how far one goes on from word to word, and w are weights that are known beforehand,
such as those of attention. Words that nothing translates come from an empty word with probability
p_0, as likely as they are in the text; the place is kept meanwhile (Och and Ney 2003, section 2.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmtkit.text.pair_cells import Floats, Ids, PairCells, Weights

EMPTY = 0.2
"""p_0: probability of the empty word."""

MAX_JUMP = 100
"""Longer jumps are counted as this one."""

MIN_JUMP = 1e-4
"""Least share of all jumps that a distance has."""

BLOCK_CELLS = 500_000
"""Pairs of positions computed at a time."""

LARGEST = np.float32(1e30)
"""Bound of backward probabilities, far below the largest number of float32."""


class Block(NamedTuple):
    """Sentences with as many states, those with most observed words first.

    pairs: indices of the sentence pairs. lengths: numbers of observed words. cells: cell of each
    observed word and state; 0 beyond the end of a sentence. Shape: [T, B, n].
    """

    pairs: Ids
    lengths: Ids
    cells: Ids


class Posteriors(NamedTuple):
    """What a model expects of the links of all sentence pairs.

    links: p(a_i = j | x, y) of each cell. Shape: [cells]. jumps: expected number of jumps of each
    distance from -MAX_JUMP on. Shape: [2 * MAX_JUMP + 1].
    """

    links: Weights
    jumps: Floats


@dataclass(frozen=True)
class HMM:
    """A model of one direction.

    strengths: t(y | x) of each key, and of words that have not been met. Shape: [keys + 1].
    jumps: c, from -MAX_JUMP on. Shape: [2 * MAX_JUMP + 1]. frequencies: share of each observed
    word in the text, above 0. to_target: whether target words are observed.
    """

    strengths: Weights
    jumps: Floats
    frequencies: Weights
    to_target: bool = True

    def posteriors(self, cells: PairCells, weights: Weights) -> Posteriors:
        """Return the posterior probabilities of all links.

        :param weights: w of each cell.
        """
        links = np.zeros(len(cells.words), np.float32)
        jumps = np.zeros(2 * MAX_JUMP + 1)
        observed = cells.tgt if self.to_target else cells.src
        for block in blocks(cells, self.to_target):
            emissions = self.strengths[cells.words[block.cells]] * weights[block.cells]
            empty = np.zeros(emissions.shape[:2], np.float32)  # [T, B]
            for column, (pair, length) in enumerate(zip(block.pairs, block.lengths, strict=True)):
                empty[:length, column] = EMPTY * self.frequencies[observed[pair]]
            found, moves = forward_backward(
                emissions, empty, block.lengths, self.transitions(block)
            )
            for step, count in enumerate(_active(block.lengths)):
                links[block.cells[step, :count]] = found[step, :count]
            jumps += np.bincount(_distances(len(moves)).ravel(), moves.ravel(), len(jumps))
        return Posteriors(links, jumps)

    def transitions(self, block: Block) -> Weights:
        """Return p(j | j') of the sentences of a block. Shape: [j', j]."""
        jumps = self.jumps[_distances(block.cells.shape[2])]
        result: Weights = ((1 - EMPTY) * jumps / jumps.sum(1, keepdims=True)).astype(np.float32)
        return result


def smoothed(jumps: Floats) -> Floats:
    """Return counts of jumps without zeros."""
    return np.maximum(jumps, max(MIN_JUMP * jumps.sum(), np.finfo(np.float32).tiny))


def _distances(states: int) -> Ids:
    """Return the index of the jump from each state to each. Shape: [states, states]."""
    positions = np.arange(states)
    result: Ids = np.clip(positions - positions[:, None], -MAX_JUMP, MAX_JUMP) + MAX_JUMP
    return result


def blocks(cells: PairCells, to_target: bool) -> Iterator[Block]:
    """Yield blocks of all pairs with words on both sides."""
    shapes = np.array(
        [(len(src), len(tgt)) for src, tgt in zip(cells.src, cells.tgt, strict=True)], np.int64
    ).reshape(-1, 2)
    states, lengths = shapes.T if to_target else shapes[:, ::-1].T
    order = np.lexsort((-lengths, states))
    order = order[(states[order] > 0) & (lengths[order] > 0)]
    start = 0
    while start < len(order):
        count = states[order[start]]
        size = max(1, BLOCK_CELLS // int(count * lengths[order[start]]))
        alike = np.searchsorted(states[order], count, "right")
        stop = min(start + size, int(alike))
        yield _block(cells, order[start:stop], lengths[order[start:stop]], int(count), to_target)
        start = stop


def _block(cells: PairCells, pairs: Ids, lengths: Ids, states: int, to_target: bool) -> Block:
    result = np.zeros((lengths[0], len(pairs), states), np.int64)
    for column, (pair, length) in enumerate(zip(pairs.tolist(), lengths.tolist(), strict=True)):
        own = np.arange(cells.offsets[pair], cells.offsets[pair + 1])
        result[:length, column] = (
            own.reshape(length, states) if to_target else own.reshape(states, length).T
        )
    return Block(pairs, lengths, result)


def _active(lengths: Ids) -> list[int]:
    """Return how many sentences have each step; they are in order of falling length."""
    counts: list[int] = (lengths > np.arange(lengths[0])[:, None]).sum(1).tolist()
    return counts


def forward_backward(
    emissions: Weights, empty: Weights, lengths: Ids, transitions: Weights
) -> tuple[Weights, Floats]:
    """Return the posterior probabilities of states, and the expected transitions.

    The empty word at a place is a state of its own, from which one goes on as from the place.
    Sentences begin at any place with the same probability.

    :param emissions: t(y_i | x_j) w_ij. Shape: [T, B, n].
    :param empty: p_0 p(y_i). Shape: [T, B].
    :param lengths: falling. Shape: [B].
    :param transitions: p(j | j'); rows sum to 1 - p_0. Shape: [n, n].
    :return: posteriors, 0 beyond the end; what is missing to 1 is the empty word's. Shape:
        [T, B, n]. Sums of the transitions to words of all sentences. Shape: [n, n].
    """
    steps, states = len(emissions), len(transitions)
    active = _active(lengths)
    forward = np.zeros_like(emissions)
    places = np.zeros_like(emissions)  # forward, the empty word included
    scales = np.ones(empty.shape, np.float32)
    for step, count in enumerate(active):
        if step:
            before = places[step - 1, :count]
            reached = before @ transitions
        else:
            before = np.full((count, states), 1 / states, np.float32)
            reached = before * transitions.sum(1)
        forward[step, :count] = reached * emissions[step, :count]
        places[step, :count] = forward[step, :count] + before * empty[step, :count, None]
        scales[step, :count] = places[step, :count].sum(1)
        forward[step, :count] /= scales[step, :count, None]
        places[step, :count] /= scales[step, :count, None]
    moves = np.zeros((states, states))
    backward = np.ones(emissions.shape[1:], np.float32)
    for step in range(steps - 1, -1, -1):
        count = active[step]
        later = backward[:count]
        forward[step, :count] *= later
        if step:
            scale = scales[step, :count, None]
            arriving = emissions[step, :count] * later / scale
            moves += places[step - 1, :count].T @ arriving
            staying = empty[step, :count, None] / scale * later
            np.minimum(arriving @ transitions.T + staying, LARGEST, out=backward[:count])
    return forward, moves * transitions
