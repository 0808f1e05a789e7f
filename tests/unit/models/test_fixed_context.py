"""Models with a fixed context against the slow reference beside this file; their parameters."""

from typing import Any

import numpy as np
import pytest
import torch

from nmtkit.data.batch import pad
from nmtkit.models import MODELS, model_name
from nmtkit.models.grconv import RADIUS, GrConv, GrConvConfig
from nmtkit.models.phrase_rnn import PhraseRNNConfig
from nmtkit.models.rnnenc import RNNenc, RNNencConfig
from tests.unit.models import reference_fixed_context as reference
from tests.unit.models.reference_rnnsearch import assert_close, parameters

SOURCES = [[3, 8, 1, 4, 0], [0], [5, 2, 0], [7, 7, 3, 0]]
TARGETS = [[2, 6, 0], [4, 1, 3, 5, 0], [0], [1, 0]]
CONFIGS: list[Any] = [
    RNNencConfig(3, 4, 2),
    RNNencConfig(3, 4, 2, tied=True),
    PhraseRNNConfig(3, 4, 2, softmax_rank=5),
    GrConvConfig(3, 6, 4, 2),
    GrConvConfig(3, 6, 4, 2, softmax_rank=5),
]


@pytest.fixture(params=CONFIGS, ids=str)
def model(request):
    torch.manual_seed(4)
    model = MODELS[model_name(request.param)](request.param, 9, 7).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(
                std=0.4 if isinstance(model, GrConv) else 0.8
            )  # rectified values grow by level
    return model


def summary(model, source):
    """Return c computed by the reference."""
    if isinstance(model, GrConv):
        return reference.compose(reference.composition_of(model), source)[0]
    p = parameters(model)
    h = reference.last_state(p["E_x"], reference.encoder_of(model), source)
    return np.tanh(p["V"].T @ h + p["b_V"]) if "V" in p else h


def test_summaries_equal_the_reference(model):
    actual = model.summarise(*pad(SOURCES))
    for row, source in enumerate(SOURCES):
        assert_close(actual[row], summary(model, source))


def test_log_probabilities_equal_the_reference(model):
    scored = model.score(*pad(SOURCES), *pad(TARGETS))
    assert scored.alignment is None
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        decoder = reference.decoder_of(model)
        positions = reference.probabilities(decoder, summary(model, source), target)
        expected = [np.log(p[word]) for p, word in zip(positions, target, strict=True)]
        assert_close(scored.log_probs[row, : len(target)], expected)


def test_composition_coefficients_equal_the_reference():
    torch.manual_seed(4)
    model = GrConv(GrConvConfig(3, 6, 4, 2), 9, 7).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8)
    for actual, source in zip(model.compositions(*pad(SOURCES)), SOURCES, strict=True):
        _, expected = reference.compose(reference.composition_of(model), source)
        assert len(actual) == len(expected) == len(source) - 1
        for level, nodes in zip(actual, expected, strict=True):
            assert_close(level, np.array(nodes))


def test_the_papers_sizes_are_the_defaults():
    sizes = [
        (c.embedding, c.hidden, c.maxout, c.softmax_rank)
        for c in (RNNencConfig(), PhraseRNNConfig(), GrConvConfig())
    ]
    assert sizes == [(620, 1000, 500, 0), (100, 1000, 500, 100), (620, 1000, 500, 0)]
    assert GrConvConfig().units == 2000


def initialised(config):
    torch.manual_seed(11)
    model = MODELS[model_name(config)](config, 130, 110)
    return {name: value.detach() for name, value in model.named_parameters()}


@pytest.mark.parametrize("initialisation", ["paper", "scaled"])
def test_each_recurrent_matrix_is_orthogonal(initialisation):
    parameters = initialised(RNNencConfig(40, 48, 30, initialisation=initialisation))
    blocks = [parameters["U_enc"], parameters["U_dec"]]
    blocks += [*parameters["U_zr_enc"].chunk(2, dim=1), *parameters["U_zr_dec"].chunk(2, dim=1)]
    for block in blocks:
        torch.testing.assert_close(block @ block.t(), torch.eye(48), atol=1e-5, rtol=0)
    assert all(not torch.equal(a, b) for i, a in enumerate(blocks) for b in blocks[:i])


def test_composition_matrices_have_the_papers_spectral_radius():
    parameters = initialised(GrConvConfig(40, 48, 32, 30))
    for name in ("W_l", "W_r"):
        square = parameters[name] @ parameters[name].t()
        torch.testing.assert_close(square, RADIUS**2 * torch.eye(48), atol=1e-5, rtol=0)


def test_the_papers_normal_distribution():
    parameters = initialised(PhraseRNNConfig(40, 48, 30, softmax_rank=44))
    for name, value in parameters.items():
        if name.startswith("b_"):
            assert (value == 0).all(), name
        elif name not in ("U_enc", "U_dec", "U_zr_enc", "U_zr_dec"):
            assert abs(float(value.std()) / 0.01 - 1) < 4 / (2 * value.numel()) ** 0.5, name


def test_scaled_matrices_have_the_bounds_of_glorot_and_bengio():
    parameters = initialised(RNNencConfig(40, 48, 30, softmax_rank=44, initialisation="scaled"))
    widths = {"W_enc": (40, 48), "W_dec": (40, 48), "C": (48, 48), "P": (30, 44), "U_o": (48, 60)}
    for name, (inputs, outputs) in widths.items():
        bound = (6 / (inputs + outputs)) ** 0.5
        assert 0.98 * bound < float(parameters[name].abs().max()) <= bound, name
    for name in ("E_x", "E_y"):
        assert abs(float(parameters[name].std()) * 40**0.5 - 1) < 0.05


def test_factored_softmax_has_the_rank_of_the_config():
    parameters = initialised(RNNencConfig(40, 48, 30, softmax_rank=4))
    assert parameters["F_o"].shape == (110, 4) and parameters["P"].shape == (30, 4)
    assert "W_o" not in parameters
    assert "W_o" in initialised(RNNencConfig(40, 48, 30))


def test_meta_parameters_are_not_initialised():
    with torch.device("meta"):
        model = RNNenc(RNNencConfig(3, 4, 2), 9, 7)
    assert all(parameter.is_meta for parameter in model.parameters())
