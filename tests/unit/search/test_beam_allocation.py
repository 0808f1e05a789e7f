"""A beam divided among numbers of terms, against the same with lists."""

import math
import random

import pytest
import torch

from nmtkit.search.beam_allocation import choose
from nmtkit.special_symbols import EOS
from tests.unit.search.slow_allocation import Candidate, as_tensors, slow_choose


def draw(chance: random.Random, levels: int) -> list[Candidate]:
    """Return candidates of a sentence; some of them tie, some are impossible."""
    drawn = {}
    for _ in range(chance.randrange(1, 30)):
        score = chance.choice([-math.inf, float(-chance.randrange(8)), -8 * chance.random()])
        credit = chance.choice([0.0, 0.0, float(chance.randrange(3))])
        parent, token = chance.randrange(4), chance.choice([EOS, *range(2, 9)])
        one = Candidate(-score - credit, parent, token, score, chance.randrange(levels), credit)
        drawn[parent, token] = one
    return list(drawn.values())


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("shrinking", [True, False])
def test_it_keeps_what_lists_keep(seed: int, shrinking: bool) -> None:
    chance = random.Random(seed)
    levels = [chance.randrange(1, 6) for _ in range(5)]
    widths = [chance.randrange(0, 7) for _ in range(5)]
    rows = [draw(chance, count) for count in levels]
    count = 14
    found = choose(as_tensors(rows), torch.tensor(widths), torch.tensor(levels), shrinking, count)
    for number, (row, width, levels_of_row) in enumerate(zip(rows, widths, levels, strict=True)):
        expected = slow_choose(row, width, levels_of_row, shrinking)
        real = found.scores[number] > -math.inf
        columns = (found.parents, found.tokens, found.scores, found.credits)
        kept = list(zip(*(column[number][real].tolist() for column in columns), strict=True))
        assert kept == [(one.parent, one.token, one.score, one.credit) for one in expected]
        assert set(found.tokens[number][~real].tolist()) <= {EOS}


def candidate(score: float, level: int, token: int = 2, credit: float = 0.0) -> Candidate:
    return Candidate(-score - credit, 0, token, score, level, credit)


def kept(rivals: list[Candidate], width: int, levels: int, shrinking: bool = False) -> list[float]:
    sizes = torch.tensor([width]), torch.tensor([levels])
    scores = choose(as_tensors([rivals]), *sizes, shrinking, 10).scores[0]
    return [score for score in scores.tolist() if score > -math.inf]


def test_every_number_of_terms_has_a_place() -> None:
    rivals = [candidate(-1.0 - n, 0, token=2 + n) for n in range(6)] + [candidate(-9.0, 1, 9)]
    assert kept(rivals, 4, 2) == [-1.0, -2.0, -3.0, -9.0]


def test_credit_counts_where_hypotheses_are_compared() -> None:
    rivals = [candidate(-1.0, 0), candidate(-9.0, 1, 3, credit=8.5), candidate(-2.0, 1, 4)]
    assert kept(rivals, 2, 2) == [-9.0, -1.0]


def test_finished_hypotheses_narrow_a_beam_that_shrinks() -> None:
    rivals = [candidate(-1.0 - n, level, n) for n, level in enumerate((1, 0, 1, 1))]
    assert len(kept(rivals, 3, 2, shrinking=True)) == 3
    assert len(kept(rivals, 3, 2)) == 4


@pytest.mark.parametrize("width", [1, 2, 3])
def test_finished_hypotheses_of_all_numbers_of_terms_share_a_beam(width: int) -> None:
    rivals = [candidate(-1.0 - level, level, EOS) for level in range(4)]
    assert kept(rivals, width, 4) == [-1.0, -2.0, -3.0][:width]
