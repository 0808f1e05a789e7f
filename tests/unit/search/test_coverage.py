"""The coverage penalty, against the equation with lists."""

import math
from dataclasses import replace

import pytest

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.errors import ConfigError
from nmtkit.search.beam import beam_search

PLAIN = SearchConfig(beam=6, length_penalty=0.6)
COVERING = SearchConfig(beam=6, length_penalty=0.6, coverage_penalty=0.4)


def slow_coverage(rows):
    """sum_j log min(sum_i alpha_ij, 1), the last source position left out."""
    looked = [sum(row[j] for row in rows) for j in range(len(rows[0]) - 1)]
    return sum(math.log(min(total, 1.0)) for total in looked)


def slow_rank(hypothesis, settings):
    """Eq. (14) of Wu et al. 2016; with "power", both sums divided by a power of the length."""
    length, cp = len(hypothesis.ids), slow_coverage(hypothesis.alignment.tolist())
    alpha, beta = settings.length_penalty, settings.coverage_penalty
    if settings.penalty == "wu":
        return hypothesis.score / ((5 + length) ** alpha / (5 + 1) ** alpha) + beta * cp
    return (hypothesis.score + beta * cp) / length**alpha


@pytest.mark.parametrize("penalty", ["power", "wu"])
def test_the_beam_is_reranked_by_the_equation(prefix_model, sources, penalty):
    plain, covering = (replace(settings, penalty=penalty) for settings in (PLAIN, COVERING))
    changed = 0
    for seed in range(6):
        model = prefix_model(seed, words=7, eos_bias=0.5)
        whole = beam_search([model], *pad(sources), plain, n_best=6, alignments=True)
        actual = beam_search([model], *pad(sources), covering, n_best=2)
        for all_of_one, best in zip(whole, actual, strict=True):
            expected = sorted(all_of_one, key=lambda h: -slow_rank(h, covering))[:2]
            assert [h.ids for h in best] == [h.ids for h in expected]
            ranks = [h.ranking_score(covering) for h in best]
            assert ranks == pytest.approx([slow_rank(h, covering) for h in expected])
            changed += best[0].ids != all_of_one[0].ids
    assert changed > 0  # otherwise the test shows nothing


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_penalty_out_of_range_is_refused(prefix_model, value):
    with pytest.raises(ConfigError, match="coverage penalty"):
        beam_search([prefix_model(1, 5)], *pad([[3, 0]]), SearchConfig(coverage_penalty=value))
