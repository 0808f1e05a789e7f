"""Every training and search step on a device: it computes as on the CPU, and waits where it must.

`EXPECTED` lists all places where the host waits for a GPU, with the reason; anything else fails.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor

from nmtkit.config import SearchConfig, TrainingConfig
from nmtkit.data.batch import Batch, make_batch, pad
from nmtkit.models import MODELS, Model, kernels, model_name
from nmtkit.models.attention_guide import AttentionGuide
from nmtkit.models.base import HasComposition, HasSourceVectors
from nmtkit.models.cslm import CSLMConfig
from nmtkit.models.deep_lstm import DeepLSTMConfig
from nmtkit.models.grconv import GrConvConfig
from nmtkit.models.phrase_rnn import PhraseRNNConfig
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.search.batch_queue import EncodedBatch, source_lengths
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.prefix_tree import PrefixTree, tree_log_probs
from nmtkit.search.sampling import sample
from nmtkit.training.gradient import Gradient
from nmtkit.training.optimizers import make_optimizer
from tests.simulated_device import DEVICE, DeviceTensor, SimulatedDevice, Wait, simulated_device

CPU = torch.device("cpu")
SRC_SIZE, TGT_SIZE = 9, 11

CONFIGS: dict[str, Any] = {
    "rnnsearch, groundhog": RNNsearchConfig(2, 3, 4, 2),
    "rnnsearch, paper-v1, tied": RNNsearchConfig(2, 3, 4, 2, decoder_variant="paper-v1", tied=True),
    "rnnsearch, factored": RNNsearchConfig(2, 3, 4, 2, softmax_rank=5),
    "rnnenc": RNNencConfig(2, 3, 2),
    "phrase-rnn": PhraseRNNConfig(2, 3, 2, softmax_rank=3),
    "grconv": GrConvConfig(2, 4, 3, 2),
    "deep-lstm": DeepLSTMConfig(2, 3, layers=2),
    "cslm": CSLMConfig(3, 2, 5, 4),
}
SEARCHED = ["rnnsearch, groundhog", "rnnenc", "deep-lstm", "cslm"]
SETTINGS = SearchConfig(beam=3, max_length_ratio=4.0)

EXPECTED = {
    "update": {
        Wait("value", "training/gradient.py:Gradient._sum_over_ranks"): (
            "cost, norm and stop signals of an update, all together: the next decision needs them"
        ),
    },
    "drawn words": {
        Wait("value", "models/softmax_sampling.py:WordSampler.draw"): (
            "the host draws the words of a batch, so that every device draws the same"
        ),
    },
    "search step": {
        Wait("value", "search/beam.py:find_done"): "whether a sentence is done, once a step",
    },
    "search": {  # once for each batch, refill or result, not for each step
        Wait("value", "search/beam.py:_BeamSearch._start_batch"): "longest sentence of a batch",
        Wait("value", "search/batch_queue.py:BatchQueue.fits"): "longest waiting sentence",
        Wait("value", "search/beam.py:_BeamSearch.refill"): "longest sentence after a refill",
        Wait("value", "models/rnnsearch.py:Encoded.trim_padding"): "width after a refill",
        Wait("value", "search/beam_history.py:_by_sentence"): "the result",
        Wait("value", "search/beam_history.py:BeamHistory._backtrack"): "the result",
    },
    "candidates": {
        Wait("shape", "models/fast/output_layer.py:UnionLayer.__init__"): (
            "size of the union of a batch's lists, which all its products use"
        ),
    },
    "alignments": {
        Wait("value", "search/alignments.py:_matrices"): "the result, after the last step",
    },
    "sampling": {
        Wait("value", "search/sampling.py:sample_batch"): "longest samples, once",
        Wait("value", "search/sampling.py:draw"): "whether the model gives numbers, once a step",
        Wait("shape", "search/sampling.py:_draw_all"): "unfinished sentences, once a step",
        Wait("value", "search/sampling.py:_hypotheses"): "the result",
    },
    "compositions": {
        Wait("value", "models/grconv.py:GrConv.compositions"): "order of the batch's sentences",
    },
}


def waits(*names: str) -> set[Wait]:
    return {wait for name in names for wait in EXPECTED[name]}


def make_model(
    name: str, seed: int = 1, device: torch.device = CPU, dtype: torch.dtype = torch.float64
) -> Model:
    """Return a model with parameters that all matter; without dropout in float64."""
    torch.manual_seed(seed)
    dropout = 0.0 if dtype == torch.float64 else 0.3
    config = dataclasses.replace(CONFIGS[name], dropout=dropout)
    model: Model = MODELS[model_name(config)](config, SRC_SIZE, TGT_SIZE).to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model.to(device)


def on_host(values: Any) -> Any:
    return values.host if isinstance(values, DeviceTensor) else values


@pytest.fixture(params=list(CONFIGS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Training


SHORT = ([[3, 8, 1, 4, 0], [0], [5, 2, 0]], [[2, 6, 0], [4, 1, 3, 5, 0], [0]])
LONG = ([[3, 8, 1] * 4 + [0], [5, 2, 0]], [[2, 9, 6, 7] * 4 + [0], [4, 0]])


def make_batches() -> list[Batch]:
    return [make_batch(*SHORT, [1, 2, 3]), make_batch(*LONG, [4, 5])]


def train(
    model: Model, batches: list[Batch], updates: int = 2, sampled: bool = False, **settings: Any
) -> list[Tensor]:
    """Update a model, and return its parameters."""
    config = TrainingConfig(**settings)
    optimizer = make_optimizer(model, config)
    gradient = Gradient(model, optimizer, config)
    if sampled:
        torch.manual_seed(2)
        gradient.sample_words(WordSampler(range(TGT_SIZE, 0, -1), 4))
    for number in range(updates):
        update = gradient.compute(batches, number + 1, None)
        gradient.scale(0.5 / update.norm)
        optimizer.step()
    return [on_host(parameter.detach()) for parameter in model.parameters()]


def assert_trains_as_on_the_cpu(name: str, **settings: Any) -> Counter[Wait]:
    """Compare two updates of two batches with those on the CPU; return where the host waited."""
    expected = train(make_model(name), make_batches(), **settings)
    with simulated_device() as device:
        model = make_model(name, device=DEVICE)
        device.waits.clear()
        actual = train(model, make_batches(), **settings)
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-8)
    return device.waits


def test_an_update_waits_once_for_its_figures(name: str) -> None:
    found = assert_trains_as_on_the_cpu(name)
    assert found == dict.fromkeys(waits("update"), 2)  # two updates


@pytest.mark.parametrize("optimizer", ["adadelta", "adam", "sgd"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_no_optimizer_waits(optimizer: str, smoothing: float) -> None:
    settings = {"optimizer": optimizer, "label_smoothing": smoothing}
    found = assert_trains_as_on_the_cpu("rnnsearch, groundhog", **settings)
    assert found == dict.fromkeys(waits("update"), 2)


def test_drawn_words_wait_once_for_each_batch() -> None:
    found = assert_trains_as_on_the_cpu("rnnsearch, factored", sampled=True)
    assert found == dict.fromkeys(waits("update"), 2) | dict.fromkeys(waits("drawn words"), 4)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_dropout_and_low_precision_stay_on_the_device(name: str, precision: str) -> None:
    with simulated_device() as device:
        model = make_model(name, device=DEVICE, dtype=torch.float32)
        device.waits.clear()
        train(model, make_batches(), precision=precision)
    assert device.waits == dict.fromkeys(waits("update"), 2)


def test_guided_attention_stays_on_the_device() -> None:
    keys, strengths = torch.tensor([13, 35, 90]), torch.tensor([0.5, 1.0, 0.25]).double()
    costs = []
    for place in (CPU, DEVICE):
        with simulated_device() as device:
            model = make_model("rnnsearch, groundhog", device=place)
            guide = AttentionGuide(keys.to(place), strengths.to(place), TGT_SIZE)
            device.waits.clear()
            batch = make_batch(*SHORT, [1, 2, 3]).to(place)
            cost = model.loss(*batch[:4], guide=guide)
            cost.backward()
            assert not device.waits
            costs.append(on_host(cost.detach()))
    torch.testing.assert_close(*costs)


@pytest.mark.skipif(kernels.PLAIN, reason="compares both implementations")
def test_plain_implementations_run_on_the_device_too(name: str) -> None:
    with kernels.plain_pieces():
        assert_trains_as_on_the_cpu(name)


# Scoring and search


SENTENCES = [[3, 8, 1, 4, 0], [5, 2, 7, 0], [6, 2, 0], [1, 8, 0], [2, 0], [7, 0], [0], [0]]
CANDIDATES = torch.tensor([[0, 1, 2, 4, 5, -1], [0, 1, 3, 6, 8, 9]] * 4)
Search = Callable[[list[Model], torch.device], Any]


def encoded_batches(
    models: list[Model], device: torch.device, candidates: Tensor | None
) -> Iterable[EncodedBatch]:
    """Encode three sentences at a time; search refills rows with those that wait."""
    for start in range(0, len(SENTENCES), 3):
        rows = slice(start, start + 3)
        src, src_mask = pad(SENTENCES[rows])
        src = src.to(device, non_blocking=True)
        lists = None if candidates is None else candidates[rows].to(device, non_blocking=True)
        encoded = [model.encode(src, src_mask) for model in models]
        yield EncodedBatch(encoded, source_lengths(src, src_mask), lists)


def search_all(
    settings: SearchConfig, models: list[Model], device: torch.device, lists: Tensor | None = None
) -> Any:
    return search_batches(models, encoded_batches(models, device, lists), settings, 1)


def first_sentences(device: torch.device, count: int = 3) -> tuple[Tensor, Tensor]:
    src, src_mask = pad(SENTENCES[:count])
    return src.to(device, non_blocking=True), src_mask


def search_few(models: list[Model], device: torch.device) -> Any:
    return beam_search(models, *first_sentences(device), SETTINGS, 2, alignments=True)


def draw(models: list[Model], device: torch.device) -> Any:
    return sample(models, *first_sentences(device), SETTINGS, 2, [1, 2, 3])


def score(models: list[Model], device: torch.device) -> Any:
    tgt, tgt_mask = pad([[2, 6, 0], [4, 1, 3, 5, 0], [0], [7, 0]])
    sources = torch.tensor([2, 0, 2, 1]).to(device, non_blocking=True)
    pairs = (*first_sentences(device), tgt.to(device, non_blocking=True), tgt_mask)
    return models[0].score(*pairs, sources).log_probs


def score_tree(models: list[Model], device: torch.device) -> Any:
    tree = PrefixTree([[2, 6, 0], [2, 6, 6, 1, 0], [0]])
    return tree_log_probs(models[0], *first_sentences(device, 1), tree)


def assert_equal_results(actual: Any, expected: Any) -> None:
    if isinstance(actual, Hypothesis):
        assert actual.ids == expected.ids
        assert actual.word_scores == pytest.approx(expected.word_scores)
        assert_equal_results(actual.alignment, expected.alignment)
    elif isinstance(actual, list):
        for ours, theirs in zip(actual, expected, strict=True):
            assert_equal_results(ours, theirs)
    else:
        torch.testing.assert_close(on_host(actual), expected)


def assert_searches_as_on_the_cpu(
    names: list[str], search: Search, fast: bool = True
) -> SimulatedDevice:
    """Compare a search with the same on the CPU; return the device that it ran on."""

    def run(place: torch.device) -> Any:
        models = [make_model(name, seed, place).eval() for seed, name in enumerate(names)]
        ready = [model.for_inference() for model in models] if fast else models
        device.waits.clear()
        with torch.no_grad():
            return search(ready, place)

    with simulated_device() as device:
        expected = run(CPU)
        assert_equal_results(run(DEVICE), expected)
    return device


def assert_waits(name: str, found: Counter[Wait], *names: str) -> None:
    """Check that the host waited in all expected places and in no other.

    A source without positions has no padding to trim.
    """
    without = {wait for wait in waits(*names) if wait.place.startswith("models/rnnsearch.py")}
    assert set(found) == waits(*names) - (set() if name.startswith("rnnsearch") else without)


searched = pytest.mark.parametrize("name", SEARCHED)
both = pytest.mark.parametrize("fast", [False, True], ids=["plain", "for inference"])


@searched
@pytest.mark.parametrize("beam", [1, 3])
def test_beam_search_waits_once_a_step(name: str, beam: int) -> None:
    settings = SearchConfig(beam=beam, max_length_ratio=4.0)
    device = assert_searches_as_on_the_cpu([name], functools.partial(search_all, settings))
    assert_waits(name, device.waits, "search step", "search")
    (step,) = waits("search step")
    others = sum(device.waits[wait] for wait in device.waits if wait != step)
    assert others <= 3 * len(SENTENCES) + 10  # for each refill and for the result


@both
def test_a_step_of_search_is_the_only_thing_that_waits_as_long_as_translations(fast: bool) -> None:
    counts = []
    for ratio in (4.0, 8.0):  # translations that do not end, of 20 and 40 words
        settings = SearchConfig(beam=2, min_length_ratio=ratio, max_length_ratio=ratio)

        def search(
            models: list[Model], device: torch.device, settings: SearchConfig = settings
        ) -> Any:
            return beam_search(models, *first_sentences(device, 1), settings)

        device = assert_searches_as_on_the_cpu(["rnnsearch, groundhog"], search, fast)
        counts.append(device.waits)
    (step,) = waits("search step")
    assert counts[1] - counts[0] == {step: counts[1][step] - counts[0][step]}
    assert (counts[0][step], counts[1][step]) == (20, 40)


@searched
def test_candidates(name: str) -> None:
    search = functools.partial(search_all, SETTINGS, lists=CANDIDATES)
    found = assert_searches_as_on_the_cpu([name], search).waits
    assert_waits(name, found, "search step", "search", "candidates")


def test_ensembles_and_alignments() -> None:
    names = ["rnnsearch, groundhog", "rnnsearch, factored"]
    found = assert_searches_as_on_the_cpu(names, search_few).waits
    assert waits("alignments") <= set(found) <= waits("search step", "search", "alignments")
    found = assert_searches_as_on_the_cpu(names, functools.partial(search_all, SETTINGS)).waits
    assert set(found) <= waits("search step", "search")


@searched
def test_samples(name: str) -> None:
    assert set(assert_searches_as_on_the_cpu([name], draw).waits) == waits("sampling")


@both
def test_scores_wait_for_nothing(name: str, fast: bool) -> None:
    assert not assert_searches_as_on_the_cpu([name], score, fast).waits
    assert not assert_searches_as_on_the_cpu([name], score_tree, fast).waits


def test_sentence_vectors_wait_for_nothing(name: str) -> None:
    def vectors(models: list[Any], device: torch.device) -> Any:
        return models[0].summarise(*first_sentences(device))

    if isinstance(make_model(name), HasSourceVectors):
        assert not assert_searches_as_on_the_cpu([name], vectors).waits


def test_compositions() -> None:
    def compositions(models: list[Any], device: torch.device) -> Any:
        assert isinstance(models[0], HasComposition)
        return models[0].compositions(*first_sentences(device))

    found = assert_searches_as_on_the_cpu(["grconv"], compositions).waits
    assert found == dict.fromkeys(waits("compositions"), 1)
