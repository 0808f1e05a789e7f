"""Settings are checked for types and ranges, and every mistake gets one error line."""

import dataclasses

import pytest

from nmtkit.config import RENAMED_SETTINGS, Config, TrainingConfig, parse_config, parse_section
from nmtkit.errors import ConfigError
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.training.settings import make_config


def test_an_empty_table_gives_the_defaults():
    config = parse_config({}, "nothing")
    assert config == Config(model=RNNsearchConfig())


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainingConfig().seed = 3  # type: ignore[misc]


def test_whole_numbers_become_floats_but_not_the_reverse():
    assert parse_section(TrainingConfig, {"learning_rate": 1}, "here").learning_rate == 1.0
    assert type(parse_section(TrainingConfig, {"learning_rate": 1}, "here").learning_rate) is float
    with pytest.raises(ConfigError, match=r"here\.seed: expected a whole number, not 1\.0"):
        parse_section(TrainingConfig, {"seed": 1.0}, "here")


OLD_VALUES = {
    "model.output_rank": ("phrase-rnn", 7),
    "model.reading": ("rnnsearch-30", "paper-v2"),
    "data.pool": ("toy", 7),
    "training.accumulate": ("toy", 7),
    "training.average": ("toy", 7),
    "training.cost": ("toy", "sentence-mean"),
    "training.decay": ("toy", 0.25),
    "training.decay_after": ("toy", 2.5),
    "training.decay_every": ("toy", 2.5),
    "training.decay_patience": ("toy", 7),
    "training.keep": ("toy", 7),
    "training.max_skipped": ("toy", 7),
    "training.stop_on": ("toy", "bleu"),
    "search.rule": ("toy", "shrinking"),
    "text.bpe": ("toy", "separate"),
}
"""Old setting name of nmtkit 0.1 -> a recipe, and a value that differs from the recipe's."""


def value_of(config, setting):
    section, name = setting.split(".")
    return getattr(getattr(config, section), name)


def test_every_old_name_is_tested():
    assert OLD_VALUES.keys() == RENAMED_SETTINGS.keys()


@pytest.mark.parametrize("old", RENAMED_SETTINGS)
def test_old_names_are_read_with_a_warning(tmp_path, caplog, old):
    recipe, value = OLD_VALUES[old]
    new = RENAMED_SETTINGS[old]
    path = tmp_path / "my.toml"
    path.write_text(f'base = "{recipe}"\n{old} = {value!r}\n', encoding="utf-8")
    assert value_of(make_config(recipe), new) != value
    for arguments in (
        {"config_file": path},
        {"recipe": recipe, "overrides": [f"{old}={value}"]},
        {"config_file": path, "overrides": [f"{old}={value}"]},
    ):
        caplog.clear()
        assert value_of(make_config(**arguments), new) == value
        [message] = caplog.messages
        assert message.startswith(f"{old} is now called {new}; ")


def test_all_old_names_of_a_file_are_warned_of_together(tmp_path, caplog):
    path = tmp_path / "config.toml"
    path.write_text("[training]\nkeep = 5\nstop_on = 'cost'\n", encoding="utf-8")
    make_config(config_file=path)
    [message] = caplog.messages
    assert sorted(message.partition("; ")[0].split(", ")) == [
        "training.keep is now called training.keep_checkpoints",
        "training.stop_on is now called training.early_stopping_metric",
    ]
    assert message.endswith("; a later version will not read the old names")


@pytest.mark.parametrize("old", RENAMED_SETTINGS)
def test_new_names_give_no_warning(caplog, old):
    recipe, value = OLD_VALUES[old]
    new = RENAMED_SETTINGS[old]
    assert value_of(make_config(recipe, overrides=[f"{new}={value}"]), new) == value
    assert not caplog.messages


