"""Laws of candidate lists: the softmax is over the list, and lists are independent."""

import functools
from typing import Any

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.models.base import OutputLayer
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.candidates import PADDING, CandidateScorer
from nmtkit.search.sampling import sample_batch
from nmtkit.special_symbols import UNK
from tests.unit.search.conftest import SIZE

WORDS = 30


def encode_batch(models, sentences, lists):
    src, src_mask = pad(sentences)
    return EncodedBatch([model.encode(src, src_mask) for model in models], src_mask.sum(1), lists)


def padded(lists):
    rows = [torch.tensor(sentence) for sentence in lists]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)


def random_lists(count, seed=5):
    """Return lists of `</s>`, `<unk>` and 1 to 14 other words in ascending order."""
    random = torch.Generator().manual_seed(seed)
    result = []
    for number in range(count):
        others = 2 + torch.randperm(WORDS - 2, generator=random)[: 1 + number % 14]
        result.append([0, 1, *sorted(others.tolist())])
    return result


class Cut:
    """A model whose vocabulary is restricted to some words."""

    def __init__(self, model, words):
        self.model, self.words = model, torch.tensor(words)
        self.encode, self.initial_state = model.encode, model.initial_state

    def output_layer(self):
        layer = self.model.output_layer()
        return OutputLayer(layer.W[self.words], layer.bias[self.words])

    def step(self, prev, state, encoded):
        prev = torch.where(prev < 0, prev, self.words[prev.clamp(min=0)])
        return self.model.step(prev, state, encoded)


@pytest.fixture
def models(prefix_model):
    return [prefix_model(seed, words=WORDS, eos_bias=1.0) for seed in (3, 4)]


@pytest.mark.parametrize("rule", ["shrinking", "bounded"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("changes", [{}, {"forbid_unk": True}, {"no_repeat_ngram": 2}], ids=str)
def test_candidates_give_the_scores_of_a_model_with_only_these_words(
    models, sources, rule, count, changes
):
    config = SearchConfig(beam=4, beam_mode=rule, **changes)
    lists = random_lists(len(sources))
    actual = search_batches(
        models[:count], [encode_batch(models[:count], sources, padded(lists))], config, 3
    )
    for source, words, hypotheses in zip(sources, lists, actual, strict=True):
        cut: list[Any] = [Cut(model, words) for model in models[:count]]
        [expected] = beam_search(cut, *pad([source]), config, 3)
        assert [h.ids for h in hypotheses] == [[words[i] for i in h.ids] for h in expected]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in expected])


def test_the_whole_vocabulary_as_candidates_changes_nothing(models, sources):
    config = SearchConfig(beam=4)
    lists = torch.arange(WORDS).expand(len(sources), -1)
    actual = search_batches(models, [encode_batch(models, sources, lists)], config, 4)
    for hypotheses, expected in zip(
        actual, beam_search(models, *pad(sources), config, 4), strict=True
    ):
        assert [h.ids for h in hypotheses] == [h.ids for h in expected]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in expected])


@functools.cache
def searched_alone(prefix_model, sentences, config):
    """Search each sentence alone among its list, once for all sizes of the next test."""
    models = [prefix_model(seed, words=WORDS, eos_bias=1.0) for seed in (3, 4)]
    return [
        search_batches(models, [encode_batch(models, [source], padded([words]))], config, 2)[0]
        for source, words in zip(sentences, random_lists(len(sentences)), strict=True)
    ]


@pytest.mark.parametrize("size", [1, 3, 8])
def test_candidates_of_other_sentences_do_not_matter(prefix_model, models, sources, size):
    """This includes refilled rows, with lists of other lengths."""
    config, sentences = SearchConfig(beam=3), sources * 4
    lists = random_lists(len(sentences))
    batches = [
        encode_batch(models, sentences[start : start + size], padded(lists[start : start + size]))
        for start in range(0, len(sentences), size)
    ]
    together = search_batches(models, batches, config, 2)
    each_alone = searched_alone(prefix_model, tuple(map(tuple, sentences)), config)
    for actual, alone in zip(together, each_alone, strict=True):
        assert [h.ids for h in actual] == [h.ids for h in alone]
        assert [h.score for h in actual] == pytest.approx([h.score for h in alone])


def test_samples_are_drawn_from_the_candidates(models, sources):
    config, seeds = SearchConfig(forbid_unk=True), range(len(sources))
    lists = random_lists(len(sources))
    actual = sample_batch(
        models, encode_batch(models, sources, padded(lists)), config, 5, list(seeds)
    )
    for source, words, seed, samples in zip(sources, lists, seeds, actual, strict=True):
        for h in samples:
            assert set(h.ids) <= set(words) - {UNK}
        batch = encode_batch(models, [source], padded([words]))
        [alone] = sample_batch(models, batch, config, 5, [seed])
        assert [h.ids for h in alone] == [h.ids for h in samples]
        assert [h.score for h in alone] == pytest.approx([h.score for h in samples])


def test_candidates_share_all_probability_however_long_other_lists_are(models, sources):
    """The padding of a list stands for no token, and takes nothing from one."""
    lists = random_lists(len(sources))
    scorer = CandidateScorer([model.output_layer() for model in models], padded(lists))
    readouts = [torch.randn(len(lists), 2, SIZE, dtype=torch.float64) for _ in models]
    [(_, log_probs)] = scorer.log_probs(readouts)
    for row, of_row in enumerate(log_probs.view(len(lists), 2, WORDS)):
        assert of_row.exp().sum(1).tolist() == pytest.approx([1.0, 1.0])
        for of_hypothesis in of_row:
            assert (of_hypothesis > -torch.inf).nonzero().flatten().tolist() == lists[row]
