"""Laws of beam search, on a random model whose every step depends on the whole prefix."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.errors import ModelError
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.beam_history import score_dtype
from nmtkit.search.model_averaging import EQUAL_WEIGHTS, ModelAveraging
from nmtkit.special_symbols import EOS, UNK
from tests.unit.search.prefix_probabilities import (
    BEAM_MODES,
    TeacherForcing,
    assert_same,
    repeats,
)


def settings(**changes):
    return SearchConfig(**{"beam": 3, "stop": "exact", "max_length_ratio": 3.0, **changes})


def limit_of(source, ratio):
    return max(10, int(len(source) * ratio))


def plain_beam_search(models, source, config, n_best, averaging=EQUAL_WEIGHTS):
    """Search one sentence with plain lists, without early stopping except by the beam mode."""
    forced = TeacherForcing(models, source, averaging)
    active: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[tuple[list[int], float]] = []
    width = config.beam
    for step in range(1, limit_of(source, config.max_length_ratio) + 1):
        expansions = []
        for prefix, score in active:
            values = forced.log_probs(prefix).tolist()
            for word, value in enumerate(values):
                short = step < 2 or step <= len(source) * config.min_length_ratio
                early = word == EOS and short and len(source) > 1
                forbidden = word == UNK and config.forbid_unk
                if not early and not forbidden and not repeats(prefix, word, config):
                    expansions.append(([*prefix, word], score + value))
        expansions.sort(key=lambda pair: -pair[1])
        ending = [pair for pair in expansions[:width] if pair[0][-1] == EOS]
        finished += ending
        if config.beam_mode == "shrinking" or config.beam == 1:
            width -= len(ending)
        active = [pair for pair in expansions if pair[0][-1] != EOS][:width]
        if not active:
            break
    return sorted(finished or active, key=lambda pair: -ranking_score(pair, config))[:n_best]


def ranking_score(pair, config):
    """Return the score that ranks a hypothesis."""
    length = (5 + len(pair[0])) / 6 if config.penalty == "wu" else len(pair[0])
    return pair[1] / length**config.length_penalty


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("penalty", [0.0, 0.8])
@pytest.mark.parametrize("eos_bias", [-2.0, 2.0])
def test_equals_a_plain_beam_search_with_lists(
    prefix_model, sources, beam_mode, beam, penalty, eos_bias
):
    config = settings(beam_mode=beam_mode, beam=beam, length_penalty=penalty)
    model = prefix_model(beam, words=7, eos_bias=eos_bias)
    n_best = min(beam, 3)
    actual = beam_search([model], *pad(sources), config, n_best)
    for source, hypotheses in zip(sources, actual, strict=True):
        assert_same(hypotheses, plain_beam_search([model], source, config, n_best))


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize(
    "changes",
    [
        {"penalty": "wu", "length_penalty": 0.6},
        {"min_length_ratio": 0.8},
        {"min_length_ratio": 0.5},
    ],
)
def test_other_penalties_and_minimum_lengths_equal_the_plain_search(
    prefix_model, sources, beam_mode, beam, changes
):
    config = settings(beam_mode=beam_mode, beam=beam, **changes)
    model = prefix_model(beam, words=7, eos_bias=2.0)
    actual = beam_search([model], *pad(sources), config, n_best=beam)
    for source, hypotheses in zip(sources, actual, strict=True):
        assert_same(hypotheses, plain_beam_search([model], source, config, beam))
        for h in hypotheses:
            assert h.ranking_score(config) == pytest.approx(ranking_score((h.ids, h.score), config))
            if len(source) > 1:
                assert len(h.ids) > len(source) * config.min_length_ratio


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_ensembles_without_unk_equal_the_plain_search(prefix_model, sources, beam_mode):
    config = settings(beam_mode=beam_mode, forbid_unk=True)
    models = [prefix_model(seed, words=6, eos_bias=seed) for seed in range(3)]
    actual = beam_search(models, *pad(sources), config, n_best=3)
    for source, hypotheses in zip(sources, actual, strict=True):
        assert all(UNK not in h.ids for h in hypotheses)
        assert_same(hypotheses, plain_beam_search(models, source, config, 3))


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(
    "averaging", [ModelAveraging((1.0, 2.0, 0.5)), ModelAveraging((3.0, 1.0, 1.0), True)]
)
def test_weighted_ensembles_equal_the_plain_search(prefix_model, sources, averaging, listed):
    config = settings()
    models = [prefix_model(seed, words=6, eos_bias=seed) for seed in range(3)]
    src, src_mask = pad(sources)
    lists = torch.arange(6).expand(len(sources), -1) if listed else None
    batch = EncodedBatch([model.encode(src, src_mask) for model in models], src_mask.sum(1), lists)
    actual = search_batches(models, [batch], config, 3, averaging)
    for source, hypotheses in zip(sources, actual, strict=True):
        assert_same(hypotheses, plain_beam_search(models, source, config, 3, averaging))


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("seed", range(4))
def test_beam_of_one_is_greedy(prefix_model, sources, beam_mode, seed):
    model = prefix_model(seed, words=5, eos_bias=1.0, scale=0.7)
    actual = beam_search([model], *pad(sources), settings(beam=1, beam_mode=beam_mode))
    for source, [hypothesis] in zip(sources, actual, strict=True):
        prefix: list[int] = []
        forced = TeacherForcing([model], source)
        while EOS not in prefix and len(prefix) < limit_of(source, 3.0):
            values = forced.log_probs(prefix)
            if not prefix and len(source) > 1:
                values[EOS] = -torch.inf
            prefix.append(int(values.argmax()))
        assert hypothesis.ids == prefix
        assert hypothesis.finished == (prefix[-1] == EOS)


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("eos_bias", [-1.0, 1.0])
def test_beam_as_wide_as_the_language_finds_the_best_strings(
    prefix_model, beam_mode, penalty, eos_bias
):
    """Two words and `</s>`, at most ten steps: all 1,022 strings are enumerated."""
    model = prefix_model(5, words=3, eos_bias=eos_bias)
    source = [4, 9, 0]
    config = settings(beam=2048, beam_mode=beam_mode, length_penalty=penalty)
    [actual] = beam_search([model], *pad([source]), config, n_best=20)
    strings = [[*words, EOS] for n in range(1, 10) for words in itertools.product([1, 2], repeat=n)]
    assert len(strings) == 1022
    src, src_mask = pad([source] * len(strings))
    scores = model.score(src, src_mask, *pad(strings)).log_probs.sum(1).tolist()
    ranked = sorted(
        zip(strings, scores, strict=True), key=lambda pair: -pair[1] / len(pair[0]) ** penalty
    )
    assert_same(actual, ranked[:20])


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_translations_do_not_depend_on_the_batch(prefix_model, sources, beam_mode):
    model = prefix_model(3, words=12, eos_bias=1.0)
    config = settings(beam=4, beam_mode=beam_mode)
    alone = [beam_search([model], *pad([s]), config, 4, alignments=True)[0] for s in sources]
    for order in ([0, 1, 2, 3, 4, 5, 6, 7], [7, 3, 5, 1, 0, 2, 4, 6]):
        batch = [sources[i] for i in order]
        together = beam_search([model], *pad(batch), config, 4, alignments=True)
        for i, actual in zip(order, together, strict=True):
            assert [h.ids for h in actual] == [h.ids for h in alone[i]]
            for one, other in zip(actual, alone[i], strict=True):
                assert one.score == pytest.approx(other.score)
                assert one.alignment is not None and other.alignment is not None
                assert torch.allclose(one.alignment, other.alignment)


class NoFloat64(TorchDispatchMode):
    """Refuses float64, as a Mac's GPU does."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        assert not isinstance(result, torch.Tensor) or result.dtype != torch.float64, function
        return result


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_search_works_on_a_device_without_float64(sources, beam_mode, monkeypatch):
    torch.manual_seed(1)
    model, config = (
        RNNsearch(RNNsearchConfig(4, 4, 4, 4), 50, 12),
        settings(beam=4, beam_mode=beam_mode),
    )
    expected = beam_search([model], *pad(sources), config, 2)
    for module in ("beam_step", "beam_history"):
        monkeypatch.setattr(f"nmtkit.search.{module}.score_dtype", lambda device: torch.float32)
    with NoFloat64():
        found = beam_search([model], *pad(sources), config, 2)
    scores = [[h.score / len(h.ids) for best in lists for h in best] for lists in (found, expected)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-4)
    assert score_dtype(torch.device("mps")) == torch.float32


