"""The tree of all hypotheses of a beam search, backtracked at its end.

A node is one token of one hypothesis. It has a number and stores the number of its parent, so that
hypotheses share their prefixes and nothing is copied during search. The tokens are
collected only for the hypotheses that are returned.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.search_settings import NO_HYPOTHESIS, length_divisor
from nmtkit.special_symbols import BOS, EOS


def score_dtype(device: torch.device) -> torch.dtype:
    """Return the type in which scores are summed: float64, which a Mac's GPU does not have."""
    return torch.float32 if device.type == "mps" else torch.float64


class Nodes(NamedTuple):
    """The nodes added by one step.

    tokens: ids. parents: numbers of the parent nodes. scores: log p of the prefixes.
    Shape of each: [number of nodes].
    """

    tokens: Tensor
    parents: Tensor
    scores: Tensor


class EndedHypotheses(NamedTuple):
    """Hypotheses that ended at one step.

    sentences: index of each among all sentences. Shape: [B].
    nodes: nodes of the last token before `</s>`. Shape: [B, k].
    scores: log p, `</s>` included if it was chosen, -inf in unused slots. Shape: [B, k].
    lengths: tokens, `</s>` counted. Shape: [B].
    credits: what is added to log p for the ranking. Shape: [B, k].
    """

    sentences: Tensor
    nodes: Tensor
    scores: Tensor
    lengths: Tensor
    credits: Tensor


class RankedHypothesis(NamedTuple):
    """An ended hypothesis; sorting gives the order of an n-best list."""

    negative_ranking_score: float
    length: int
    number: int
    node: int
    score: float
    credit: float


