"""Dynamic beam allocation with lists, one candidate after the other: an oracle."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmtkit.search.beam_allocation import LEVEL_BONUS, Candidates
from nmtkit.special_symbols import EOS


class Candidate(NamedTuple):
    """An expansion of a hypothesis; the best come first when they are sorted."""

    rank: float  # - log p - credit
    parent: int
    token: int
    score: float
    level: int
    credit: float = 0.0
    debt: float = 0.0


def slow_choose(
    candidates: Sequence[Candidate], width: int, levels: int, shrinking: bool
) -> list[Candidate]:
    """Return the expansions of a sentence to keep: finished ones first, then the others."""
    ordered = sorted(one for one in candidates if one.score > -math.inf)
    finished = []
    for level in range(levels):
        rivals = [one for one in ordered if one.level == level][:width]
        finished += [one for one in rivals if one.token == EOS]
    finished = sorted(finished)[:width]
    if shrinking:
        width -= len(finished)
    return [*finished, *allocate([o for o in ordered if o.token != EOS], width, levels)]


def allocate(candidates: Sequence[Candidate], width: int, levels: int) -> list[Candidate]:
    """Divide the beam among active candidates; they are sorted, best first."""
    if width < levels:
        favoured = sorted(candidates, key=lambda one: one.rank - LEVEL_BONUS * one.level)
        return sorted(favoured[:width])
    kept, others = list[Candidate](), list[Candidate]()
    filled = [0] * levels
    for one in candidates:
        is_kept = filled[one.level] < width // levels
        (kept if is_kept else others).append(one)
        filled[one.level] += is_kept
    return sorted(kept + others[: width - len(kept)])


def as_tensors(rows: Sequence[Sequence[Candidate]]) -> Candidates:
    """Return the candidates of some sentences as tensors, padded with impossible ones."""
    longest = max(map(len, rows))
    missing = Candidate(math.inf, 0, EOS, -math.inf, 0)
    padded = [[*row, *[missing] * (longest - len(row))] for row in rows]

    def column(values: list[list[float]], dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype)

    return Candidates(
        column([[-one.rank for one in row] for row in padded], torch.float64),
        column([[one.score for one in row] for row in padded], torch.float64),
        column([[one.parent for one in row] for row in padded], torch.int64),
        column([[one.token for one in row] for row in padded], torch.int64),
        column([[one.level for one in row] for row in padded], torch.int64),
        column([[one.credit for one in row] for row in padded], torch.float64),
        column([[one.debt for one in row] for row in padded], torch.float64),
    )
