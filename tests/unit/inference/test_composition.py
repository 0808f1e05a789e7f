"""Compositions of lines come in order and do not depend on other lines."""

import dataclasses

import pytest
import torch

from nmtkit.errors import ModelError
from nmtkit.inference.composition import compositions
from nmtkit.models.grconv import GrConv, GrConvConfig


@pytest.fixture
def loaded(make_model):
    expected_weights = make_model(1)
    torch.manual_seed(3)
    model = GrConv(
        GrConvConfig(6, 5, 8, 4), len(expected_weights.src_vocab), len(expected_weights.tgt_vocab)
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return dataclasses.replace(expected_weights, model=model)


def test_compositions_do_not_depend_on_batches(loaded):
    lines = ["a b c", "", "e", "a b", "c d e a b"] * 5
    together = list(compositions(loaded, iter(lines), batch_size=3))
    for line, found in zip(lines, together, strict=True):
        assert found.words == [*line.split(), "</s>"]
        assert [len(level) for level in found.levels] == list(range(len(line.split()), 0, -1))
        [alone] = compositions(loaded, [line])
        for nodes, same in zip(found.levels, alone.levels, strict=True):
            for node, expected_weights in zip(nodes, same, strict=True):
                assert node == pytest.approx(expected_weights, abs=1e-5)
                assert sum(node) == pytest.approx(1, abs=1e-5)


def test_a_model_without_composition_is_refused(make_model):
    with pytest.raises(ModelError, match="no structure"):
        list(compositions(make_model(1), ["a"]))
