"""The coverage penalty, against the equation with lists."""

import math

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.errors import ConfigError, ModelError
from nmtkit.search.beam import beam_search
from nmtkit.search.hypothesis import Hypothesis, coverage

PLAIN = SearchConfig(beam=6, length_penalty=0.6, penalty="wu")
COVERING = SearchConfig(beam=6, length_penalty=0.6, penalty="wu", coverage_penalty=0.4)


def slow_coverage(rows):
    """sum_j log min(sum_i alpha_ij, 1), the last source position left out."""
    looked = [sum(row[j] for row in rows) for j in range(len(rows[0]) - 1)]
    return sum(math.log(min(total, 1.0)) for total in looked)


def slow_rank(hypothesis, settings):
    divisor = ((5 + len(hypothesis.ids)) / 6) ** settings.length_penalty
    cp = slow_coverage(hypothesis.alignment.tolist())
    return hypothesis.score / divisor + settings.coverage_penalty * cp


def test_coverage_penalises_words_with_less_than_1_of_attention():
    alignment = torch.tensor([[0.9, 0.1, 0.0, 0.0], [0.5, 0.1, 0.3, 0.1]])
    assert coverage(alignment) == pytest.approx(math.log(0.2) + math.log(0.3))
    assert coverage(torch.tensor([[0.5, 0.5], [0.5, 0.5]])) == 0
    assert coverage(torch.tensor([[1.0]])) == 0  # the source is only </s>


def test_an_unattended_word_has_a_finite_penalty():
    assert -100 < coverage(torch.tensor([[0.0, 1.0]])) < -80


def test_the_beam_is_reranked_by_the_equation(prefix_model, sources):
    changed = 0
    for seed in range(6):
        model = prefix_model(seed, words=7, eos_bias=0.5)
        whole = beam_search([model], *pad(sources), PLAIN, n_best=6, alignments=True)
        actual = beam_search([model], *pad(sources), COVERING, n_best=2)
        for all_of_one, best in zip(whole, actual, strict=True):
            expected = sorted(all_of_one, key=lambda h: -slow_rank(h, COVERING))[:2]
            assert [h.ids for h in best] == [h.ids for h in expected]
            ranks = [h.ranking_score(COVERING) for h in best]
            assert ranks == pytest.approx([slow_rank(h, COVERING) for h in expected])
            changed += best[0].ids != all_of_one[0].ids
    assert changed > 0  # otherwise the test shows nothing


def test_ranking_without_the_penalty_needs_no_alignment():
    hypothesis = Hypothesis([2, 0], -3.0, [-1.0, -2.0], True)
    assert hypothesis.ranking_score(SearchConfig(length_penalty=0.0)) == -3.0
    with pytest.raises(ModelError, match="alignment"):
        hypothesis.ranking_score(COVERING)


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_penalty_out_of_range_is_refused(prefix_model, value):
    with pytest.raises(ConfigError, match="coverage penalty"):
        beam_search([prefix_model(1, 5)], *pad([[3, 0]]), SearchConfig(coverage_penalty=value))
