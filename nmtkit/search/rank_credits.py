"""Ranks of hypotheses with terms: what is added to log p where they are compared.

Where the model has attention, hypotheses are not compared by log p alone, as a term that the model
would never write itself costs much wherever it stands, and stands best where it spoils least. In
place of log p of its first token, the logarithm of the attention that its source words have counts:
the model would translate them now. Of the tokens that go on with it, the others of its alternatives
share the probability. Scores that are reported are log p as always.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nmtkit.search.beam_allocation import Candidates
from nmtkit.search.constraint_table import States
from nmtkit.special_symbols import EOS

MIN_ATTENTION = 1e-6
"""Smallest weight by which a place for a term is judged."""


class RankCredits(NamedTuple):
    """How the ranks of hypotheses differ from log p. Shapes: [B, k].

    credits: added to log p where hypotheses are compared. debts: the part of it that is for a term
    which is begun and not ended.
    """

    credits: Tensor
    debts: Tensor

    def select(self, rows: Tensor) -> "RankCredits":
        """Return those of some rows. Shape: [n]."""
        return RankCredits(*(values[rows] for values in self))

    def replace(self, rows: Tensor, newcomers: "RankCredits") -> "RankCredits":
        """Return those of all rows after newcomers have taken some. Shape: [n].

        :param newcomers: theirs, of no more slots.
        """
        unused = [0, self.credits.size(1) - 1]
        pairs = zip(self, newcomers, strict=True)
        return RankCredits(
            *(old.index_copy(0, rows, functional.pad(new, unused)) for old, new in pairs)
        )

    def candidates(
        self,
        scores: Tensor,
        states: States,
        weights: Tensor | None,
        of_steps: Tensor,
        tokens: Tensor,
        values: Tensor,
    ) -> Candidates:
        """Return all expansions of the hypotheses of each row.

        :param scores: log p of the hypotheses. Shape: [n, k].
        :param weights: attention that the source words of terms get, or None. Shape: [n, k, terms].
        :param of_steps: log p of the steps of terms. Shape: [n, k, M].
        :param tokens, values: other tokens, and log p of them. Shapes: [n, k, c].
        """
        credits, debts = (one.unsqueeze(2) for one in self)
        given_up = credits - debts  # a term that is begun
        others = (
            scores.unsqueeze(2) + values,
            tokens,
            states.idle_level.unsqueeze(2).where(tokens != EOS, states.level.unsqueeze(2)),
            given_up.expand_as(values),
            torch.zeros_like(values),
        )
        kept, owed = (
            given_up.where(states.is_first, credits),
            debts.masked_fill(states.is_first, 0.0),
        )
        if weights is not None:
            gains = _gains(states, of_steps, weights)
            kept, owed = kept + gains, owed + gains
        of_terms = (
            scores.unsqueeze(2) + of_steps,
            states.tokens,
            (states.idle_level.unsqueeze(2) + 1).expand_as(of_steps),
            kept,
            owed.masked_fill(states.is_last, 0.0),
        )
        joined = [torch.cat(pair, dim=2) for pair in zip(others, of_terms, strict=True)]
        slots = torch.arange(scores.size(1), device=scores.device).view(1, -1, 1)
        all_scores, all_tokens, levels, all_credits, all_debts = (one.flatten(1) for one in joined)
        ranks = (all_scores + all_credits).masked_fill(all_scores == -torch.inf, -torch.inf)
        parents = slots.expand_as(joined[0]).flatten(1)
        return Candidates(ranks, all_scores, parents, all_tokens, levels, all_credits, all_debts)


def _gains(states: States, of_steps: Tensor, weights: Tensor) -> Tensor:
    """Return what the steps of terms add to the credits of hypotheses.

    Alternatives share a probability by the tokens that are there, and by what is known of the rest.
    By the tokens that are there alone, each would seem as likely as all words that begin like it.

    :param of_steps: log p of the steps. Shape: [n, k, M].
    :param weights: attention that the source words of terms get. Shape: [n, k, terms].
    """
    sums = _group_sums(of_steps, states.groups)
    gains = -sums.masked_fill(sums == -torch.inf, 0.0)
    attention = weights.to(gains.dtype).clamp(min=MIN_ATTENTION).log().gather(2, states.terms)
    gains = (gains + attention).clamp(min=0.0).where(states.is_first, gains)
    if states.rests is None:
        return gains
    rests = states.rests.to(gains.dtype)
    shares = rests - _group_sums(of_steps + rests, states.groups) + sums
    return gains + shares.where(of_steps > -torch.inf, 0.0)


def _group_sums(of_steps: Tensor, groups: Tensor) -> Tensor:
    """Return log p of any token of each step's group. Shapes: [n, k, M]."""
    highest = of_steps.amax(2, keepdim=True)
    highest = highest.masked_fill(highest == -torch.inf, 0.0)
    sums = torch.zeros_like(of_steps).scatter_add_(2, groups, (of_steps - highest).exp())
    return (sums.log() + highest).gather(2, groups)