@pytest.mark.parametrize("old", RENAMED_SETTINGS)
def test_old_and_new_name_together_are_refused(tmp_path, old):
    recipe, value = OLD_VALUES[old]
    new = RENAMED_SETTINGS[old]
    message = f"{old} and {new} are the same setting; remove {old}, the old name"
    path = tmp_path / "my.toml"
    path.write_text(f"{old} = {value!r}\n{new} = {value!r}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        make_config(recipe, path)
    assert str(error.value) == f"{path}: {message}"
    with pytest.raises(ConfigError) as error:
        make_config(recipe, overrides=[f"{new}={value}", f"{old}={value}"])
    assert str(error.value) == f"--set: {message}"


def test_an_override_by_the_new_name_wins_over_a_file_with_the_old_one(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text("training.average = 5\n", encoding="utf-8")
    config = make_config("toy", path, ["training.average_checkpoints=6"])
    assert config.training.average_checkpoints == 6


def test_old_names_in_a_model_folder_give_no_warning(caplog):
    config = parse_config({"training": {"average": 5}, "search": {"rule": "bounded"}}, "folder")
    assert (config.training.average_checkpoints, config.search.beam_mode) == (5, "bounded")
    assert not caplog.messages


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"trainig": {}}, "no section 'trainig'; did you mean 'training'?"),
        ({"xyz": {}}, "no section 'xyz'; known are: data, model, search, text, training"),
        ({"training": {"learning_rat": 1.0}}, "'learning_rat'; did you mean 'learning_rate'?"),
        ({"model": {"hiden": 5}}, "'hiden'; did you mean 'hidden'?"),
        ({"training": {"batch_size": 5}}, "'batch_size'; did you mean 'data.batch_size'?"),
        ({"training": {"early_stopping": 5}}, "did you mean 'training.patience'?"),
        ({"data": {"zzz": 5}}, "'zzz'; known are: batch_size, batch_unit, bpe_dropout"),
        ({"model": {"type": "rnsearch"}}, "no model 'rnsearch'; did you mean 'rnnsearch'?"),
        ({"training": {"seed": "one"}}, "training.seed: expected a whole number, not 'one'"),
        ({"training": {"seed": True}}, "training.seed: expected a whole number, not true"),
        ({"training": {"dev_bleu": 1}}, "training.dev_bleu: expected true or false, not 1"),
        ({"training": {"learning_rate": "fast"}}, "expected a number, not 'fast'"),
        ({"training": {"optimizer": "adamw"}}, "'adamw' is not one of adadelta, adam, sgd"),
        (
            {"model": {"decoder_variant": ["paper-v1"]}},
            "is not one of paper-v1, paper-v2, groundhog",
        ),
        ({"text": {"src_language": 3}}, "text.src_language: expected a text, not 3"),
        (
            {"training": {"early_stopping_metric": "bleu", "dev_bleu": False}},
            "needs training.dev_bleu = true",
        ),
        ({"training": {"label_smoothing": 1.0}}, "label_smoothing must be in [0, 1)"),
        ({"training": {"max_epochs": 5, "cooldown": 6}}, "cooldown needs training.max_updates"),
        ({"training": {"seed": 1 << 64}}, "training.seed must be from 0 to 9223372036854775807"),
        ({"training": {"batch_parts": 10**20}}, "training.batch_parts must be from 1 to 1,024"),
        (
            {"training": {"gradient_accumulation": 10**20}},
            "training.gradient_accumulation must be from 1 to 10,000",
        ),
        ({"training": {"lr_decay_every": 1e-320}}, "lr_decay_every must be at least 0.000001"),
        ({"training": {"lr_decay": 2}}, "training.lr_decay must be above 0 and at most 1, not 2"),
        (
            {"search": {"no_repeat_ngram": -1}},
            "search.no_repeat_ngram must be at least 0, not -1",
        ),
        ({"search": {"length_penalty": 20}}, "search.length_penalty must be from 0 to 10, not 20"),
        ({"search": {"beam": 20_000}}, "search.beam must be from 1 to 10,000, not 20000"),
        ({"search": {"max_length_ratio": 1e18}}, "must be above 0 and at most 1,000, not 1e+18"),
        (
            {"search": {"min_length_ratio": 3, "max_length_ratio": 2}},
            "search.min_length_ratio must be at most search.max_length_ratio, 2, not 3",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(table, message):
    with pytest.raises(ConfigError) as error:
        parse_config(table, "my.toml")
    assert str(error.value).startswith("my.toml: ") and message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "key",
    [
        "data.max_length", "data.batch_size", "data.sort_pool", "training.gradient_accumulation",
        "training.validate_every", "training.average_checkpoints", "training.keep_checkpoints",
        "training.dev_beam", "search.beam",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [0, -3])
def test_counts_must_be_at_least_one(key, value):
    section, _, name = key.partition(".")
    with pytest.raises(ConfigError, match=f"{key} must be (at least|from) 1.*, not {value}"):
        parse_config({section: {name: value}}, "here")
    assert getattr(getattr(parse_config({section: {name: 1}}, "here"), section), name) == 1


@pytest.mark.parametrize(
    "override",
    [
        "model.dropout=1.0", "model.dropout=-0.1", "model.hidden=0", "model.embedding=-1",
        "training.seed=-1", "training.learning_rate=-1.0", "training.learning_rate=nan",
        "training.clip_norm=-1.0", "training.warmup=-1", "training.lr_decay=-0.5",
        "training.rho=2.0", "training.epsilon=-1.0", "training.max_updates=-1",
        "training.max_epochs=-1", "training.patience=-1", "training.lr_decay_patience=-1",
        "search.max_length_ratio=-1.0",
    ],
)  # fmt: skip
def test_values_out_of_range_are_refused(override):
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
def test_sections_and_model_names_of_a_wrong_type_are_refused(tmp_path, text):
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        make_config(config_file=tmp_path / "my.toml")
