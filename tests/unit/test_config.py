"""Settings: of the right kind and in their ranges, and a sentence for every mistake."""

import dataclasses

import pytest

from nmtkit.config import (
    Config,
    TrainingConfig,
    config_from,
    settings_from,
)
from nmtkit.errors import ConfigError
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.training.train import make_config


def test_no_settings_are_the_defaults():
    config = config_from({}, "nothing")
    assert config == Config(model=RNNsearchConfig())


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainingConfig().seed = 3  # type: ignore[misc]


def test_whole_numbers_stand_for_real_ones_and_not_the_other_way():
    assert settings_from(TrainingConfig, {"learning_rate": 1}, "here").learning_rate == 1.0
    assert type(settings_from(TrainingConfig, {"learning_rate": 1}, "here").learning_rate) is float
    with pytest.raises(ConfigError, match=r"here\.seed: expected int, not 1\.0"):
        settings_from(TrainingConfig, {"seed": 1.0}, "here")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"trainig": {}}, "no section 'trainig'; did you mean 'training'?"),
        ({"xyz": {}}, "no section 'xyz'; known are: data, model, search, text, training"),
        ({"training": {"learning_rat": 1.0}}, "'learning_rat'; did you mean 'learning_rate'?"),
        ({"model": {"hiden": 5}}, "'hiden'; did you mean 'hidden'?"),
        ({"data": {"zzz": 5}}, "'zzz'; known are: batch_size, batch_unit, max_length"),
        ({"model": {"type": "rnsearch"}}, "no model 'rnsearch'; did you mean 'rnnsearch'?"),
        ({"training": {"seed": "one"}}, "training.seed: expected int, not 'one'"),
        ({"training": {"seed": True}}, "training.seed: expected int, not True"),
        ({"training": {"dev_bleu": 1}}, "training.dev_bleu: expected bool, not 1"),
        ({"training": {"learning_rate": "fast"}}, "expected float, not 'fast'"),
        ({"training": {"optimizer": "adamw"}}, "'adamw' is not one of adadelta, adam, sgd"),
        ({"model": {"reading": ["paper-v1"]}}, "is not one of paper-v1, paper-v2, groundhog"),
        ({"text": {"src_language": 3}}, "text.src_language: expected str, not 3"),
        ({"training": {"stop_on": "bleu", "dev_bleu": False}}, "needs training.dev_bleu = true"),
        ({"training": {"label_smoothing": 1.0}}, "label_smoothing must be in [0, 1)"),
        ({"training": {"max_epochs": 5, "cooldown": 6}}, "cooldown needs training.max_updates"),
    ],
)
def test_a_mistake_is_named_with_its_place(table, message):
    with pytest.raises(ConfigError) as error:
        config_from(table, "my.toml")
    assert str(error.value).startswith("my.toml: ") and message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "key",
    [
        "data.max_length", "data.batch_size", "data.pool", "training.accumulate",
        "training.validate_every", "training.average", "training.keep", "training.dev_beam",
        "search.beam",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [0, -3])
def test_what_counts_is_at_least_one(key, value):
    section, _, name = key.partition(".")
    with pytest.raises(ConfigError, match=f"{key} must be at least 1, not {value}"):
        config_from({section: {name: value}}, "here")
    assert getattr(getattr(config_from({section: {name: 1}}, "here"), section), name) == 1


@pytest.mark.parametrize(
    "override",
    [
        "model.dropout=1.0", "model.dropout=-0.1", "model.hidden=0", "model.embedding=-1",
        "training.seed=-1", "training.learning_rate=-1.0", "training.learning_rate=nan",
        "training.clip_norm=-1.0", "training.warmup=-1", "training.decay=-0.5",
        "training.rho=2.0", "training.epsilon=-1.0", "training.max_updates=-1",
        "training.max_epochs=-1", "training.patience=-1", "training.decay_patience=-1",
        "search.max_length_ratio=-1.0",
    ],
)  # fmt: skip
def test_values_that_cannot_mean_anything_are_refused(override):
    key = override.partition("=")[0]
    with pytest.raises(ConfigError, match=key):
        make_config("rnnsearch-30", overrides=[override])


@pytest.mark.parametrize(
    "text",
    [
        "data = 3", 'model = "rnnsearch"', "training = [1]", "model.type = 3",
        'model.type = ["rnnsearch"]', "base = 3",
    ],
)  # fmt: skip
def test_what_is_no_table_or_name_is_refused(tmp_path, text):
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        make_config(config_file=tmp_path / "my.toml")
