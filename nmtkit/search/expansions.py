"""Expansions: the hypotheses of a beam, extended by one token."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.special_symbols import EOS


class Expansions(NamedTuple):
    """Hypotheses extended by one token, best first.

    scores: log p, the new token's included; -inf if there are too few. Shape: [B, c].
    parents: slot of the hypothesis that is extended. Shape: [B, c].
    tokens: the new token, `</s>` if there are too few. Shape: [B, c].
    credits: what is added to log p where hypotheses are compared; None: nothing. Shape: [B, c].
    """

    scores: Tensor
    parents: Tensor
    tokens: Tensor
    credits: Tensor | None = None

    @property
    def ranks(self) -> Tensor:
        """What hypotheses are compared by. Shape: [B, c]."""
        return self.scores if self.credits is None else self.scores + self.credits


def join_expansions(*parts: tuple[Tensor, Expansions]) -> Expansions:
    """Return the expansions of all sentences from those of some, each with its rows."""
    width = max(part.scores.size(1) for _, part in parts)
    columns: list[list[Tensor]] = [[], [], [], []]
    for _, (scores, parents, tokens, credits) in parts:
        added = torch.zeros_like(scores) if credits is None else credits
        missing = [0, width - scores.size(1)]
        columns[0].append(functional.pad(scores, missing, value=-torch.inf))
        columns[1].append(functional.pad(parents, missing))
        columns[2].append(functional.pad(tokens, missing, value=EOS))
        columns[3].append(functional.pad(added, missing))
    order = torch.cat([rows for rows, _ in parts]).argsort()
    return Expansions(*(torch.cat(column)[order] for column in columns))


def top_expansions(scores: Tensor, parents: Tensor, tokens: Tensor, count: int) -> Expansions:
    """Return the `count` best expansions, best first.

    :param scores, parents, tokens: in any order. Shape of each: [B, b, w].
    """
    scores, parents, tokens = (field.flatten(1) for field in (scores, parents, tokens))
    best = scores.topk(min(count, scores.size(1)), dim=1)
    parents, tokens = (field.gather(1, best.indices) for field in (parents, tokens))
    return sort_ties(best.values, parents, tokens)


def sort_ties(scores: Tensor, parents: Tensor, tokens: Tensor) -> Expansions:
    """Sort expansions of equal score by parent, then token.

    :param scores, parents, tokens: sorted by score, best first. Shapes: [B, c].
    """
    if scores.size(1) > 1:
        order = (parents * (1 << 32) + tokens).argsort(dim=1)
        ranks = scores.gather(1, order).argsort(dim=1, descending=True, stable=True)
        order = order.gather(1, ranks)
        scores, parents, tokens = (field.gather(1, order) for field in (scores, parents, tokens))
    return Expansions(scores, parents, tokens.masked_fill(scores == -torch.inf, EOS))
