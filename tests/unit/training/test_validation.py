"""The cost of the dev set equals the model's cost sentence by sentence, without dropout."""

import dataclasses

import pytest
import torch

from nmtkit.data.batch import make_batch
from nmtkit.model_folder import read_config
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.search.beam import beam_search
from nmtkit.training.dev_metrics import DevScores
from nmtkit.training.train import train
from nmtkit.training.validation import validate
from tests.unit.training.small_training import SMALL, prepare

PAIRS = [([3, 4, 0], [5, 0]), ([2, 0], [6, 7, 8, 0]), ([0], [0])]


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = RNNsearchConfig(3, 4, 3, 2, dropout=0.5, initialisation="scaled")
    return RNNsearch(config, 9, 9).train()


def batches(size):
    parts = [PAIRS[start : start + size] for start in range(0, len(PAIRS), size)]
    return [
        make_batch([src for src, _ in part], [tgt for _, tgt in part], [1] * len(part))
        for part in parts
    ]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_costs_are_means_over_tokens_and_over_sentences(model, size):
    model.eval()
    total = sum(float(model.loss(*batch[:4]).detach()) for batch in batches(1))
    validation = validate(model, batches(size), torch.device("cpu"), None)
    assert validation.cost_per_token == pytest.approx(total / 7)
    assert validation.cost_per_sentence == pytest.approx(total / 3)
    assert validation.bleu is None


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_off_and_the_training_mode_is_restored(model, training):
    model.train(training)
    figures = {validate(model, batches(2), torch.device("cpu"), None) for _ in range(3)}
    assert len(figures) == 1
    assert model.training == training


def test_bleu_is_measured_without_dropout_and_gradients(model):
    seen = []

    def scores() -> DevScores:
        seen.append((model.training, torch.is_grad_enabled()))
        return DevScores(12.5, 31.0)

    validation = validate(model, batches(2), torch.device("cpu"), scores)
    assert (validation.bleu, validation.chrf) == (12.5, 31.0)
    assert seen == [(False, False)]


def test_a_model_that_has_diverged_is_not_translated_with(model):
    """Search refuses its scores; the training ends with the remedy when updates are skipped."""
    with torch.no_grad():
        model.b_y.fill_(torch.nan)
    validation = validate(model, batches(2), torch.device("cpu"), lambda: pytest.fail("translated"))
    assert validation.bleu is None and validation.cost_per_token != validation.cost_per_token


def test_training_can_continue_after_validation(model):
    validate(model, batches(2), torch.device("cpu"), None)
    model.loss(*batches(3)[0][:4]).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_the_dev_set_is_translated_with_a_beam_of_its_own(tmp_path, monkeypatch):
    searched = []

    def record(models, src, src_mask, settings, n_best):
        searched.append(settings)
        return beam_search(models, src, src_mask, settings, n_best)

    monkeypatch.setattr("nmtkit.training.validation.beam_search", record)
    beams = ["training.dev_beam=3", "search.beam=7", "training.dev_bleu=true"]
    data = prepare(tmp_path / "data")
    train(data, tmp_path / "model", overrides=[*SMALL, *beams], device="cpu")
    plain = read_config(tmp_path / "model").search
    assert searched and plain.beam == 7
    assert set(searched) == {dataclasses.replace(plain, beam=3)}
