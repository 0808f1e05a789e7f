"""The deep LSTM against the slow reference beside this file, and its parameters."""

from typing import Any

import numpy as np
import pytest
import torch

from nmtkit.data.batch import pad
from nmtkit.models.base import log_probs
from nmtkit.models.deep_lstm import UNIFORM, DeepLSTM, DeepLSTMConfig, reverse_words
from nmtkit.special_symbols import BOS
from tests.unit.models import reference_lstm as reference
from tests.unit.models.reference_rnnsearch import assert_close, parameters

SOURCES = [[3, 8, 1, 4, 0], [0], [5, 2, 0], [7, 7, 3, 0]]
TARGETS = [[2, 6, 0], [4, 1, 3, 5, 0], [0], [1, 0]]
CONFIGS = [
    DeepLSTMConfig(3, 4, layers=2),
    DeepLSTMConfig(3, 4, layers=1, reverse=False),
    DeepLSTMConfig(3, 4, layers=3, peepholes=False),
    DeepLSTMConfig(3, 4, layers=2, tied=True),
]


@pytest.fixture(params=CONFIGS, ids=str)
def model(request):
    torch.manual_seed(4)
    model = DeepLSTM(request.param, 9, 7).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8)
    return model


def states_of(model, source):
    p = parameters(model)
    units = reference.side_of(model, "encoder")
    return reference.encoded(p["E_x"], units, source, model.config.reverse)


def expected_probabilities(model, source, target):
    p = parameters(model)
    W_o = p["E_y"] @ p["P"].T if model.config.tied else p["W_o"]
    units, states = reference.side_of(model, "decoder"), states_of(model, source)
    return reference.probabilities(units, p["E_y"], (W_o, p["b_y"]), states, target)


def test_encode_returns_every_layers_last_states(model):
    encoded = model.encode(*pad(SOURCES))
    for row, source in enumerate(SOURCES):
        for layer, (h, c) in enumerate(states_of(model, source)):
            assert_close(encoded.h[row, layer], h)
            assert_close(encoded.c[row, layer], c)


def test_summarise_returns_all_states_of_the_encoder(model):
    actual = model.summarise(*pad(SOURCES))
    assert actual.shape == (len(SOURCES), 2 * model.config.layers * model.config.hidden)
    for row, source in enumerate(SOURCES):
        hidden, cells = zip(*states_of(model, source), strict=True)
        assert_close(actual[row], np.concatenate([*hidden, *cells]))


def test_teacher_forcing_gives_the_reference_log_probs(model):
    scored = model.score(*pad(SOURCES), *pad(TARGETS))
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        positions = expected_probabilities(model, source, target)
        expected = [np.log(p[word]) for p, word in zip(positions, target, strict=True)]
        assert_close(scored.log_probs[row, : len(target)], expected)


def test_each_step_gives_the_reference_probabilities(model):
    for source, target in zip(SOURCES, TARGETS, strict=True):
        encoded = model.encode(*pad([source]))
        state, prev = model.initial_state(encoded), torch.tensor([[BOS]])
        for word, expected in zip(
            target, expected_probabilities(model, source, target), strict=True
        ):
            hidden, state, alignment = model.step(prev, state, encoded)
            assert_close(log_probs(model.output_layer(), hidden)[0, 0].exp(), expected)
            assert alignment is None
            prev = torch.tensor([[word]])


def test_words_are_reversed_and_eos_stays_last():
    src, mask = pad(SOURCES)
    actual = reverse_words(src, mask)
    for row, source in enumerate(SOURCES):
        assert actual[row, : len(source)].tolist() == [*source[:-1][::-1], 0]


def initialised(config: DeepLSTMConfig) -> dict[str, Any]:
    torch.manual_seed(11)
    model = DeepLSTM(config, 130, 110)
    return {name: value.detach() for name, value in model.named_parameters()}


def test_all_parameters_have_the_papers_uniform_distribution():
    for name, value in initialised(DeepLSTMConfig(40, 48, layers=2)).items():
        assert value.abs().max() <= UNIFORM, name
        assert abs(float(value.std()) / (UNIFORM / 3**0.5) - 1) < 2.5 / value.numel() ** 0.5, name


def test_scaled_forget_gates_start_open():
    parameters = initialised(DeepLSTMConfig(40, 48, layers=2, initialisation="scaled"))
    for side in ("encoder", "decoder"):
        for layer in range(2):
            b = parameters[f"{side}.b.{layer}"]
            assert (b[48:96] == 1).all() and b.sum() == 48
            assert (parameters[f"{side}.p.{layer}"] == 0).all()
            bound = (6 / 96) ** 0.5
            assert 0.98 * bound < float(parameters[f"{side}.U.{layer}"].abs().max()) <= bound


def test_the_papers_sizes_are_the_defaults():
    config = DeepLSTMConfig()
    assert (config.embedding, config.hidden, config.layers) == (1000, 1000, 4)
    assert (config.reverse, config.peepholes, config.tied, config.dropout) == (True, True, False, 0)
    with torch.device("meta"):
        model = DeepLSTM(config, 160_000, 80_000)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert round(count / 1e6) == 384  # "384M parameters"; section 3.4
    recurrent = sum(p.numel() for p in [*model.encoder.U, *model.decoder.U])
    above = sum(p.numel() for p in [*model.encoder.W, *model.decoder.W])
    assert recurrent + above == 64_000_000  # "of which 64M are pure recurrent connections"
