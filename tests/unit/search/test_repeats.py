"""Laws of n-grams that must not be repeated, in every kind of search."""

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.errors import ConfigError
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.constraints import ConstrainedSentence, Constraints
from nmtkit.search.forced_decoding import decode_forced
from nmtkit.search.forced_prefix import chain
from nmtkit.search.model_averaging import EQUAL_WEIGHTS
from nmtkit.search.next_token import scorer_of
from nmtkit.search.repeats import RepeatedNgrams
from nmtkit.search.sampling import SamplingConfig, sample, sample_batch
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.special_symbols import BOS
from tests.unit.search.conftest import PrefixModel
from tests.unit.search.prefix_probabilities import (
    BEAM_MODES,
    assert_same,
    has_repeats,
    repeats,
)
from tests.unit.search.test_beam import plain_beam_search

LOOPING = {"words": 5, "eos_bias": -4.0}
"""A model that repeats words up to the maximum length."""

TOKENS = st.lists(st.integers(1, 4), max_size=12)


def config_of(size, **changes):
    return SearchConfig(**{"beam": 3, "no_repeat_ngram": size, **changes})


def encode(models, sentences, **parts):
    src, mask = pad(sentences)
    return EncodedBatch([model.encode(src, mask) for model in models], mask.sum(1), **parts)


@given(st.lists(TOKENS, min_size=1, max_size=4), st.integers(1, 5), st.sets(st.integers(2, 4)))
def test_what_is_forbidden_is_what_a_look_at_each_ngram_forbids(hypotheses, size, repeatable):
    longest = max(map(len, hypotheses))
    padded = [[BOS] * (longest - len(one)) + one for one in hypotheses]
    found = RepeatedNgrams(size, sorted(repeatable), torch.tensor([padded]).long()).forbidden()
    expected = [
        {word for word in {1, 2, 3, 4} - repeatable if repeats(one, word, config_of(size))}
        for one in hypotheses
    ]
    actual = [set()] * len(hypotheses) if found is None else map(set, found[0].tolist())
    assert [words - {BOS} for words in actual] == expected


@given(st.lists(TOKENS, min_size=2, max_size=5), st.integers(1, 4), st.randoms())
def test_hypotheses_keep_their_tokens_on_the_way(sentences, size, chance):
    """Sentences grow, are replaced by newcomers and dropped; each has its own tokens."""

    def beginning():
        return RepeatedNgrams(size, (), torch.empty(1, 1, 0, dtype=torch.int64))

    known = RepeatedNgrams(size, (), torch.empty(len(sentences), 1, 0, dtype=torch.int64))
    tokens: list[list[list[int]]] = [[[]] for _ in sentences]  # of each slot of each row
    for word in itertools.chain(*sentences):
        slots = [[chance.randrange(len(row)) for _ in range(2)] for row in tokens]
        new = [[word, chance.randrange(1, 5)] for _ in tokens]
        known.advance(torch.tensor(new), torch.tensor(slots))
        tokens = [
            [[*row[slot], token] for slot, token in zip(*pair, strict=True)]
            for row, *pair in zip(tokens, slots, new, strict=True)
        ]
        if chance.random() < 0.3:
            row = chance.randrange(len(tokens))
            known.replace(torch.tensor([row]), beginning())
            tokens[row] = [[], []]
        if chance.random() < 0.1 and len(tokens) > 1:
            known.select(torch.arange(1, len(tokens)))
            tokens = tokens[1:]
        found = known.forbidden()
        for index, (row, slot) in enumerate(itertools.product(range(len(tokens)), range(2))):
            own = tokens[row][slot]
            expected = {t for t in range(1, 5) if repeats(own, t, config_of(size))}
            actual = set() if found is None else set(found.flatten(0, 1)[index].tolist())
            assert actual - {BOS} == expected


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(1, 5),
    beam=st.integers(1, 5),
    mode=st.sampled_from(BEAM_MODES),
    eos_bias=st.floats(-4, 2),
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
)
def test_search_equals_a_plain_search_that_looks_at_each_ngram(
    seed, size, beam, mode, eos_bias, lengths
):
    """Alone and in a batch; whatever the stop rule knows of hypotheses stays true."""
    chance = random.Random(seed)
    sources = [[*(chance.randrange(1, 50) for _ in range(length)), 0] for length in lengths]
    model: Any = PrefixModel(seed, 6, eos_bias)
    config = config_of(size, beam=beam, beam_mode=mode, stop="exact")
    n_best = min(beam, 2)
    together = beam_search([model], *pad(sources), config, n_best)
    for source, hypotheses in zip(sources, together, strict=True):
        assert_same(hypotheses, plain_beam_search([model], source, config, n_best))
        assert not any(has_repeats(one.ids, size) for one in hypotheses)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("beam", [1, 4])
