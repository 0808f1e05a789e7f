"""What a training knows about its words before the first update."""

from typing import Any, cast

import pytest
import torch

from nmtkit.config import parse_config
from nmtkit.data import word_pairs
from nmtkit.errors import ConfigError
from nmtkit.models.cslm import CSLM, CSLMConfig
from nmtkit.models.rnnenc import RNNenc, RNNencConfig
from nmtkit.text.term_words import TermWords
from nmtkit.training.informed_start import check_informed_start, tie_term_words
from tests.unit.training.conftest import WORDS, MakeTrainer


def test_source_embeddings_begin_near_those_of_their_translations(
    make_trainer: MakeTrainer,
) -> None:
    plain, informed = (make_trainer(init_source_embeddings=value) for value in (False, True))
    assert torch.equal(plain.model.E_y, informed.model.E_y)

    def similarity(model: torch.nn.Module) -> float:
        E_x, E_y = (dict(model.named_parameters())[name].detach() for name in ("E_x", "E_y"))
        words = torch.arange(3, WORDS - 2)  # the translation of each word is the next one
        return float(torch.cosine_similarity(E_x[words], E_y[words + 1]).mean())

    assert similarity(informed.model) > 0.75 > 0.5 > similarity(plain.model)


def test_a_corpus_that_teaches_no_pairs_trains_without(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_pairs, "MAX_LENGTH", 0)
    trainer = make_trainer(init_source_embeddings=True, guided_alignment=0.5, max_updates=2)
    trainer.run()
    assert trainer.progress.updates == 2


def test_the_output_bias_begins_with_the_frequencies(make_trainer: MakeTrainer) -> None:
    bias = make_trainer(init_output_bias=True).model.b_y.detach().double()
    counts = torch.arange(1, WORDS + 1).double()
    torch.testing.assert_close(bias.softmax(0), counts / counts.sum())
    assert not make_trainer().model.b_y.any()


def test_settings_that_a_model_cannot_use_are_refused() -> None:
    language_model = CSLM(CSLMConfig(2, 2, 3, 3), 5, 5)
    for section, name, value in (
        ("training", "init_source_embeddings", True),
        ("training", "guided_alignment", 0.1),
        ("data", "terms_augment", 0.1),
    ):
        settings = parse_config({section: {name: value}}, "test")
        with pytest.raises(ConfigError, match=f"{section}.{name}"):
            check_informed_start(language_model, settings)
    model = RNNenc(RNNencConfig(2, 3, 2), 5, 5)
    check_informed_start(
        model, parse_config({"training": {"init_source_embeddings": True}}, "test")
    )
    with pytest.raises(ConfigError, match="no attention"):
        check_informed_start(model, parse_config({"training": {"guided_alignment": 0.1}}, "test"))


def test_a_target_word_learns_from_the_source_word_that_stands_for_it() -> None:
    """Both stay the same, and move by the sum of their gradients."""
    words, rate = TermWords(4), 0.5
    E_x, E_y = torch.randn(7, 2), torch.randn(3, 2)
    model = torch.nn.ParameterDict({"E_x": E_x.clone(), "E_y": E_y.clone()})
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    tie_term_words(cast(Any, model), optimizer, words)
    assert torch.equal(model["E_x"][4:], E_y) and torch.equal(model["E_x"][:4], E_x[:4])
    gradients = torch.randn(7, 2), torch.randn(3, 2)
    model["E_x"].grad, model["E_y"].grad = (gradient.clone() for gradient in gradients)
    optimizer.step()
    expected = E_y - rate * (gradients[0][4:] + gradients[1])
    torch.testing.assert_close(model["E_y"].data, expected)
    assert torch.equal(model["E_x"][4:], model["E_y"])
