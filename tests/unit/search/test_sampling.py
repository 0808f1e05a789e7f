"""Laws of sampling: frequencies are probabilities, and samples depend on the seed only."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.errors import ConfigError, ModelError
from nmtkit.models.base import log_probs
from nmtkit.search import sampling as driver
from nmtkit.search.batch_queue import EncodedBatch, source_lengths
from nmtkit.search.beam import beam_search
from nmtkit.search.sampling import SamplingConfig, draw, sample, sample_batch
from nmtkit.search.search_settings import min_lengths
from nmtkit.special_symbols import EOS, UNK

SETTINGS = SearchConfig()


def test_frequencies_are_the_models_probabilities(prefix_model):
    """10,000 samples: every string of one or two words is within 4 standard deviations."""
    model, source, n = prefix_model(2, words=3, eos_bias=1.0, scale=0.7), [5, 8, 0], 10_000
    [samples] = sample([model], *pad([source]), SETTINGS, n, seeds=[1])
    strings = [[*words, EOS] for k in (1, 2) for words in itertools.product([1, 2], repeat=k)]
    scored = model.score(*pad([source] * len(strings)), *pad(strings)).log_probs
    encoded = model.encode(*pad([source]))
    step = model.step(torch.tensor([[-1]]), model.initial_state(encoded), encoded)
    first = log_probs(model.output_layer(), step.readout)
    not_empty = 1 - float(first[0, 0, EOS].exp())
    for string, log_prob in zip(strings, scored.sum(1).tolist(), strict=True):
        p = math.exp(log_prob) / not_empty
        seen = sum(h.ids == string for h in samples) / n
        assert abs(seen - p) < 4 * math.sqrt(p * (1 - p) / n)


def test_a_sentence_has_the_same_samples_in_any_batch(prefix_model, sources):
    model = prefix_model(4, words=9)
    seeds = list(range(100, 100 + len(sources)))
    together = sample([model], *pad(sources), SETTINGS, 5, seeds)
    backwards = sample([model], *pad(sources[::-1]), SETTINGS, 5, seeds[::-1])[::-1]
    for source, seed, one, other in zip(sources, seeds, together, backwards, strict=True):
        [alone] = sample([model], *pad([source]), SETTINGS, 5, [seed])
        assert [h.ids for h in one] == [h.ids for h in other] == [h.ids for h in alone]


def test_another_seed_gives_other_samples(prefix_model, sources):
    model = prefix_model(4, words=9)
    drawn = [sample([model], *pad([sources[3]]), SETTINGS, 5, [seed])[0] for seed in (1, 1, 2)]
    assert [h.ids for h in drawn[0]] == [h.ids for h in drawn[1]] != [h.ids for h in drawn[2]]


def test_what_is_kept_of_each_step_is_that_of_its_tokens_alone(prefix_model, sources, monkeypatch):
    """With 1,000 samples of a sentence, random numbers of all steps would take gigabytes."""
    kept, collect = [], driver._hypotheses

    def keep(drawn, sentences):
        kept.extend(drawn)
        return collect(drawn, sentences)

    monkeypatch.setattr(driver, "_hypotheses", keep)
    sample([prefix_model(4, words=9)], *pad(sources), SETTINGS, 5, range(len(sources)))
    assert len(kept) > 10
    sizes = [value.untyped_storage().nbytes() for samples, _ in kept for value in samples]
    assert max(sizes) <= len(sources) * 5 * 8


def test_scores_are_those_of_teacher_forcing(prefix_model, sources):
    models = [prefix_model(seed, words=7) for seed in (1, 2)]
    for source, samples in zip(
        sources, sample(models, *pad(sources), SETTINGS, 4, range(8)), strict=True
    ):
        for h in samples:
            each = [m.score(*pad([source]), *pad([h.ids])).log_probs[0] for m in models]
            mean = torch.stack(each).exp().mean(0).log()
            assert h.word_scores == pytest.approx(mean.tolist())
            assert h.score == pytest.approx(sum(h.word_scores))


def test_alignments_are_those_of_teacher_forcing(prefix_model, sources):
    model = prefix_model(3, words=7)
    actual = sample([model], *pad(sources), SETTINGS, 3, range(8), alignments=True)
    for source, samples in zip(sources, actual, strict=True):
        for h in samples:
            expected = model.score(*pad([source]), *pad([h.ids])).alignment[0]
            assert h.alignment is not None
            assert torch.allclose(h.alignment, expected)


def test_limits_depend_on_the_sentence_only(prefix_model):
    model = prefix_model(0, words=5, eos_bias=-100.0)
    settings = SearchConfig(max_length_ratio=2.0, forbid_unk=True)
    actual = sample([model], *pad([[5, 0], [*range(1, 12), 0]]), settings, 3, [1, 2])
    assert [[len(h.ids) for h in samples] for samples in actual] == [[10] * 3, [24] * 3]
    assert not any(h.finished or UNK in h.ids for h in itertools.chain(*actual))


def test_only_an_empty_source_has_an_empty_sample(prefix_model):
    model = prefix_model(0, words=5, eos_bias=50.0)
    [empty], [full] = sample([model], *pad([[0], [5, 0]]), SETTINGS, 1, [1, 2])
    assert empty.ids == [EOS]
    assert len(full.ids) == 2 and full.finished


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 2.0])
def test_samples_are_as_long_as_search_requires(prefix_model, sources, ratio):
    """A model that always prefers to end gives the shortest translations that search may give."""
    model = prefix_model(0, words=5, eos_bias=200.0)
    settings = SearchConfig(min_length_ratio=ratio)
    lengths = torch.tensor([len(source) for source in sources])
    expected = min_lengths(lengths, settings).tolist()
    drawn = sample([model], *pad(sources), settings, 4, range(8))
    assert [[len(h.ids) for h in samples] for samples in drawn] == [[n] * 4 for n in expected]
    assert all(h.finished for h in itertools.chain(*drawn))


def test_a_minimum_length_leaves_the_order_of_probabilities(prefix_model):
    """Strings of at least two words keep their proportions; each position is renormalised."""
    model, source, n = prefix_model(2, words=3, eos_bias=1.0, scale=0.7), [5, 8, 0], 10_000
    settings = SearchConfig(min_length_ratio=0.7)  # two words and </s>
    [samples] = sample([model], *pad([source]), settings, n, seeds=[1])
    encoded = model.encode(*pad([source]))
    for first in (1, 2):
        state = model.step(torch.tensor([[-1]]), model.initial_state(encoded), encoded).state
        step = model.step(torch.tensor([[first]]), state, encoded)
        p = log_probs(model.output_layer(), step.readout)[0, 0].exp()
        begun = [h.ids[1] for h in samples if h.ids[0] == first]
        share = float(p[1] / (p[1] + p[2]))
        assert EOS not in begun and len(begun) > 1_000
        error = 4 * math.sqrt(share * (1 - share) / len(begun))
        assert abs(begun.count(1) / len(begun) - share) < error


def test_a_word_without_probability_is_never_drawn():
    shares = torch.tensor([[[0.0, 0.5, 0.0, 0.5]] * 4], dtype=torch.float64)
    uniform = torch.tensor([[0.0, 0.4999999, 0.5, 0.9999999]], dtype=torch.float64)
    assert draw(shares.log(), uniform).tolist() == [[1, 1, 3, 3]]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_invalid_distribution_is_an_error(value):
    with pytest.raises(ModelError, match="not numbers"):
        draw(torch.full((1, 2, 3), value), torch.zeros(1, 2))


def test_zero_samples_are_refused(prefix_model):
    with pytest.raises(ConfigError, match="at least 1"):
        sample([prefix_model(0, words=3)], *pad([[5, 0]]), SETTINGS, 0, [1])


LOG_PROBS = arrays(
    np.float32,
    st.tuples(st.integers(1, 3), st.integers(1, 9)),
    elements=st.floats(-30, 0, width=32),
)


@given(LOG_PROBS, st.floats(0.01, 10))
def test_a_temperature_is_a_power_of_the_probabilities(log_probs, temperature):
    reshaped = SamplingConfig(temperature).reshape(torch.tensor(log_probs)).exp().numpy()
    powers = np.exp((log_probs.astype(float) - log_probs.max(1, keepdims=True)) / temperature)
    assert reshaped / reshaped.sum(1, keepdims=True) == pytest.approx(
        powers / powers.sum(1, keepdims=True), abs=1e-6
    )


@given(LOG_PROBS, st.integers(1, 10))
def test_top_k_leaves_the_most_probable_tokens(log_probs, k):
    reshaped = SamplingConfig(top_k=k).reshape(torch.tensor(log_probs))
    for row, left in zip(log_probs, reshaped.isfinite().tolist(), strict=True):
        least = sorted(row, reverse=True)[min(k, len(row)) - 1]
        assert left == [bool(value >= least) for value in row]


@given(LOG_PROBS, st.floats(0.01, 0.99))
def test_top_p_leaves_the_fewest_tokens_with_this_share(log_probs, share):
    """Without the least probable one they have less; up to rounding where sums are that share."""
    reshaped = SamplingConfig(top_p=share).reshape(torch.tensor(log_probs))
    for row, left in zip(log_probs, reshaped.isfinite().tolist(), strict=True):
        p = np.exp(row.astype(float))
        p /= p.sum()
        kept = p[left]
        assert kept.sum() >= share - 1e-6
        assert kept.sum() - kept.min() < share + 1e-6
        assert all(p[~np.array(left)] <= kept.min())


def test_forbidden_tokens_stay_forbidden():
    log_probs = torch.tensor([[-1.0, -math.inf, -2.0]])
    for sampling in (SamplingConfig(0.5), SamplingConfig(top_k=3), SamplingConfig(1, 2, 0.99)):
        assert sampling.reshape(log_probs)[0, 1] == -math.inf


@pytest.mark.parametrize("sampling", [SamplingConfig(top_k=1), SamplingConfig(1e-6, 0, 1e-9)])
def test_the_most_probable_token_alone_is_what_a_beam_of_1_finds(prefix_model, sources, sampling):
    """Scores are the model's in both."""
    model = prefix_model(3, words=9)
    settings = dataclasses.replace(SETTINGS, beam=1)
    batch = EncodedBatch([model.encode(*pad(sources))], source_lengths(*pad(sources)))
    drawn = sample_batch([model], batch, settings, 2, range(len(sources)), sampling=sampling)
    found = beam_search([model], *pad(sources), settings)
    for samples, [best] in zip(drawn, found, strict=True):
        assert [h.ids for h in samples] == [best.ids] * 2
        assert samples[0].score == pytest.approx(best.score)


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (SamplingConfig(0.0), "temperature must be above 0"),
        (SamplingConfig(math.nan), "temperature must be above 0"),
        (SamplingConfig(top_k=-1), "top-k must be at least 0"),
        (SamplingConfig(top_p=0.0), "top-p must be above 0"),
        (SamplingConfig(top_p=1.5), "top-p must be above 0 and at most 1"),
    ],
)
def test_impossible_distributions_are_refused(sampling, message):
    with pytest.raises(ConfigError, match=message):
        sampling.check()