def test_rows_are_refilled(prefix_model, sources, size, beam):
    model, config = prefix_model(3, **LOOPING), config_of(size, beam=beam)
    sentences = [source[:-1] + other for source in sources for other in sources[:3]]
    batches = [encode([model], sentences[start : start + 5]) for start in range(0, 24, 5)]
    for source, found in zip(sentences, search_batches([model], batches, config), strict=True):
        [alone] = search_batches([model], [encode([model], [source])], config)
        assert [h.ids for h in found] == [h.ids for h in alone]
        assert not has_repeats(found[0].ids, size)


def test_a_model_that_repeats_itself_does_so_without_the_rule(prefix_model, sources):
    found = beam_search([prefix_model(3, **LOOPING)], *pad(sources), config_of(0))
    assert all(has_repeats(h.ids, 2) for [h] in found)


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_ngrams_longer_than_translations_change_nothing(prefix_model, sources, beam_mode):
    model = prefix_model(3, words=9, eos_bias=1.0)
    plain = config_of(0, beam_mode=beam_mode)
    expected = beam_search([model], *pad(sources), plain, 3)
    longest = max(len(h.ids) for row in expected for h in row)
    for size in (longest, 10**30):
        found = beam_search([model], *pad(sources), replace(plain, no_repeat_ngram=size), 3)
        assert [[h.ids for h in row] for row in found] == [[h.ids for h in row] for row in expected]


@pytest.mark.parametrize("size", [1, 2])
def test_a_hypothesis_whose_words_are_all_forbidden_ends(prefix_model, sources, size):
    """Two words and `<unk>`: at most 3 tokens without a repeated one, and 10 without a pair."""
    model = prefix_model(0, words=4, eos_bias=-50.0)
    for [hypothesis] in beam_search([model], *pad(sources), config_of(size, max_length_ratio=20.0)):
        assert hypothesis.finished and not has_repeats(hypothesis.words, size)
        assert len(hypothesis.words) <= (3 if size == 1 else 10)


@pytest.mark.parametrize("candidates", [None, [0, 1, 3, 4, 7]])
@pytest.mark.parametrize("config", [SamplingConfig(), SamplingConfig(top_k=2)])
def test_samples_have_no_repeats(prefix_model, sources, candidates, config):
    models = [prefix_model(seed, words=8, eos_bias=-2.0) for seed in (1, 2)]
    lists = None if candidates is None else torch.tensor([candidates] * len(sources))
    batch = encode(models, sources, candidates=lists)
    seeds = range(len(sources))
    found = sample_batch(models, batch, config_of(2), 4, seeds, sampling=config)
    free = sample_batch(models, batch, config_of(0), 4, seeds, sampling=config)
    assert any(has_repeats(h.words, 2) for row in free for h in row)
    assert not any(has_repeats(h.words, 2) for row in found for h in row)
    for row, (source, samples) in enumerate(zip(sources, found, strict=True)):
        own = None if lists is None else lists[:1]
        one = encode(models, [source], candidates=own)
        [alone] = sample_batch(models, one, config_of(2), 4, [row], sampling=config)
        assert [h.ids for h in alone] == [h.ids for h in samples]