class BeamHistory:
    """All hypotheses of a search, one generation of nodes per step; `n_best` backtracks them."""

    def __init__(self) -> None:
        self.sentences = 0
        self._generations: list[Nodes] = []
        self._size = 0
        self._finished: list[EndedHypotheses] = []
        self._unfinished: list[EndedHypotheses] = []

    def add_sentences(self, count: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Add the roots of more sentences.

        :return: indices of the sentences [B], and their root nodes [B, 1].
        """
        no_parents = torch.full((count, 1), -1, device=device)
        scores = torch.zeros(count, 1, dtype=score_dtype(device), device=device)
        roots = self.add_nodes(torch.full_like(no_parents, BOS), no_parents, scores)
        first = self.sentences
        self.sentences += count
        return torch.arange(first, self.sentences, device=device), roots

    def add_nodes(self, tokens: Tensor, parents: Tensor, scores: Tensor) -> Tensor:
        """Add a generation of nodes.

        :param tokens, parents, scores: see `Nodes`. Shape: [B, k].
        :return: their numbers. Shape: [B, k].
        """
        self._generations.append(Nodes(tokens.flatten(), parents.flatten(), scores.flatten()))
        first = self._size
        self._size += tokens.numel()
        return torch.arange(first, self._size, device=tokens.device).view(tokens.shape)

    def add_finished(
        self,
        sentences: Tensor,
        nodes: Tensor,
        scores: Tensor,
        lengths: Tensor,
        credits: Tensor | None = None,
    ) -> None:
        """Record hypotheses that ended with `</s>`; see `EndedHypotheses`."""
        added = torch.zeros_like(scores) if credits is None else credits
        self._finished.append(EndedHypotheses(sentences, nodes, scores, lengths, added))

    def add_unfinished(
        self, sentences: Tensor, nodes: Tensor, scores: Tensor, lengths: Tensor
    ) -> None:
        """Record hypotheses that search left unfinished; see `EndedHypotheses`."""
        credits = torch.zeros_like(scores)
        self._unfinished.append(EndedHypotheses(sentences, nodes, scores, lengths, credits))

    def n_best(self, settings: SearchConfig, n_best: int) -> list[list[Hypothesis]]:
        """Return the n best hypotheses of each sentence, ranked as the settings say.

        With equal scores the shorter is first. Unfinished ones are used only if none is finished.

        :raises ModelError: a sentence has no hypothesis, finished or not.
        """
        if not self.sentences:
            return []
        finished = _by_sentence(self._finished, self.sentences, settings)
        unfinished = _by_sentence(self._unfinished, self.sentences, settings)
        if not all(a or b for a, b in zip(finished, unfinished, strict=True)):
            raise ModelError(NO_HYPOTHESIS)
        best = [sorted(a or b)[:n_best] for a, b in zip(finished, unfinished, strict=True)]
        prefixes = self._backtrack([ranked.node for sentence in best for ranked in sentence])
        return [
            [hypothesis_of(ranked, *next(prefixes), bool(ended)) for ranked in sentence]
            for ended, sentence in zip(finished, best, strict=True)
        ]

    def _backtrack(self, nodes: list[int]) -> Iterator[tuple[list[int], list[float]]]:
        """Yield the tokens up to each node, and log p of each prefix, the empty one first."""
        columns = zip(*self._generations, strict=True)
        tree = Nodes(*(torch.cat(column).cpu() for column in columns))
        current = torch.tensor(nodes)
        backwards = [current]
        while bool(((current := _parents(tree.parents, current)) >= 0).any()):
            backwards.append(current)
        paths = torch.stack(backwards[::-1], dim=1)  # [hypotheses, steps], -1 before the roots
        starts = (paths < 0).sum(1).tolist()
        tokens = tree.tokens[paths.clamp(min=0)].tolist()
        scores = tree.scores[paths.clamp(min=0)].tolist()
        for start, ids, prefix_scores in zip(starts, tokens, scores, strict=True):
            yield ids[start + 1 :], prefix_scores[start:]


def _parents(parents: Tensor, nodes: Tensor) -> Tensor:
    """Return the parents of some nodes; -1 for a root and for -1."""
    return parents[nodes.clamp(min=0)].masked_fill(nodes < 0, -1)


def hypothesis_of(
    ranked: RankedHypothesis, ids: list[int], prefix_scores: list[float], finished: bool
) -> Hypothesis:
    """Return an ended hypothesis with its tokens and their log-probabilities.

    :param ids: its tokens without `</s>`.
    :param prefix_scores: log p of each prefix of `ids`, the empty one first.
    """
    if finished:
        ids, prefix_scores = [*ids, EOS], [*prefix_scores, ranked.score]
    pairs = zip(prefix_scores, prefix_scores[1:], strict=False)
    word_scores = [after - before for before, after in pairs]
    return Hypothesis(ids, ranked.score, word_scores, finished, credit=ranked.credit)


def _by_sentence(
    ended: list[EndedHypotheses], sentences: int, settings: SearchConfig
) -> list[list[RankedHypothesis]]:
    """Return the ended hypotheses of each sentence."""
    by_sentence: list[list[RankedHypothesis]] = [[] for _ in range(sentences)]
    if not ended:
        return by_sentence
    flat = [_flatten(step) for step in ended]
    joined = EndedHypotheses(*(torch.cat(parts).cpu() for parts in zip(*flat, strict=True)))
    real = joined.scores > -torch.inf
    columns = [column[real].tolist() for column in joined]
    ended_columns = enumerate(zip(*columns, strict=True))
    for number, (sentence, node, score, length, credit) in ended_columns:
        rank = -(score + credit) / length_divisor(settings, length)
        by_sentence[sentence].append(RankedHypothesis(rank, length, number, node, score, credit))
    return by_sentence


def _flatten(ended: EndedHypotheses) -> list[Tensor]:
    """Repeat the values of a sentence for each of its hypotheses. Shape of each: [B * k]."""
    sentences, nodes, scores, lengths, credits = ended
    columns = (sentences.unsqueeze(1), nodes, scores, lengths.unsqueeze(1), credits)
    return [column.expand_as(nodes).flatten() for column in columns]
