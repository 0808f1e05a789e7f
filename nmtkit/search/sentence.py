"""Beam search of one sentence, for lines that are translated alone.

The same search as in `beam.py`, on a CPU. There every part of a step is a tensor operation on all
sentences. For a single sentence each of these takes far longer than its arithmetic, so here the
models compute with tensors, and hypotheses are kept in lists. That takes two thirds of the time
(`bench/latency.py`). Scores, ties and results are equal.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.models.base import TranslationModel
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam_history import RankedHypothesis, hypothesis_of
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.model_averaging import ModelAveraging
from nmtkit.search.next_token import initial_states, predict, scorer_of
from nmtkit.search.search_settings import (
    MAX_LOG_PROB,
    NO_HYPOTHESIS,
    NOT_A_NUMBER,
    TokenMask,
    beam_shrinks,
    expansions_per_sentence,
    length_divisor,
    min_lengths,
    reachable_length,
    step_limits,
)
from nmtkit.special_symbols import BOS, EOS


class TokenLink(NamedTuple):
    """A token of a hypothesis. score: log p up to it. parent: None for the empty hypothesis."""

    token: int
    score: float
    parent: "TokenLink | None"


Expansion: TypeAlias = tuple[float, int, int]
"""A hypothesis extended by one token: its negative log p, the slot of the hypothesis, the token;
sorting puts the best first, as in `sort_ties`."""


class _SentenceSearch:
    """The hypotheses of a search.

    :param src_lengths: T_x. Shape: [1].

    beam: the last node of each active hypothesis, best first.
    """

    def __init__(self, src_lengths: Tensor, settings: SearchConfig, n_best: int) -> None:
        self.beam = [TokenLink(BOS, 0.0, None)]
        self._settings, self._n_best = settings, n_best
        self._steps, self._width = 0, settings.beam
        self._src_length = int(src_lengths)
        self._limit = int(step_limits(src_lengths, settings.max_length_ratio))
        self._min_length = int(min_lengths(src_lengths, settings))
        self._finished: list[RankedHypothesis] = []  # best first
        self._nodes: list[TokenLink] = []  # of all that ended, by RankedHypothesis.node

    @property
    def eos_allowed(self) -> bool:
        """Whether `</s>` may be the next token."""
        return self._steps + 1 >= self._min_length

    def advance(self, expansions: Sequence[Expansion]) -> list[int]:
        """Prune the expansions, best first; see `beam_step.prune`.

        :return: the slot of each new active hypothesis's parent.
        """
        self._steps += 1
        best = expansions[: expansions_per_sentence(self._settings)]
        ended = [(cost, slot) for cost, slot, token in best[: self._width] if token == EOS]
        if beam_shrinks(self._settings):
            self._width -= len(ended)
        for cost, slot in ended:
            self._finish(self.beam[slot], -cost)
        active = [expansion for expansion in best if expansion[2] != EOS][: self._width]
        self.beam = [TokenLink(token, -cost, self.beam[slot]) for cost, slot, token in active]
        return [slot for _, slot, _ in active]

    @property
    def is_done(self) -> bool:
        """Whether the n best translations are final, as `SearchConfig.stop` says."""
        if not self.beam or self._steps >= self._limit:
            return True
        if len(self._finished) < self._n_best:
            return False
        length = reachable_length(self._steps, self._limit, self._src_length, self._settings)
        reachable = self.beam[0].score / length_divisor(self._settings, length)
        return -self._finished[self._n_best - 1].negative_ranking_score >= reachable

    def hypotheses(self) -> list[Hypothesis]:
        """Return the n best finished ones, or unfinished ones if there are none.

        :raises ModelError: there is neither.
        """
        is_finished = bool(self._finished)
        if not is_finished:
            for node in self.beam:
                self._finish(node, node.score)
        if not self._finished:
            raise ModelError(NO_HYPOTHESIS)
        best = self._finished[: self._n_best]
        return [
            hypothesis_of(ranked, *_path(self._nodes[ranked.node]), is_finished) for ranked in best
        ]

    def _finish(self, node: TokenLink, score: float) -> None:
        """Record a hypothesis that ends after a node."""
        number, rank = len(self._nodes), -score / length_divisor(self._settings, self._steps)
        self._nodes.append(node)
        self._finished.append(RankedHypothesis(rank, self._steps, number, number, score, 0.0))
        self._finished.sort()


def search_sentence(
    models: Sequence[TranslationModel],
    source: EncodedBatch,
    settings: SearchConfig,
    n_best: int,
    averaging: ModelAveraging,
) -> list[Hypothesis]:
    """Translate the only sentence of a batch; see `beam.search_batches`.

    :param source: one sentence without constraints, on a CPU.
    """
    layers = [model.output_layer() for model in models]
    scorer = scorer_of(layers, source.candidates, averaging)
    states = initial_states(models, source.encoded)
    search = _SentenceSearch(source.lengths, settings, n_best)
    repeats = source.repeats(settings)
    while not search.is_done:
        tokens = torch.tensor([[node.token for node in search.beam]])  # [1, k]
        readouts, states, _ = predict(models, tokens, states, source.encoded)
        eos = torch.full(tokens.shape, not search.eos_allowed)
        forbidden = None if repeats is None else repeats.forbidden()
        mask = TokenMask(eos, settings.forbid_unk, forbidden)
        count = expansions_per_sentence(settings)
        values, candidates = scorer.best_tokens(readouts, count, mask)  # [k, c]
        expansions = _expansions(search.beam, values.tolist(), candidates.tolist())
        slots = search.advance(expansions)
        if slots != list(range(tokens.size(1))) and not search.is_done:
            parents = torch.tensor([slots])
            states = [state.select_hypotheses(parents) for state in states]
        if repeats is not None and not search.is_done:
            latest = torch.tensor([[node.token for node in search.beam]])
            repeats.advance(latest, torch.tensor([slots]))
    return search.hypotheses()


def _expansions(
    beam: Sequence[TokenLink], values: list[list[float]], tokens: list[list[int]]
) -> list[Expansion]:
    """Return the possible expansions, best first.

    :param values: log-probabilities of `tokens` after each hypothesis. Shape: [k, c].
    :raises ModelError: a log-probability is not a number or above 0.
    """
    expansions = []
    for slot, (node, row, row_tokens) in enumerate(zip(beam, values, tokens, strict=True)):
        if not row[0] + node.score <= MAX_LOG_PROB:
            raise ModelError(NOT_A_NUMBER)
        expansions += [
            (-(value + node.score), slot, token)
            for value, token in zip(row, row_tokens, strict=True)
            if value > -torch.inf
        ]
    return sorted(expansions)


def _path(node: TokenLink) -> tuple[list[int], list[float]]:
    """Return the tokens up to a node, and log p of each prefix, the empty one first."""
    nodes = [node]
    while nodes[-1].parent is not None:
        nodes.append(nodes[-1].parent)
    nodes.reverse()
    return [n.token for n in nodes[1:]], [n.score for n in nodes]
