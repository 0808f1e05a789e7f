"""Log-probabilities of many translations of one sentence, with shared prefixes decoded once.

The hypotheses of an n-best list differ little: in a list of a thousand, two thirds of the tokens
follow a prefix that another hypothesis shares. Teacher forcing decodes each hypothesis by itself;
here the decoder takes one step for each different prefix, all of one length together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.models.base import OutputLayer, TranslationModel
from nmtkit.models.search_state import EncodedSource, SearchState, upload
from nmtkit.special_symbols import BOS

MAX_PREFIXES = 64
"""Prefixes decoded together: their activations should stay in the CPU's cache."""

MAX_CELLS = 1 << 13
"""Prefixes times source positions decoded together: attention has a vector for each."""


class Level(NamedTuple):
    """The tokens that follow the different prefixes of one length.

    prefixes: index of the prefix before each token, within this level.
    tokens: ids, one for each different pair of prefix and token.
    extended: indices of the tokens that some translation continues: the prefixes of the next
        level.
    """

    prefixes: list[int]
    tokens: list[int]
    extended: list[int]


class PrefixTree:
    """The different prefixes of some translations.

    levels: their tokens by position.
    paths: for each translation, the indices of its tokens, counted over all levels.
    size: tokens in all levels.

    :param targets: ids, `</s>` last.
    """

    def __init__(self, targets: Sequence[Sequence[int]]) -> None:
        self.levels: list[Level] = []
        self.paths: list[list[int]] = [[] for _ in targets]
        self.size = 0
        current = [0] * len(targets)  # number of each target's prefix
        for position in range(max(map(len, targets), default=0)):
            edges: dict[tuple[int, int], int] = {}
            extended: dict[int, int] = {}
            for number, target in enumerate(targets):
                if position >= len(target):
                    continue
                edge = edges.setdefault((current[number], target[position]), len(edges))
                self.paths[number].append(self.size + edge)
                if position + 1 < len(target):
                    current[number] = extended.setdefault(edge, len(extended))
            prefixes, tokens = zip(*edges, strict=True)
            self.levels.append(Level(list(prefixes), list(tokens), list(extended)))
            self.size += len(edges)


def tree_log_probs(
    model: TranslationModel, src: Tensor, src_mask: Tensor, tree: PrefixTree
) -> Tensor:
    """Compute log p of each token of a tree, given its prefix and the source.

    :param model: fastest as returned by `for_inference`.
    :param src, src_mask: one sentence, as in `TranslationModel.encode`. Shape: [1, T_x].
    :return: in the order of the tree's levels. Shape: [tree.size].
    """
    encoded = model.encode(src, src_mask)
    layer = model.output_layer()
    state = model.initial_state(encoded)
    previous = torch.full((1,), BOS, device=src.device)
    parents = torch.zeros_like(previous)
    log_probs = [layer.bias.new_zeros(0)]
    rows = max(1, min(MAX_PREFIXES, MAX_CELLS // src.size(1)))
    for level in tree.levels:
        readout, state = _step(model, previous, parents, state, encoded, rows)
        prefixes, tokens, extended = (upload(part, src.device) for part in level)
        log_probs.append(_token_log_probs(layer, readout, prefixes, tokens))
        if level.extended:
            previous, parents = tokens[extended], prefixes[extended]
    return torch.cat(log_probs)


def _step(
    model: TranslationModel,
    previous: Tensor,
    parents: Tensor,
    state: SearchState,
    encoded: EncodedSource,
    rows: int,
) -> tuple[Tensor, SearchState]:
    """Decode one position after every prefix of a level, `rows` prefixes at a time.

    :param previous: the last token of each prefix. Shape: [k].
    :param parents: the hypothesis of `state` that each prefix extends. Shape: [k].
    :return: readouts [k, l], and the state of k hypotheses after the step.
    """
    chunks = zip(torch.split(previous, rows), torch.split(parents, rows), strict=True)
    steps = [
        model.step(tokens.unsqueeze(0), state.select_hypotheses(chosen.unsqueeze(0)), encoded)
        for tokens, chosen in chunks
    ]
    first, *others = (step.state for step in steps)
    state = first.append_hypotheses(others) if others else first
    return torch.cat([step.readout for step in steps], dim=1).squeeze(0), state


def _token_log_probs(
    layer: OutputLayer, readout: Tensor, prefixes: Tensor, tokens: Tensor
) -> Tensor:
    """Compute log p of tokens after prefixes. [k, l], [n] and [n] to [n]."""
    log_z = [
        torch.addmm(layer.bias, rows, layer.W.t()).logsumexp(1)
        for rows in torch.split(readout, MAX_PREFIXES)
    ]
    logits = layer.logits_of(readout.index_select(0, prefixes), tokens.unsqueeze(1)).squeeze(1)
    return logits - torch.cat(log_z).index_select(0, prefixes)