def test_no_sentences_have_no_translations(prefix_model):
    assert search_batches([prefix_model(3, words=9)], [], settings()) == []


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("beam", [1, 4])
def test_scores_and_alignments_are_those_of_teacher_forcing(prefix_model, sources, beam_mode, beam):
    model = prefix_model(11, words=8, eos_bias=1.0)
    actual = beam_search(
        [model], *pad(sources), settings(beam=beam, beam_mode=beam_mode), beam, True
    )
    for source, hypotheses in zip(sources, actual, strict=True):
        for h in hypotheses:
            scored = model.score(*pad([source]), *pad([h.ids]))
            assert h.word_scores == pytest.approx(scored.log_probs[0].tolist())
            assert sum(h.word_scores) == pytest.approx(h.score)
            assert h.alignment is not None
            assert h.alignment.shape == (len(h.ids), len(source))
            assert torch.allclose(h.alignment, scored.alignment[0])


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_n_best_lists_are_sorted_without_duplicates_or_empty_lines(
    prefix_model, sources, beam_mode
):
    for seed in range(5):
        model = prefix_model(seed, words=5, eos_bias=4.0)
        actual = beam_search([model], *pad(sources), settings(beam=6, beam_mode=beam_mode), 6)
        for source, hypotheses in zip(sources, actual, strict=True):
            ids = [tuple(h.ids) for h in hypotheses]
            assert 1 <= len(ids) == len(set(ids)) <= 6
            ranking = [h.ranking_score(settings()) for h in hypotheses]
            assert ranking == sorted(ranking, reverse=True)
            assert all(h.words for h in hypotheses) or len(source) == 1


