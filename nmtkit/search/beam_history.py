"""The tree of all hypotheses that a search has looked at, read backwards at its end.

A node is one word of one hypothesis. Its place is its number in the tree, and it knows the place
of the word before it, so that hypotheses share their beginnings and nothing is copied while the
search runs. Only the hypotheses that are given out are ever spelt out.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.search_settings import length_divisor
from nmtkit.special_symbols import BOS, EOS


class Nodes(NamedTuple):
    """The nodes that one step added: their words, the places before them and log p up to them.

    Shape of each: [number of nodes].
    """

    words: Tensor
    parents: Tensor
    scores: Tensor


class Ends(NamedTuple):
    """Hypotheses that went no further at one step.

    sentences: number of each among all. Shape: [B].
    places: of the last word but `</s>`. Shape: [B, k].
    scores: log p, with that of `</s>` where it was chosen, -inf where there is none.
        Shape: [B, k].
    lengths: words, `</s>` counted. Shape: [B].
    """

    sentences: Tensor
    places: Tensor
    scores: Tensor
    lengths: Tensor


class Entry(NamedTuple):
    """An end as plain numbers, in the order in which an n-best list has them."""

    negative_ranking_score: float
    length: int
    number: int
    place: int
    score: float


class BeamHistory:
    """Grows by one generation of nodes a step; `n_best` reads the translations from it."""

    def __init__(self) -> None:
        self.sentences = 0
        self._nodes: list[Nodes] = []
        self._size = 0
        self._finished: list[Ends] = []
        self._unfinished: list[Ends] = []

    def begin(self, count: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Add the roots of more sentences.

        :return: their numbers [B], and the places of the roots [B, 1].
        """
        roots = torch.full((count, 1), -1, device=device)
        scores = torch.zeros(count, 1, dtype=torch.float64, device=device)
        places = self.add(torch.full_like(roots, BOS), roots, scores)
        first = self.sentences
        self.sentences += count
        return torch.arange(first, self.sentences, device=device), places

    def add(self, words: Tensor, parents: Tensor, scores: Tensor) -> Tensor:
        """Add a generation of nodes.

        :param words, parents, scores: see `Nodes`. Shape: [B, k].
        :return: their places. Shape: [B, k].
        """
        self._nodes.append(Nodes(words.flatten(), parents.flatten(), scores.flatten()))
        first = self._size
        self._size += words.numel()
        return torch.arange(first, self._size, device=words.device).view(words.shape)

    def end(self, sentences: Tensor, places: Tensor, scores: Tensor, lengths: Tensor) -> None:
        """Note hypotheses that ended with `</s>`; see `Ends`."""
        self._finished.append(Ends(sentences, places, scores, lengths))

    def add_unfinished(
        self, sentences: Tensor, places: Tensor, scores: Tensor, lengths: Tensor
    ) -> None:
        """Note hypotheses that search leaves unfinished; see `Ends`."""
        self._unfinished.append(Ends(sentences, places, scores, lengths))

    def n_best(self, settings: SearchConfig, n_best: int) -> list[list[Hypothesis]]:
        """The n best of each sentence, ranked as the settings say; of equals, the shorter first.

        Only finished ones, unless a sentence has none.

        :raises ModelError: a sentence has none of either kind.
        """
        if not self.sentences:
            return []
        finished = _entries(self._finished, self.sentences, settings)
        unfinished = _entries(self._unfinished, self.sentences, settings)
        if not all(a or b for a, b in zip(finished, unfinished, strict=True)):
            raise ModelError("every word is forbidden or has probability 0; check the vocabulary")
        chosen = [
            sorted(ended or given_up)[:n_best]
            for ended, given_up in zip(finished, unfinished, strict=True)
        ]
        paths = self._paths([entry.place for entries in chosen for entry in entries])
        return [
            [_hypothesis(entry, *next(paths), bool(ended)) for entry in entries]
            for ended, entries in zip(finished, chosen, strict=True)
        ]

    def _paths(self, places: list[int]) -> Iterator[tuple[list[int], list[float]]]:
        """The words from the first up to each of some places; log p from 0 up to each of them."""
        nodes = Nodes(*(torch.cat(column).cpu() for column in zip(*self._nodes, strict=True)))
        at = torch.tensor(places)
        backwards = [at]
        while bool(((at := _before(nodes.parents, at)) >= 0).any()):
            backwards.append(at)
        paths = torch.stack(backwards[::-1], dim=1)  # [hypotheses, steps], -1 before the roots
        starts = (paths < 0).sum(1).tolist()
        words = nodes.words[paths.clamp(min=0)].tolist()
        scores = nodes.scores[paths.clamp(min=0)].tolist()
        for start, ids, sums in zip(starts, words, scores, strict=True):
            yield ids[start + 1 :], sums[start:]


def _before(parents: Tensor, places: Tensor) -> Tensor:
    """The places before these; -1 before a root and before that."""
    return parents[places.clamp(min=0)].masked_fill(places < 0, -1)


def _hypothesis(entry: Entry, ids: list[int], sums: list[float], finished: bool) -> Hypothesis:
    """An end spelt out.

    :param ids: its words but `</s>`.
    :param sums: log p before the first of them and up to each.
    """
    if finished:
        ids, sums = [*ids, EOS], [*sums, entry.score]
    word_scores = [after - before for before, after in zip(sums, sums[1:], strict=False)]
    return Hypothesis(ids, entry.score, word_scores, finished)


def _entries(ends: list[Ends], sentences: int, settings: SearchConfig) -> list[list[Entry]]:
    """The ends of each sentence."""
    entries: list[list[Entry]] = [[] for _ in range(sentences)]
    if not ends:
        return entries
    wide = [Ends(*_of_one_shape(*generation)) for generation in ends]
    joined = Ends(*(torch.cat(parts) for parts in zip(*wide, strict=True)))
    real = joined.scores > -torch.inf
    columns = [column[real].tolist() for column in joined]
    for number, (sentence, place, score, length) in enumerate(zip(*columns, strict=True)):
        rank = -score / length_divisor(settings, length)
        entries[sentence].append(Entry(rank, length, number, place, score))
    return entries


def _of_one_shape(
    sentences: Tensor, places: Tensor, scores: Tensor, lengths: Tensor
) -> list[Tensor]:
    """What is said of a sentence, said of each of its hypotheses. Shape of each: [B * k]."""
    columns = (sentences.unsqueeze(1), places, scores, lengths.unsqueeze(1))
    return [column.expand_as(places).flatten() for column in columns]
