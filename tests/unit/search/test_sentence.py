"""The search of one sentence against the search of many, which gets the same sentence twice."""

import itertools

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.errors import ModelError
from nmtkit.search import beam
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import search_batches
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging

SETTINGS = [
    {},
    {"beam": 1},
    {"beam": 12, "stop": "early"},
    {"beam_mode": "shrinking"},
    {"length_penalty": 1.0, "stop": "early"},
    {"length_penalty": 0.6, "penalty": "wu"},
    {"min_length_ratio": 0.9},
    {"min_length_ratio": 1.5, "max_length_ratio": 1.5},
    {"max_length_ratio": 0.1},
    {"forbid_unk": True},
    {"no_repeat_ngram": 1},
    {"no_repeat_ngram": 2, "beam_mode": "bounded"},
]


def batch_of(models, sentences, candidates=None):
    src, src_mask = pad(sentences)
    encoded = [model.encode(src, src_mask) for model in models]
    lists = None if candidates is None else torch.tensor([candidates] * len(sentences))
    return EncodedBatch(encoded, src_mask.sum(1), lists)


def assert_alone_equals_together(models, source, config, candidates=None, averaging=EQUAL_WEIGHTS):
    n_best = min(config.beam, 3)
    alone, together = (
        search_batches(models, [batch_of(models, some, candidates)], config, n_best, averaging)
        for some in ([source], [source] * 2)
    )
    for one, other in zip(alone[0], together[0], strict=True):
        assert (one.ids, one.finished, one.alignment) == (other.ids, other.finished, None)
        assert one.score == pytest.approx(other.score, rel=1e-12)
        assert one.word_scores == pytest.approx(other.word_scores, rel=1e-9, abs=1e-12)
        assert one.ranking_score(config) == pytest.approx(other.ranking_score(config))


@pytest.mark.parametrize("changes", SETTINGS, ids=str)
@pytest.mark.parametrize("eos_bias", [-2.0, 1.0])
def test_results_equal_those_of_the_batch(prefix_model, sources, changes, eos_bias):
    config = SearchConfig(**{"beam": 4, "max_length_ratio": 2.0, **changes})
    for seed, source in itertools.product((3, 5), sources):
        assert_alone_equals_together([prefix_model(seed, 12, eos_bias)], source, config)


@pytest.mark.parametrize("log_linear", [False, True])
@pytest.mark.parametrize("candidates", [None, [0, 1, 3, 4, 7, 9]], ids=["all words", "candidates"])
def test_ensembles_and_candidates(prefix_model, sources, log_linear, candidates):
    models = [prefix_model(seed, 12, 1.0) for seed in (3, 4)]
    averaging = ModelAveraging((0.7, 0.3), log_linear)
    for source in sources:
        config = SearchConfig(beam=4)
        assert_alone_equals_together(models, source, config, candidates, averaging)


def test_many_sentences_one_after_the_other_are_searched_together(prefix_model, monkeypatch):
    monkeypatch.setattr(beam, "search_sentence", None)
    model = prefix_model(3, 12, 1.0)
    batches = [batch_of([model], [[5, 0]]), batch_of([model], [[6, 7, 0]])]
    assert len(search_batches([model], iter(batches), SearchConfig(beam=2))) == 2


def test_equal_scores_are_ordered_by_hypothesis_then_token(prefix_model):
    model = prefix_model(3, 12)
    model.out[:, 7] = model.out[:, 4]  # two words of equal probability
    assert_alone_equals_together([model], [5, 6, 0], SearchConfig(beam=6))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_parameters_that_are_not_numbers_are_reported(prefix_model, value):
    model = prefix_model(3, 12)
    model.bias[4] = value
    with pytest.raises(ModelError, match="not numbers"):
        search_batches([model], [batch_of([model], [[5, 0]])], SearchConfig(beam=3))


def test_no_possible_word_is_reported(prefix_model):
    model = prefix_model(3, 12)
    batch = batch_of([model], [[5, 6, 0]], candidates=[0, 1])
    with pytest.raises(ModelError, match="every word is forbidden"):
        search_batches([model], [batch], SearchConfig(beam=3, forbid_unk=True))
