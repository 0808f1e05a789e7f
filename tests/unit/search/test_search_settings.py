"""Settings of a search: what is refused, and lengths that follow from them."""

import math

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.errors import ConfigError
from nmtkit.search.beam import beam_search
from nmtkit.search.search_settings import mask_tokens, reachable_length, reachable_lengths

STEPS, SRC_LENGTHS, LIMITS = (
    torch.tensor(values)
    for values in ([1, 4, 9, 25, 100, 100], [20, 9, 3, 20, 90, 90], [60, 27, 10, 60, 101, 270])
)


def settings(**changes):
    return SearchConfig(**{"beam": 3, "stop": "exact", "max_length_ratio": 3.0, **changes})


def limit_of(source, ratio):
    return max(10, int(len(source) * ratio))


@pytest.mark.parametrize("length", range(1, 12))
def test_the_shortest_translation_is_that_of_the_authors_search(length):
    """GroundHog's `sample()` forbids `</s>` in the first len(seq) / 2 steps, rounded down."""
    config = settings(min_length_ratio=0.5)
    for words in range(20):
        expected = length > 1 and words < max(1, length // 2)
        mask = mask_tokens(torch.tensor([words]), torch.zeros(1, 3), torch.tensor([length]), config)
        assert mask.eos.tolist() == [[expected] * 3]


@pytest.mark.parametrize("length", [4, 10, 13])
def test_a_translation_can_end_at_its_maximum_length(length):
    config = settings(min_length_ratio=1.0, max_length_ratio=1.0)
    last = torch.tensor([limit_of([5] * length, 1.0) - 1])
    assert not mask_tokens(last, torch.zeros(1, 3), torch.tensor([length]), config).eos.any()


@pytest.mark.parametrize(
    ("changes", "n_best", "message"),
    [
        ({"beam": 0}, 1, "beam must be from 1 to 10,000"),
        ({"beam": 2}, 3, "beam of 2"),
        ({}, 0, "at least 1"),
        ({"length_penalty": -1.0}, 1, "length penalty"),
        ({"length_penalty": math.nan}, 1, "length penalty"),
        ({"length_penalty": 1e308}, 1, "length penalty must be from 0 to 10, not 1e"),
        ({"max_length_ratio": 0.0}, 1, "length ratio"),
        ({"min_length_ratio": -0.1}, 1, "minimum length ratio"),
        ({"min_length_ratio": 3.1}, 1, "minimum length ratio"),
    ],
)
def test_settings_out_of_range_are_refused(prefix_model, changes, n_best, message):
    with pytest.raises(ConfigError, match=message):
        beam_search([prefix_model(0, words=5)], *pad([[5, 0]]), settings(**changes), n_best)


def test_early_stop_is_never_later_than_exact_and_grows_with_every_step():
    early, exact = (
        reachable_lengths(STEPS, LIMITS, SRC_LENGTHS, SearchConfig(stop=stop)).double()
        for stop in ("early", "exact")
    )
    assert exact.tolist() == LIMITS.tolist()
    assert (early <= exact).all() and (early >= torch.minimum(STEPS + 1, LIMITS)).all()
    assert (early >= torch.minimum(SRC_LENGTHS, LIMITS)).all()


@pytest.mark.parametrize("stop", ["early", "exact"])
def test_one_sentence_may_grow_as_long_as_among_others(stop):
    config = SearchConfig(stop=stop)
    together = reachable_lengths(STEPS, LIMITS, SRC_LENGTHS, config).tolist()
    sentences = zip(STEPS.tolist(), LIMITS.tolist(), SRC_LENGTHS.tolist(), strict=True)
    assert [reachable_length(*one, config) for one in sentences] == pytest.approx(together)
