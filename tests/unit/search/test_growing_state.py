"""Laws of search for models whose state grows by one position a step.

Each holds for a refillable state, which uses padding, and for one that is not refillable.
"""

import itertools

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.sampling import sample
from nmtkit.special_symbols import EOS


def settings(**changes):
    return SearchConfig(**{"beam": 3, "max_length_ratio": 2.0, **changes})


def short_sources(count):
    random = torch.Generator().manual_seed(count)
    lengths = torch.randint(0, 7, (count,), generator=random).tolist()
    return [[*torch.randint(1, 50, (n,), generator=random).tolist(), 0] for n in lengths]


def encoded_batches(models, sources, size, lists=None):
    for start in range(0, len(sources), size):
        src, src_mask = pad(sources[start : start + size])
        encoded = [model.encode(src, src_mask) for model in models]
        candidates = None if lists is None else lists[start : start + size]
        yield EncodedBatch(encoded, src_mask.sum(1), candidates)


def assert_same_lists(actual, expected):
    for ours, theirs in zip(actual, expected, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs])


def assert_scores_are_those_of_teacher_forcing(model, sources, actual):
    for source, hypotheses in zip(sources, actual, strict=True):
        for h in hypotheses:
            scored = model.score(*pad([source]), *pad([h.ids]))
            assert h.word_scores == pytest.approx(scored.log_probs[0].tolist())
            assert h.alignment is not None
            torch.testing.assert_close(h.alignment, scored.alignment[0])


def test_a_beam_as_wide_as_the_language_finds_the_best_strings(growing_model):
    """Two words and `</s>`, at most ten steps: all 1,022 strings are enumerated."""
    model, source = growing_model(5, words=3, eos_bias=0.5), [4, 9, 0]
    [actual] = beam_search([model], *pad([source]), settings(beam=2048, length_penalty=0.0), 20)
    strings = [[*words, EOS] for n in range(1, 10) for words in itertools.product([1, 2], repeat=n)]
    scored = model.score(*pad([source] * len(strings)), *pad(strings)).log_probs.sum(1)
    best = scored.argsort(descending=True)[:20].tolist()
    assert [h.ids for h in actual] == [strings[i] for i in best]
    assert [h.score for h in actual] == pytest.approx(scored[best].tolist())


def test_a_beam_of_one_is_greedy(growing_model, sources):
    model = growing_model(1, words=5, eos_bias=1.0, scale=0.7)
    actual = beam_search([model], *pad(sources), settings(beam=1))
    for source, [hypothesis] in zip(sources, actual, strict=True):
        for position, word in enumerate(hypothesis.ids):
            prefixes = [[*hypothesis.ids[:position], other] for other in range(5)]
            scores = model.score(*pad([source] * 5), *pad(prefixes)).log_probs[:, position]
            if position == 0 and len(source) > 1:
                scores[EOS] = -torch.inf
            assert word == int(scores.argmax())


@pytest.mark.parametrize("beam_size", [1, 4])
def test_scores_and_alignments_are_those_of_teacher_forcing(growing_model, sources, beam_size):
    model = growing_model(11, words=8, eos_bias=1.0)
    actual = beam_search([model], *pad(sources), settings(beam=beam_size), beam_size, True)
    assert_scores_are_those_of_teacher_forcing(model, sources, actual)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("size", [1, 3, 30])
def test_sentences_are_translated_as_alone_in_any_batch(growing_model, beam_size, size):
    """With refilled rows, the sentences of a batch are at different positions."""
    model, sources = growing_model(3, words=9, eos_bias=1.0), short_sources(12)
    config = settings(beam=beam_size)
    actual = search_batches([model], encoded_batches([model], sources, size), config, beam_size)
    alone = [beam_search([model], *pad([s]), config, beam_size)[0] for s in sources]
    assert_same_lists(actual, alone)


def test_candidate_lists_stay_with_their_sentences(growing_model):
    model, sources = growing_model(4, words=12, eos_bias=1.0), short_sources(10)
    random = torch.Generator().manual_seed(1)
    others = [torch.randperm(10, generator=random)[:4].sort().values + 2 for _ in sources]
    lists = torch.stack([torch.cat([torch.tensor([0, 1]), words]) for words in others])
    together, alone = (
        search_batches([model], encoded_batches([model], sources, size, lists), settings(), 2)
        for size in (3, 1)
    )
    assert_same_lists(together, alone)
    for words, hypotheses in zip(lists.tolist(), together, strict=True):
        assert all(set(h.ids) <= set(words) for h in hypotheses)


@pytest.mark.parametrize("first", [True, False])
def test_an_ensemble_with_a_fixed_size_model_is_searched_as_alone(
    growing_model, prefix_model, first
):
    models = [growing_model(3, words=9, eos_bias=1.0), prefix_model(4, words=9, eos_bias=1.0)]
    models = models if first else models[::-1]
    sources = short_sources(12)
    actual = search_batches(models, encoded_batches(models, sources, 4), settings(), 3)
    alone = [beam_search(models, *pad([source]), settings(), 3)[0] for source in sources]
    assert_same_lists(actual, alone)


@pytest.mark.parametrize("ensemble", [False, True])
def test_rows_are_refilled_only_if_all_states_are_refillable(growing_model, prefix_model, ensemble):
    models = [growing_model(3, words=9, eos_bias=-2.0)]
    if ensemble:
        models.append(prefix_model(3, words=9, eos_bias=-2.0))
    batches = list(encoded_batches(models, [s for s in short_sources(60) if len(s) > 3][:20], 5))
    search_batches(models, batches, settings())
    together, models[0].steps = models[0].steps, 0
    for batch in batches:
        search_batches(models, [batch], settings())
    if growing_model.refillable:
        assert together < models[0].steps
    else:
        assert together == models[0].steps


def test_samples_are_the_same_in_any_batch_and_scored_by_teacher_forcing(growing_model, sources):
    model, seeds = growing_model(4, words=9), list(range(len(sources)))
    actual = sample([model], *pad(sources), settings(), 4, seeds, alignments=True)
    alone = [
        sample([model], *pad([source]), settings(), 4, [seed])[0]
        for source, seed in zip(sources, seeds, strict=True)
    ]
    assert_same_lists(actual, alone)
    assert_scores_are_those_of_teacher_forcing(model, sources, actual)
