"""Rows of a batch: sentences that take the place of those that are done are translated as alone."""

import functools

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from tests.unit.search.prefix_probabilities import BEAM_MODES


def settings(**changes):
    return SearchConfig(**{"beam": 3, "stop": "exact", "max_length_ratio": 3.0, **changes})


def encoded_batches(models, sentences, size):
    """Yield batches of `size` sentences, encoded by each model."""
    for start in range(0, len(sentences), size):
        src, src_mask = pad(sentences[start : start + size])
        yield EncodedBatch([model.encode(src, src_mask) for model in models], src_mask.sum(1))


def tensors(batch):
    return [*vars(batch.encoded[0]).values(), batch.lengths]


def many_sentences(count):
    random = torch.Generator().manual_seed(count)
    lengths = torch.randint(0, 12, (count,), generator=random).tolist()
    return [[*torch.randint(1, 50, (n,), generator=random).tolist(), 0] for n in lengths]


@functools.cache
def translated_alone(prefix_model, beam, beam_mode):
    """Translate the sentences of the next test one by one, once for all its sizes and orders."""
    models = [prefix_model(seed, words=9, eos_bias=1.0) for seed in (3, 4)]
    config, n_best = settings(beam=beam, beam_mode=beam_mode), min(beam, 2)
    return [beam_search(models, *pad([s]), config, n_best)[0] for s in many_sentences(30)]


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("order", ["longest first", "as they come"])
def test_sentences_in_refilled_rows_are_translated_as_alone(
    prefix_model, beam_mode, beam, size, order
):
    models = [prefix_model(seed, words=9, eos_bias=1.0) for seed in (3, 4)]
    numbers, sentences = list(range(30)), many_sentences(30)
    if order == "longest first":
        numbers.sort(key=lambda number: len(sentences[number]), reverse=True)
    config, n_best = settings(beam=beam, beam_mode=beam_mode), min(beam, 2)
    batches = encoded_batches(models, [sentences[number] for number in numbers], size)
    actual = search_batches(models, batches, config, n_best)
    each_alone = translated_alone(prefix_model, beam, beam_mode)
    for number, hypotheses in zip(numbers, actual, strict=True):
        alone = each_alone[number]
        assert [h.ids for h in hypotheses] == [h.ids for h in alone]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in alone])


def test_an_8_bit_model_translates_a_last_batch_of_one_sentence():
    torch.manual_seed(1)
    config = RNNsearchConfig(4, 4, 4, 4, initialisation="scaled")
    model = RNNsearch(config, 50, 12).eval().for_inference("int8")
    sentences = [source for source in many_sentences(60) if len(source) > 5][:17]
    found = search_batches([model], encoded_batches([model], sentences, 16), settings())
    alone = search_batches([model], encoded_batches([model], sentences[16:], 1), settings())
    assert len(found) == 17 and found[16][0].ids == alone[0][0].ids


def test_free_rows_are_refilled(prefix_model):
    """30 sentences of similar length take fewer steps than 6 batches one after the other."""
    model = prefix_model(3, words=9, eos_bias=-2.0)
    sentences = [source for source in many_sentences(60) if len(source) > 5][:30]
    batches = list(encoded_batches([model], sentences, 5))
    search_batches([model], batches, settings())
    together, model.steps = model.steps, 0
    for batch in batches:
        search_batches([model], [batch], settings())
    assert together < 0.9 * model.steps


def test_search_does_not_change_the_encoded_sources(prefix_model):
    model = prefix_model(3, words=9, eos_bias=1.0)
    batches = list(encoded_batches([model], many_sentences(20), 5))
    copies = [[t.clone() for t in tensors(batch)] for batch in batches]
    search_batches([model], batches, settings())
    for batch, copied in zip(batches, copies, strict=True):
        for tensor, copy in zip(tensors(batch), copied, strict=True):
            assert torch.equal(tensor, copy)
