"""What hypotheses are ranked by: log p, their length, and coverage."""

import math
from dataclasses import replace

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.errors import ModelError
from nmtkit.search.hypothesis import Hypothesis, coverage

PLAIN = SearchConfig(beam=6, length_penalty=0.6)
COVERING = SearchConfig(beam=6, length_penalty=0.6, coverage_penalty=0.4)


def test_coverage_penalises_words_with_less_than_1_of_attention():
    alignment = torch.tensor([[0.9, 0.1, 0.0, 0.0], [0.5, 0.1, 0.3, 0.1]])
    assert coverage(alignment) == pytest.approx(math.log(0.2) + math.log(0.3))
    assert coverage(torch.tensor([[0.5, 0.5], [0.5, 0.5]])) == 0
    assert coverage(torch.tensor([[1.0]])) == 0  # the source is only </s>


def test_an_unattended_word_has_a_finite_penalty():
    assert -100 < coverage(torch.tensor([[0.0, 1.0]])) < -80


def hypotheses(count, length, seed=1):
    """Return finished hypotheses of one length with random scores and alignments of 8 words."""
    generator = torch.Generator().manual_seed(seed)
    scores = (-10 * torch.rand(count, generator=generator)).tolist()
    alignments = (5 * torch.randn(count, length, 9, generator=generator)).softmax(-1)
    ids = [*range(3, length + 2), 0]
    return [
        Hypothesis(ids, score, [score / length] * length, True, alignment)
        for score, alignment in zip(scores, alignments, strict=True)
    ]


@pytest.mark.parametrize("length", [2, 5, 30])
def test_translations_of_one_length_rank_alike_with_any_length_penalty(length):
    """Both sums are on one scale: no exponent makes either outweigh the other."""
    some = hypotheses(40, length)
    orders = []
    for alpha in (0.0, 0.2, 1.0, 1.5):
        settings = SearchConfig(length_penalty=alpha, coverage_penalty=0.3)
        orders.append(sorted(range(40), key=lambda n: -some[n].ranking_score(settings)))
    assert orders[0] != sorted(range(40), key=lambda n: -some[n].score)
    assert orders == orders[:1] * 4


def test_without_length_penalty_the_formulas_are_the_same():
    for hypothesis in hypotheses(5, 4) + hypotheses(5, 9):
        both = [
            hypothesis.ranking_score(
                SearchConfig(length_penalty=0.0, penalty=penalty, coverage_penalty=0.2)
            )
            for penalty in ("power", "wu")
        ]
        assert both[0] == pytest.approx(both[1], rel=1e-12)


def test_ranking_without_the_penalty_needs_no_alignment():
    hypothesis = Hypothesis([2, 0], -3.0, [-1.0, -2.0], True)
    assert hypothesis.ranking_score(SearchConfig(length_penalty=0.0)) == -3.0
    with pytest.raises(ModelError, match="alignment"):
        hypothesis.ranking_score(COVERING)


@pytest.mark.parametrize("settings", [PLAIN, COVERING, replace(COVERING, penalty="wu")])
def test_credit_counts_as_log_probability_does(settings):
    for plain in hypotheses(5, 4):
        credited = replace(plain, score=plain.score - 1.5, credit=1.5)
        assert credited.ranking_score(settings) == pytest.approx(plain.ranking_score(settings))
