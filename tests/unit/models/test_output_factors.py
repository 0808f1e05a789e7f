"""A model with a factored output matrix is the model whose output matrix is the product.

Training, with all words or drawn ones, scoring and search, with all words, candidates or 8 bits.
"""

import dataclasses
from typing import Any

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.models import MODELS, Model, kernels, model_name
from nmtkit.models.deep_lstm import DeepLSTMConfig
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches

SOURCES = [[3, 8, 1, 4, 0], [0], [5, 2, 0], [7, 7, 3, 0]]
TARGETS = [[2, 6, 0], [4, 1, 3, 5, 0], [0], [1, 0]]
SRC_SIZE, TGT_SIZE = 9, 37
CANDIDATES = [[0, 1, 5, 9, 30], [0, 1, 2, 3, 4], [0, 1, 7, 8, 36], [0, 1, 20, 21, 22]]
SETTINGS = SearchConfig(beam=3, length_penalty=1.0)

CONFIGS: dict[str, Any] = {
    "rnnsearch, rank below l": RNNsearchConfig(4, 5, 4, 6, softmax_rank=3),
    "rnnsearch, rank above l": RNNsearchConfig(4, 5, 4, 6, softmax_rank=8),
    "rnnsearch, tied": RNNsearchConfig(4, 5, 4, 6, tied=True),
    "rnnenc": RNNencConfig(4, 5, 6, softmax_rank=3),
    "deep-lstm, tied": DeepLSTMConfig(4, 5, layers=2, tied=True),
}


@pytest.fixture(params=list(CONFIGS))
def models(request: pytest.FixtureRequest) -> tuple[Model, Model]:
    """Return a model with factors, and the same with one output matrix."""
    config = CONFIGS[request.param]
    torch.manual_seed(3)
    factored = MODELS[model_name(config)](config, SRC_SIZE, TGT_SIZE).double().eval()
    changes = {"tied": False} | ({"softmax_rank": 0} if hasattr(config, "softmax_rank") else {})
    whole = type(factored)(dataclasses.replace(config, **changes), SRC_SIZE, TGT_SIZE)
    whole = whole.double().eval()
    with torch.no_grad():
        for parameter in factored.parameters():
            parameter.normal_(std=0.8)
        values = dict(factored.named_parameters())
        product = values.get("F_o", values["E_y"]) @ values["P"].t()  # W_o [K, l]
        for name, parameter in whole.named_parameters():
            parameter.copy_(product if name == "W_o" else values[name])
    return factored, whole


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    return (*pad(SOURCES), *pad(TARGETS))


@pytest.mark.parametrize("samples", [0, 9])
def test_cost_is_that_of_the_product(models: tuple[Model, Model], samples: int) -> None:
    costs = []
    for model in models:
        torch.manual_seed(5)  # the same words are drawn
        sampler = WordSampler(range(1, TGT_SIZE + 1), samples) if samples else None
        costs.append(model.loss(*batch(), 0.1, sampler))
    torch.testing.assert_close(*costs)


def test_gradient_of_each_factor_follows_from_that_of_the_product(
    models: tuple[Model, Model],
) -> None:
    factored, whole = models
    for model in models:
        model.loss(*batch()).backward()
    values = dict(factored.named_parameters())
    grad_W_o = whole.get_parameter("W_o").grad
    assert grad_W_o is not None
    words = values.get("F_o", values["E_y"])
    torch.testing.assert_close(values["P"].grad, grad_W_o.t() @ words)
    if "F_o" in values:
        torch.testing.assert_close(words.grad, grad_W_o @ values["P"])


def test_scores_are_those_of_the_product(models: tuple[Model, Model]) -> None:
    factored, whole = (model.score(*batch()).log_probs for model in models)
    torch.testing.assert_close(factored, whole)


@pytest.mark.parametrize("lists", [None, CANDIDATES], ids=["all words", "candidates"])
@pytest.mark.parametrize("fast", [False, True])
def test_search_finds_the_translations_of_the_product(
    models: tuple[Model, Model], lists: list[list[int]] | None, fast: bool
) -> None:
    src, src_mask = pad(SOURCES)
    candidates = None if lists is None else torch.tensor(lists)
    results = []
    for model in models:
        searched = model.for_inference() if fast else model
        with torch.inference_mode():
            encoded = EncodedBatch([searched.encode(src, src_mask)], src_mask.sum(1), candidates)
        results.append(search_batches([searched], [encoded], SETTINGS, 3))
    for ours, theirs in zip(*results, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs])


@pytest.mark.skipif(kernels.PLAIN, reason="NMTKIT_PLAIN has no 8 bits")
def test_in_8_bits_both_factors_are_quantized(models: tuple[Model, Model]) -> None:
    factored, whole = models
    src, src_mask = pad(SOURCES)
    quantized = factored.for_inference("int8")
    assert not isinstance(quantized.inference._P, torch.Tensor)  # type: ignore[union-attr]
    translations = [best for (best,) in beam_search([quantized], src, src_mask, SETTINGS)]
    expected = whole.score(src, src_mask, *pad([best.ids for best in translations]))
    for best, log_probs in zip(translations, expected.log_probs, strict=True):
        assert best.word_scores == pytest.approx(log_probs[: len(best.ids)].tolist(), abs=0.2)
