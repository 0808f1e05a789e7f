"""Log-probabilities of many translations of one sentence; what they begin with is read once.

The hypotheses of an n-best list differ in few places: of a thousand, two thirds of the words stand
behind a beginning that another one has, too. Teacher forcing reads each hypothesis for itself; here
the decoder takes one step for each different beginning, all of one length together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.base import OutputLayer, TranslationModel
from nmtkit.models.search_state import EncodedSource, SearchState
from nmtkit.special_symbols import BOS

ROWS = 64
"""Beginnings that make a step together: what a step computes should stay in a processor's cache."""

CELLS = 1 << 13
"""Beginnings times source positions at a step: an alignment model keeps a vector for each."""


class Level(NamedTuple):
    """The words at one position behind all different beginnings.

    nodes: the beginning before each word, by number in its level. words: ids. Of both one for each
        different beginning with the word. following: which of the words are not the last of all
        translations: the beginnings of the next level.
    """

    nodes: list[int]
    words: list[int]
    following: list[int]


class PrefixTree:
    """The different beginnings of some translations.

    levels: the words by position. paths: where in all levels together the words of each translation
        are. words: how many there are in all levels.

    :param targets: ids, `</s>` last.
    """

    def __init__(self, targets: Sequence[Sequence[int]]) -> None:
        self.levels: list[Level] = []
        self.paths: list[list[int]] = [[] for _ in targets]
        self.words = 0
        nodes = [0] * len(targets)
        longest = max(map(len, targets), default=0)
        for position in range(longest):
            edges: dict[tuple[int, int], int] = {}
            following: dict[int, int] = {}
            for number, target in enumerate(targets):
                if position >= len(target):
                    continue
                edge = edges.setdefault((nodes[number], target[position]), len(edges))
                self.paths[number].append(self.words + edge)
                if position + 1 < len(target):
                    nodes[number] = following.setdefault(edge, len(following))
            before, words = zip(*edges, strict=True)
            self.levels.append(Level(list(before), list(words), list(following)))
            self.words += len(edges)


def tree_log_probs(
    model: TranslationModel, src: Tensor, src_mask: Tensor, tree: PrefixTree
) -> Tensor:
    """log p of each word of a tree, given its beginning and the source.

    :param model: best made ready by `for_inference`.
    :param src, src_mask: one sentence, as in `TranslationModel.encode`. Shape: [1, T_x].
    :return: in the order of the tree's levels. Shape: [tree.words].
    """
    encoded = model.encode(src, src_mask)
    layer = model.output_layer()
    state = model.initial_state(encoded)
    previous = torch.full((1,), BOS, device=src.device)
    parents = torch.zeros_like(previous)
    found = [layer.bias.new_zeros(0)]
    rows = max(1, min(ROWS, CELLS // src.size(1)))
    for level in tree.levels:
        hidden, state = _step(model, previous, parents, state, encoded, rows)
        nodes, words, following = (torch.tensor(part, device=src.device) for part in level)
        found.append(_word_log_probs(layer, hidden, nodes, words))
        if level.following:
            previous, parents = words[following], nodes[following]
    return torch.cat(found)


def _step(
    model: TranslationModel,
    previous: Tensor,
    parents: Tensor,
    state: SearchState,
    encoded: EncodedSource,
    rows: int,
) -> tuple[Tensor, SearchState]:
    """Take a step from every prefix of a level, `rows` of them at a time.

    :param previous: the last token of each prefix. Shape: [k].
    :param parents: the hypothesis of `state` that each prefix extends. Shape: [k].
    :return: readouts [k, l], and the state of k hypotheses behind the step.
    """
    chunks = zip(torch.split(previous, rows), torch.split(parents, rows), strict=True)
    steps = [
        model.step(tokens.unsqueeze(0), state.select_hypotheses(chosen.unsqueeze(0)), encoded)
        for tokens, chosen in chunks
    ]
    first, *others = (step.state for step in steps)
    state = first.append_hypotheses(others) if others else first
    return torch.cat([step.readout for step in steps], dim=1).squeeze(0), state


def _word_log_probs(layer: OutputLayer, hidden: Tensor, nodes: Tensor, words: Tensor) -> Tensor:
    """log p of words behind beginnings. [k, l] and [n], [n] to [n]."""
    sums = [
        torch.addmm(layer.bias, some, layer.W.t()).logsumexp(1)
        for some in torch.split(hidden, ROWS)
    ]
    logits = layer.logits_of(hidden.index_select(0, nodes), words.unsqueeze(1)).squeeze(1)
    return logits - torch.cat(sums).index_select(0, nodes)
