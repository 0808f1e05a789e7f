"""The CSLM against the slow reference beside this file, its contexts, and its parameters."""

from typing import Any

import numpy as np
import pytest
import torch

from nmtkit.data.batch import pad
from nmtkit.models import MODELS
from nmtkit.models.base import log_probs
from nmtkit.models.cslm import CSLM, UNIFORM, CSLMConfig, contexts
from nmtkit.special_symbols import BOS
from tests.unit.models import reference_cslm as reference
from tests.unit.models.reference_rnnsearch import assert_close

SOURCES = [[3, 8, 1, 4, 0], [0], [5, 2, 0], [7, 7, 3, 0]]
TARGETS = [[2, 6, 0], [4, 1, 3, 5, 2, 2, 6, 1, 5, 0], [0], [1, 0]]
CONFIGS = [CSLMConfig(6, 3, 5, 4), CSLMConfig(2, 3, 5, 4), CSLMConfig(1, 2, 3, 6)]


@pytest.fixture(params=CONFIGS, ids=str)
def model(request):
    torch.manual_seed(4)
    model = CSLM(request.param, 9, 7).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8)
    return model


def expected_probabilities(model, target):
    network, context = reference.network_of(model), model.config.context
    return [reference.next_word(network, target[:i], context) for i in range(len(target))]


def test_teacher_forcing_gives_the_reference_log_probs(model):
    scored = model.score(*pad(SOURCES), *pad(TARGETS))
    assert scored.alignment is None
    for row, target in enumerate(TARGETS):
        positions = expected_probabilities(model, target)
        expected = [np.log(p[word]) for p, word in zip(positions, target, strict=True)]
        assert_close(scored.log_probs[row, : len(target)], expected)


def test_each_step_gives_the_reference_probabilities(model):
    for source, target in zip(SOURCES, TARGETS, strict=True):
        encoded = model.encode(*pad([source]))
        state, prev = model.initial_state(encoded), torch.tensor([[BOS]])
        for word, expected in zip(target, expected_probabilities(model, target), strict=True):
            hidden, state, alignment = model.step(prev, state, encoded)
            assert_close(log_probs(model.output_layer(), hidden)[0, 0].exp(), expected)
            assert alignment is None
            prev = torch.tensor([[word]])


def test_the_source_is_ignored(model):
    with_source, without_source = (
        model.score(*pad(sources), *pad(TARGETS)).log_probs for sources in (SOURCES, [[0]] * 4)
    )
    assert torch.equal(with_source, without_source)
    assert model.encode(*pad(SOURCES)).empty.shape == (4, 0)
    assert not model.reads_source
    assert all(kind.reads_source for kind in MODELS.values() if kind is not CSLM)


def test_only_the_context_words_matter():
    torch.manual_seed(4)
    model = CSLM(CSLMConfig(6, 3, 5, 4), 9, 7).double()
    far, near = TARGETS[1].copy(), TARGETS[1].copy()
    far[0], near[1] = 5, 5  # 7 and 6 words before position 7
    without_far, without_near = (model.score(*pad([[0]]), *pad([t])).log_probs for t in (far, near))
    whole = model.score(*pad([[0]]), *pad(TARGETS[1:2])).log_probs
    assert torch.equal(whole[0, 7:], without_far[0, 7:]) and whole[0, 6] != without_far[0, 6]
    assert whole[0, 7] != without_near[0, 7] and torch.equal(whole[0, 8:], without_near[0, 8:])


def test_contexts_are_the_words_before():
    actual = contexts(torch.tensor([[4, 5, 6, 0], [7, 0, 0, 0]]), 2)
    assert actual[0].tolist() == [[-1, -1], [-1, 4], [4, 5], [5, 6]]
    assert actual[1, :2].tolist() == [[-1, -1], [-1, 7]]
    assert contexts(torch.tensor([[0]]), 3).tolist() == [[[-1, -1, -1]]]


def initialised(config: CSLMConfig) -> dict[str, Any]:
    torch.manual_seed(11)
    model = CSLM(config, 130, 110)
    return {name: value.detach() for name, value in model.named_parameters()}


def test_matrices_have_the_papers_uniform_distribution_and_biases_are_0():
    for name, value in initialised(CSLMConfig(6, 20, 48, 32)).items():
        if value.dim() == 1:
            assert (value == 0).all(), name
            continue
        assert value.abs().max() <= UNIFORM, name
        assert abs(float(value.std()) / (UNIFORM / 3**0.5) - 1) < 2.5 / value.numel() ** 0.5, name


def test_scaled_rectified_layers_keep_the_size_of_their_inputs():
    parameters = initialised(CSLMConfig(6, 200, 800, 800, initialisation="scaled"))
    x = torch.randn(500, 1200)
    for layer in (1, 2):
        x = torch.relu(x @ parameters[f"W_{layer}"])
        assert float((x**2).mean()) == pytest.approx(1, rel=0.1)
    for name in ("E_y", "W_o"):
        assert float((parameters[name] ** 2).sum(1).mean()) == pytest.approx(1, rel=0.1)


def test_the_papers_sizes_are_the_defaults():
    with torch.device("meta"):
        model = CSLM(CSLMConfig(), 15_000, 15_000)
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert shapes["E_y"] == (15_000, 512)
    assert shapes["W_1"] == (3072, 1536)
    assert shapes["W_2"] == (1536, 1024)
    assert shapes["W_o"] == (15_000, 1024)
    assert (model.config.dropout, model.config.initialisation) == (0.0, "paper")
