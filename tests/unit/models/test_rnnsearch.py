"""RNNsearch against the slow reference beside this file, and its initialisation (B.1)."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from nmtkit.data.batch import pad
from nmtkit.models.base import log_probs
from nmtkit.models.fast import attention
from nmtkit.models.rnnsearch import LEXICAL_SCALE, RNNsearch, RNNsearchConfig
from nmtkit.models.teacher_forcing import SentencePairs
from nmtkit.special_symbols import BOS
from tests.unit.models import reference_rnnsearch as reference
from tests.unit.models.reference_rnnsearch import assert_close

SOURCES = [[3, 8, 1, 4, 0], [0], [5, 2, 0]]
TARGETS = [[2, 6, 0], [4, 1, 3, 5, 0], [0]]
DECODER_VARIANTS: list[Any] = ["paper-v1", "paper-v2", "groundhog"]


OUTPUT_MATRICES: dict[str, dict[str, Any]] = {
    "one matrix": {},
    "tied": {"tied": True},
    "factored": {"softmax_rank": 5},
    "one matrix, lexical module": {"lexical_module": True},
    "tied, lexical module": {"tied": True, "lexical_module": True},
    "factored, lexical module": {"softmax_rank": 5, "lexical_module": True},
}


@pytest.fixture(params=list(OUTPUT_MATRICES))
def output_matrix(request):
    return OUTPUT_MATRICES[request.param]


@pytest.fixture(params=DECODER_VARIANTS)
def model(request, output_matrix):
    torch.manual_seed(4)
    config = RNNsearchConfig(3, 4, 5, 2, decoder_variant=request.param, **output_matrix)
    model = RNNsearch(config, 9, 7).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8)
    return model


def expected_positions(model):
    weights = reference.weights_of(model)
    variant = model.config.decoder_variant
    return [
        reference.teacher_forced(weights, source, target, variant)
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]


def test_annotations_are_projected_for_energies_gates_and_readout(model):
    weights = reference.weights_of(model)
    encoded = model.encode(*pad(SOURCES))
    for row, source in enumerate(SOURCES):
        for j, h in enumerate(reference.annotations(weights, source)):
            assert_close(encoded.keys[row, j], weights.U_a @ h + weights.b_a)
            gate_values = [weights.C_z @ h, weights.C_r @ h, weights.C @ h]
            parts = [*gate_values, weights.C_o @ h]
            if model.L is not None:
                parts.append(model.L.detach().numpy().T @ weights.E_x[source[j]])
            assert_close(encoded.values[row, j], np.concatenate(parts))


def test_the_start_is_the_backward_state_at_the_first_word(model):
    weights = reference.weights_of(model)
    state = model.initial_state(model.encode(*pad(SOURCES)))
    for row, source in enumerate(SOURCES):
        s_0 = reference.start(weights, reference.annotations(weights, source))
        assert_close(state.state[row, 0], s_0)


def test_summarise_returns_the_backward_state_at_the_first_word(model):
    weights = reference.weights_of(model)
    actual = model.summarise(*pad(SOURCES))
    for row, source in enumerate(SOURCES):
        h_1 = reference.annotations(weights, source)[0]
        assert_close(actual[row], h_1[model.config.hidden :])


def test_alignment_is_the_softmax_of_the_energies(model):
    weights = reference.weights_of(model)
    encoded = model.encode(*pad(SOURCES))
    queries = torch.randn(3, 2, 4, dtype=torch.float64)
    alignment = model.align(queries, encoded)
    for row, source in enumerate(SOURCES):
        h = reference.annotations(weights, source)
        for k in range(2):
            energies = reference.energies(weights, queries[row, k].numpy(), h)
            assert_close(alignment[row, k, : len(source)], reference.softmax(energies))


def test_alignment_is_the_same_in_pieces(model, monkeypatch):
    encoded, query = model.encode(*pad(SOURCES)), torch.randn(3, 2, 4, dtype=torch.float64)
    whole = model.align(query, encoded)
    monkeypatch.setattr(attention, "CPU_CHUNK", 1)
    torch.testing.assert_close(model.align(query, encoded), whole)


def test_attention_of_many_hypotheses_holds_the_sums_of_a_few(model, monkeypatch):
    """1,000 samples of a line of 2,000 tokens have sums of 8 GB."""
    encoded, query = model.encode(*pad(SOURCES)), torch.randn(3, 5, 4, dtype=torch.float64)
    whole, widths, sigmoid_ = model.align(query, encoded), [], torch.Tensor.sigmoid_

    def recorded(sums):
        widths.append(sums.size(1))
        return sigmoid_(sums)

    monkeypatch.setattr(torch.Tensor, "sigmoid_", recorded)
    monkeypatch.setattr(attention, "MAX_SUMS", 2 * encoded.keys[0].numel())
    torch.testing.assert_close(model.align(query, encoded), whole)
    assert max(widths, default=0) <= 2


def test_each_step_gives_the_reference_state_alignment_and_probabilities(model):
    expected = expected_positions(model)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        encoded = model.encode(*pad([source]))
        state, prev = model.initial_state(encoded), torch.tensor([[BOS]])
        for i, position in enumerate(expected[row]):
            if model.config.decoder_variant != "groundhog":  # its state has not read y_{i-1} yet
                assert_close(state.state[0, 0], position.query)
            hidden, state, alignment = model.step(prev, state, encoded)
            assert_close(alignment[0, 0], position.alignment)
            actual = log_probs(model.output_layer(), hidden)
            assert_close(actual[0, 0].exp(), position.probabilities)
            if model.config.decoder_variant == "groundhog":
                assert_close(state.state[0, 0], position.query)
            prev = torch.tensor([[target[i]]])


def test_teacher_forcing_gives_the_reference_log_probs_and_alignments(model):
    scored = model.score(*pad(SOURCES), *pad(TARGETS))
    for row, positions in enumerate(expected_positions(model)):
        for i, position in enumerate(positions):
            word = TARGETS[row][i]
            assert_close(scored.log_probs[row, i], np.log(position.probabilities[word]))
            assert_close(scored.alignment[row, i, : len(SOURCES[row])], position.alignment)


def test_loss_equals_the_reference(model):
    expected = sum(
        -np.log(position.probabilities[word])
        for positions, target in zip(expected_positions(model), TARGETS, strict=True)
        for position, word in zip(positions, target, strict=True)
    )
    assert_close(model.loss(*pad(SOURCES), *pad(TARGETS)), expected)


def test_decoder_variants_differ():
    torch.manual_seed(4)
    models = [
        RNNsearch(RNNsearchConfig(3, 4, 5, 2, decoder_variant=r), 9, 7) for r in DECODER_VARIANTS
    ]
    for model in models[1:]:
        model.load_state_dict(models[0].state_dict())
    with torch.no_grad():
        for parameters in zip(*(model.parameters() for model in models), strict=True):
            values = torch.randn_like(parameters[0])
            for parameter in parameters:
                parameter.copy_(values)
    losses = [model.loss(*pad(SOURCES), *pad(TARGETS)).item() for model in models]
    assert min(abs(a - b) for a, b in zip(losses, losses[1:] + losses[:1], strict=True)) > 0.01


def test_the_papers_sizes_are_the_defaults():
    config = RNNsearchConfig()
    assert (config.embedding, config.hidden, config.align, config.maxout) == (620, 1000, 1000, 500)
    assert (config.tied, config.dropout, config.initialisation) == (False, 0.0, "paper")
    assert config.softmax_rank == 0  # W_o is one matrix; GroundHog's factors are an option


def initialised(**changes):
    torch.manual_seed(11)
    config = RNNsearchConfig(40, 48, 56, 30, **changes)
    named = RNNsearch(config, 130, 110).named_parameters()
    return {name: value.detach() for name, value in named}


def shapes(parameters):
    return {name: tuple(value.shape) for name, value in parameters.items()}


def test_parameters_have_the_papers_sizes():
    m, n, align, pool, K_x, K_y = 40, 48, 56, 30, 130, 110
    joined = shapes(initialised())
    matrices = {
        "E_x": (K_x, m),
        "W_enc": (m, 6 * n),
        "U_zr_enc": (2, n, 2 * n),
        "U_enc": (2, n, n),
        "W_s": (n, n),
        "E_y": (K_y, m),
        "W_dec": (m, 3 * n),
        "U_zr_dec": (n, 2 * n),
        "U_dec": (n, n),
        "C": (2 * n, 3 * n),
        "W_a": (n, align),
        "U_a": (2 * n, align),
        "U_o": (n, 2 * pool),
        "V_o": (m, 2 * pool),
        "C_o": (2 * n, 2 * pool),
        "W_o": (K_y, pool),
    }
    assert {name: shape for name, shape in joined.items() if len(shape) > 1} == matrices
    tied = shapes(initialised(tied=True))
    assert "W_o" not in tied and tied["P"] == (pool, m)
    factored = shapes(initialised(softmax_rank=44))
    assert "W_o" not in factored
    assert (factored["F_o"], factored["P"]) == ((K_y, 44), (pool, 44))


@pytest.mark.parametrize("initialisation", ["paper", "scaled"])
def test_each_recurrent_matrix_is_orthogonal(initialisation):
    parameters = initialised(initialisation=initialisation)
    blocks = [*parameters["U_enc"], parameters["U_dec"]]
    for joined in [*parameters["U_zr_enc"], parameters["U_zr_dec"]]:
        blocks += joined.chunk(2, dim=1)
    assert len(blocks) == 9
    for block in blocks:
        torch.testing.assert_close(block @ block.t(), torch.eye(48), atol=1e-5, rtol=0)
    assert all(not torch.equal(a, b) for i, a in enumerate(blocks) for b in blocks[:i])


@pytest.mark.parametrize("initialisation", ["paper", "scaled"])
def test_biases_are_0(initialisation):
    parameters = initialised(initialisation=initialisation)
    biases = {name for name in parameters if name.startswith("b_")}
    assert biases == {"b_enc", "b_s", "b_dec", "b_a", "b_o", "b_y"}
    assert all((parameters[name] == 0).all() for name in biases)


def test_the_papers_normal_distributions(output_matrix):
    parameters = initialised(**output_matrix)
    assert (parameters["v_a"] == 0).all()
    others = {
        name: value
        for name, value in parameters.items()
        if value.dim() > 1 and not name.startswith("U_zr") and name not in ("U_enc", "U_dec")
    }
    assert ("P" in others) == bool(output_matrix.keys() & {"tied", "softmax_rank"})
    assert ("F_o" in others) == ("softmax_rank" in output_matrix)
    assert ("L" in others) == ("lexical_module" in output_matrix)
    if "tied" in output_matrix:
        others.pop("L", None)  # its first values are not random
    for name, value in others.items():
        std = 0.001 if name in ("W_a", "U_a") else 0.01
        count = value.numel()
        assert abs(float(value.std()) / std - 1) < 4 / (2 * count) ** 0.5, name
        assert abs(float(value.mean())) < 4 * std / count**0.5, name
        assert value.abs().max() > 2.5 * std, name  # not a uniform distribution


def test_scaled_matrices_have_the_bounds_of_glorot_and_bengio():
    parameters = initialised(initialisation="scaled", tied=True)
    widths = {"W_enc": (40, 48), "W_dec": (40, 48), "C": (96, 48)}
    plain = ["W_s", "W_a", "U_a", "U_o", "V_o", "C_o", "P"]
    widths |= {name: tuple(parameters[name].shape) for name in plain}
    for name, (inputs, outputs) in widths.items():
        bound = (6 / (inputs + outputs)) ** 0.5
        largest = float(parameters[name].abs().max())
        assert 0.98 * bound < largest <= bound, name
    for name in ("E_x", "E_y"):
        assert abs(float(parameters[name].std()) * 40**0.5 - 1) < 0.05
    factor = initialised(initialisation="scaled", softmax_rank=44)["F_o"]
    assert abs(float(factor.std()) * 44**0.5 - 1) < 0.05
    assert abs(float(parameters["v_a"].std()) * 56**0.5 - 1) < 0.4


def test_a_lexical_module_begins_as_a_dictionary():
    parameters = initialised(tied=True, lexical_module=True)
    assert torch.equal(parameters["L"], LEXICAL_SCALE * torch.eye(40))
    assert shapes(initialised(lexical_module=True))["L"] == (40, 30)
    assert "L" not in initialised(tied=True)


def test_a_word_that_attention_looks_at_is_likelier_to_be_translated():
    """Source embeddings are those of their translations, and nothing else has been learned."""
    torch.manual_seed(5)
    settings: dict[str, Any] = {"tied": True, "lexical_module": True, "initialisation": "scaled"}
    model = RNNsearch(RNNsearchConfig(64, 8, 8, 8, **settings), 12, 12).eval()
    with torch.no_grad():
        model.E_x.copy_(model.E_y)
        forced = model.teacher_forced(SentencePairs(*pad([[7, 0]]), *pad([[7, 0]])))
        votes = log_probs(model.output_layer(), forced.readout[:1])[0]  # of the first position
    assert set(votes.topk(2).indices.tolist()) == {7, 0}


def test_initialise_draws_new_values():
    torch.manual_seed(1)
    model = RNNsearch(RNNsearchConfig(3, 4, 5, 2), 9, 7)
    first = {name: value.clone() for name, value in model.named_parameters()}
    torch.manual_seed(1)
    model.initialise()
    again = dict(model.named_parameters())
    assert any(not torch.equal(first[name], again[name]) for name in first) is False
    model.initialise()
    assert not torch.equal(first["W_s"], model.W_s)


def test_the_config_cannot_be_changed_by_accident():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RNNsearchConfig().hidden = 5  # type: ignore[misc]
