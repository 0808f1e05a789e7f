"""Dynamic beam allocation: which expansions of constrained hypotheses a beam keeps.

The beam is divided evenly among hypotheses with 0, 1, 2, ... terms (Post and Vilar 2018); what is
left goes to the best ones.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from nmtkit.special_symbols import EOS

LEVEL_BONUS = 1.0
"""What a term is worth, in log p, where the beam has no place for each number of terms."""


class Candidates(NamedTuple):
    """Expansions that compete for a beam. Shape of each: [n, N].

    ranks: what they are compared by. scores: log p; -inf where there are fewer. parents: slots of
    the hypotheses. levels: how many terms they have. credits, debts: see `RankCredits`.
    """

    ranks: Tensor
    scores: Tensor
    parents: Tensor
    tokens: Tensor
    levels: Tensor
    credits: Tensor
    debts: Tensor

    def take(self, columns: Tensor) -> "Candidates":
        """Keep some columns of each row. Shape: [n, c]."""
        return Candidates(*(value.gather(1, columns) for value in self))


def choose(
    candidates: Candidates, widths: Tensor, levels: Tensor, shrinking: bool, count: int
) -> Candidates:
    """Return the expansions to keep: of each sentence finished ones first, then the others.

    :param widths: maximum number of active hypotheses. Shape: [n].
    :param levels: numbers of terms that a hypothesis may have. Shape: [n].
    :param shrinking: each finished hypothesis makes the beam one narrower.
    :param count: c; at most so many are returned.
    :return: best first; equal ones in the order of slots, then tokens. Shape of each: [n, c].
    """
    candidates = _sort(candidates)
    real, ends = candidates.scores != -torch.inf, candidates.tokens == EOS
    width = widths.unsqueeze(1)
    finished = real & ends & (_places(candidates.levels, real) <= width)
    finished &= finished.cumsum(1) <= width
    if shrinking:
        width = width - finished.sum(1, keepdim=True)
    active = _allocate(candidates, real & ~ends, width, levels.unsqueeze(1))
    order = torch.where(finished, 0, torch.where(active, 1, 2))
    chosen = order.argsort(dim=1, stable=True)[:, :count]
    kept = candidates.take(chosen)
    left_out = order.gather(1, chosen) == 2
    return kept._replace(
        scores=kept.scores.masked_fill(left_out, -torch.inf),
        tokens=kept.tokens.masked_fill(left_out, EOS),
        parents=kept.parents.masked_fill(left_out, 0),
        credits=kept.credits.masked_fill(left_out, 0.0),
    )


def _sort(candidates: Candidates) -> Candidates:
    """Sort candidates, best first; equal ones by slot, then token."""
    order = (candidates.parents * (1 << 32) + candidates.tokens).argsort(dim=1)
    ranks = candidates.ranks.gather(1, order).argsort(dim=1, descending=True, stable=True)
    return candidates.take(order.gather(1, ranks))


def _places(levels: Tensor, counted: Tensor) -> Tensor:
    """Return the place of each candidate among those of its level, from 1. Shapes: [n, N]."""
    known = torch.arange(int(levels.max()) + 1, device=levels.device)
    of_level = (levels.unsqueeze(2) == known) & counted.unsqueeze(2)  # [n, N, levels]
    return of_level.cumsum(1).gather(2, levels.unsqueeze(2)).squeeze(2)


def _allocate(candidates: Candidates, active: Tensor, width: Tensor, levels: Tensor) -> Tensor:
    """Divide the beam among the active candidates by their level; return those kept.

    :param candidates: best first. Shape: [n, N]. active: True for those that compete.
    :param width, levels: of each sentence. Shape: [n, 1].
    """
    share = width.div(levels, rounding_mode="floor")
    kept = active & (_places(candidates.levels, active) <= share)
    others = active & ~kept
    kept = kept | others & (others.cumsum(1) <= width - kept.sum(1, keepdim=True))
    crowded = width < levels  # no place for each number of terms: prefer many
    if not bool(crowded.any()):
        return kept
    favour = candidates.ranks + LEVEL_BONUS * candidates.levels
    order = favour.masked_fill(~active, -torch.inf).argsort(dim=1, descending=True, stable=True)
    place = torch.empty_like(order).scatter_(
        1, order, torch.arange(order.size(1), device=order.device).expand_as(order)
    )
    return torch.where(crowded, active & (place < width), kept)