def test_an_empty_source_may_have_an_empty_translation(prefix_model):
    model = prefix_model(0, words=5, eos_bias=50.0)
    [empty], [full] = beam_search([model], *pad([[0], [5, 0]]), settings(beam=1))
    assert empty.ids == [EOS] and empty.words == []
    assert full.ids[-1] == EOS and len(full.words) == 1


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_unfinished_hypotheses_are_returned_at_the_sentences_own_limit(prefix_model, beam_mode):
    model = prefix_model(0, words=5, eos_bias=-100.0)
    config = settings(beam_mode=beam_mode, max_length_ratio=2.0)
    actual = beam_search([model], *pad([[5, 0], [*range(1, 12), 0]]), config, n_best=2)
    assert [[len(h.ids) for h in hypotheses] for hypotheses in actual] == [[10, 10], [24, 24]]
    for hypothesis in itertools.chain(*actual):
        assert not hypothesis.finished and EOS not in hypothesis.ids
        assert hypothesis.words == hypothesis.ids


def test_search_ends_when_the_n_best_list_is_final(prefix_model):
    """Every word but `</s>` costs at least 5 nats: later hypotheses cannot become the best."""
    model = prefix_model(0, words=5, eos_bias=100.0)
    beam_search([model], *pad([list(range(1, 40)) + [0]]), settings(beam=5, length_penalty=0.0))
    assert model.steps == 2


class Broken:
    """A model whose readouts become `value` after some steps."""

    def __init__(self, model, value, after):
        self.model, self.value, self.left = model, value, after

    def encode(self, src, src_mask):
        return self.model.encode(src, src_mask)

    def initial_state(self, encoded):
        return self.model.initial_state(encoded)

    def output_layer(self):
        return self.model.output_layer()

    def step(self, prev, state, encoded):
        step = self.model.step(prev, state, encoded)
        self.left -= 1
        if self.left < 0:
            return step._replace(readout=torch.full_like(step.readout, self.value))
        return step


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_invalid_log_probabilities_are_an_error(prefix_model, sources, value, after, beam_mode):
    model: Any = Broken(prefix_model(0, words=5, eos_bias=-9.0), value, after)
    with pytest.raises(ModelError, match="not numbers"):
        beam_search([model], *pad(sources), settings(beam_mode=beam_mode))


def test_a_model_without_a_possible_token_is_an_error(prefix_model):
    with pytest.raises(ModelError, match="probability 0"):
        beam_search([prefix_model(0, words=2)], *pad([[5, 0]]), settings(forbid_unk=True))


def test_a_missing_alignment_is_an_error(prefix_model):
    class Unaligned(Broken):
        def step(self, prev, state, encoded):
            return super().step(prev, state, encoded)._replace(alignment=None)

    model: Any = Unaligned(prefix_model(0, words=5), 0.0, 99)
    assert beam_search([model], *pad([[5, 0]]), settings())[0][0].alignment is None
    with pytest.raises(ModelError, match="no alignment"):
        beam_search([model], *pad([[5, 0]]), settings(), alignments=True)