def test_samples_without_repeats_are_those_of_the_model(prefix_model, sources):
    model = prefix_model(4, words=9)
    [found] = sample([model], *pad(sources[:1]), config_of(50), 20, [3])
    [expected] = sample([model], *pad(sources[:1]), config_of(0), 20, [3])
    assert [h.ids for h in found] == [h.ids for h in expected]


@pytest.mark.parametrize("together", [1, 2])
def test_symbols_that_the_source_has_may_repeat(prefix_model, together):
    """The model writes nothing but one symbol, as a list of names would need it."""
    model = prefix_model(3, words=6, eos_bias=-50.0)
    model.bias[4] = 90.0
    for repeatable, is_free in (((), False), ((4,), True)):
        batch = encode([model], [[5, 6, 0]] * together, repeatable=repeatable)
        for [found] in search_batches([model], [batch], config_of(2)):
            assert (found.ids == [4] * 10) == is_free


def constrained(model, sources, constraints, config, n_best=1, **parts):
    batch = encode([model], sources, constraints=constraints, **parts)
    boundaries = WordBoundaries.none(7)
    return search_batches([model], [batch], config, n_best, boundaries=boundaries)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), size=st.integers(2, 4), beam=st.integers(1, 5))
def test_required_terms_win_and_nothing_else_repeats(seed, size, beam):
    """Each sentence needs the same term twice; only n-grams that end in a term may repeat."""
    chance = random.Random(seed)
    term = tuple(chance.randrange(2, 7) for _ in range(chance.randrange(1, 4)))
    constraint = Constraints(((term,), (term,)), ((0,), (1,)))
    sources = [[*(chance.randrange(1, 50) for _ in range(3)), 0] for _ in range(2)]
    model = PrefixModel(seed, 7, eos_bias=-1.0)
    found = constrained(model, sources, [constraint] * 2, config_of(size, beam=beam), beam)
    for hypothesis in itertools.chain(*found):
        words = hypothesis.words
        assert not ConstrainedSentence(constraint, WordBoundaries.none(7)).missing(words)
        for place, word in enumerate(words):
            if repeats(words[:place], word, config_of(size)):
                assert word in term


def test_a_prefix_is_kept_though_it_repeats_itself(prefix_model):
    model, prefix = prefix_model(3, words=7), (3, 4, 3, 4, 3, 4)
    constraints = [Constraints(prefix=chain(prefix)), Constraints()]
    first, second = constrained(model, [[5, 6, 8, 9, 0]] * 2, constraints, config_of(2))
    assert tuple(first[0].words[:6]) == prefix
    assert not any(
        repeats(first[0].words[:place], word, config_of(2))
        for place, word in enumerate(first[0].words)
        if place >= 6
    )
    assert not has_repeats(second[0].words, 2)


def test_a_beam_finds_repeats_of_what_was_given(prefix_model):
    model = prefix_model(3, **LOOPING)
    batch = encode([model], [[5, 6, 7, 0]])
    with torch.inference_mode():
        scorer = scorer_of([model.output_layer()], None, EQUAL_WEIGHTS)
        begun = decode_forced([model], batch, scorer, (2, 3, 4))
    free, ruled = (
        search_batches([model], [batch._replace(begun=begun)] * 2, config_of(size), 3)
        for size in (0, 1)
    )
    assert all(has_repeats(h.words, 1) for row in free for h in row)
    assert all(h.words[:3] == [2, 3, 4] for row in ruled for h in row)
    assert not any(has_repeats(h.words, 1) for row in ruled for h in row)


def test_a_negative_length_is_refused(prefix_model):
    with pytest.raises(ConfigError, match="n-grams that must not be repeated must be at least 0"):
        beam_search([prefix_model(0, words=5)], *pad([[5, 0]]), config_of(-1))
