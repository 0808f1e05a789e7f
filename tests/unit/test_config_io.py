"""Reading and writing settings as TOML: recipes, files with a base, and overrides."""

import dataclasses
import tomllib

import pytest

from nmtkit.config import Config, DataConfig, SearchConfig, TextConfig, TrainingConfig, parse_config
from nmtkit.config_io import (
    merge_tables,
    parse_override,
    read_toml,
    recipe_names,
    recipe_table,
    with_base,
    write_toml,
)
from nmtkit.errors import ConfigError
from nmtkit.models.cslm import CSLMConfig
from nmtkit.models.grconv import GrConvConfig
from nmtkit.models.phrase_rnn import PhraseRNNConfig
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.training.settings import make_config

RECIPES = [
    "cslm",
    "grconv",
    "phrase-rnn",
    "rnnenc-30",
    "rnnenc-50",
    "rnnsearch-30",
    "rnnsearch-50",
    "rnnsearch-modern",
    "seq2seq-lstm",
    "seq2seq-lstm-forward",
    "toy",
]


def flat(config):
    """Return all settings as {"section.key": value}."""
    return {
        f"{section}.{key}": value
        for section, table in dataclasses.asdict(config).items()
        for key, value in table.items()
    }


def round_trip(config):
    return parse_config(tomllib.loads(write_toml(config)), "again")


# Recipes


def test_the_recipes_are_listed():
    assert recipe_names() == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_toml(name):
    config = make_config(name)
    assert round_trip(config) == config


def test_rnnsearch_30_has_the_papers_settings():
    config = make_config("rnnsearch-30")
    model = config.model
    assert (model.embedding, model.hidden, model.align, model.maxout) == (620, 1000, 1000, 500)
    assert (model.tied, model.dropout, model.initialisation) == (False, 0.0, "paper")
    assert config.data == DataConfig(30, 80, "sentences", 20, "ascending", "once")
    training = config.training
    assert (training.optimizer, training.rho, training.epsilon) == ("adadelta", 0.95, 1e-6)
    assert (training.learning_rate, training.clip_norm, training.loss_reduction) == (
        1.0,
        1.0,
        "batch-sum",
    )
    assert (training.warmup, training.cooldown, training.lr_decay_patience) == (0, 0, 0)
    assert (
        training.label_smoothing,
        training.gradient_accumulation,
        training.average_checkpoints,
    ) == (0.0, 1, 1)
    assert training.max_updates == 471_000  # table 2: 4.71e5
    assert (config.search.length_penalty, config.search.forbid_unk) == (1.0, False)


@pytest.mark.parametrize(
    "name", ["rnnenc-30", "rnnenc-50", "rnnsearch-30", "rnnsearch-50", "grconv"]
)
def test_models_of_the_authors_of_groundhog_search_as_its_scripts(name):
    """Cho et al. 2014b, section 4.2.1; GroundHog's test.bash and sample.py."""
    search = make_config(name).search
    assert (search.beam, search.beam_mode, search.length_penalty) == (10, "shrinking", 1.0)
    assert (search.min_length_ratio, search.max_length_ratio) == (0.5, 3.0)


def test_rnnsearch_50_differs_from_rnnsearch_30_in_two_settings():
    short, long = flat(make_config("rnnsearch-30")), flat(make_config("rnnsearch-50"))
    differing = {key: (short[key], long[key]) for key in short if short[key] != long[key]}
    assert differing == {
        "data.max_length": (30, 50),
        "training.max_updates": (471_000, 288_000),  # table 2: 2.88e5
    }


def test_the_cslm_stops_after_ten_epochs_without_improvement():
    config = make_config("cslm")
    assert config.model == CSLMConfig(6, 512, 1536, 1024, 0.0, "paper")
    assert (config.training.validate_epochs, config.training.patience) == (1.0, 10)
    assert (config.training.early_stopping_metric, config.training.dev_bleu) == ("cost", False)
    assert (config.training.max_updates, config.training.max_epochs) == (0, 0.0)


def test_the_modern_recipe_has_modern_settings():
    config = make_config("rnnsearch-modern")
    assert config.model.tied and config.model.dropout > 0
    assert config.data.batch_unit == "tokens"
    assert config.data.shuffle == "every-epoch"
    assert config.training.optimizer == "adam"
    assert config.training.label_smoothing > 0
    assert config.training.average_checkpoints > 1


@pytest.mark.parametrize("name", ["rnnsearch-50", "toy"])
def test_a_recipe_differs_from_its_base_only_in_the_settings_it_names(name):
    from importlib import resources

    text = resources.files("nmtkit.recipes").joinpath(f"{name}.toml").read_text()
    overrides = tomllib.loads(text)
    base, full = flat(make_config(overrides.pop("base"))), flat(make_config(name))
    named = {f"{section}.{key}" for section, table in overrides.items() for key in table}
    assert {key for key in base if base[key] != full[key]} <= named
    for section, table in overrides.items():
        for key, value in table.items():
            assert full[f"{section}.{key}"] == value


def test_a_recipe_that_does_not_exist_names_the_nearest():
    with pytest.raises(ConfigError, match="no recipe 'rnsearch-50'; did you mean 'rnnsearch-50'"):
        recipe_table("rnsearch-50")
    with pytest.raises(ConfigError, match="known are: cslm, grconv, phrase-rnn"):
        recipe_table("xyz")


def test_the_deep_lstm_is_trained_as_in_the_paper():
    """Sutskever et al. 2014, section 3.4."""
    config = make_config("seq2seq-lstm")
    training, data = config.training, config.data
    assert (training.optimizer, training.learning_rate, training.max_epochs) == ("sgd", 0.7, 7.5)
    assert (training.lr_decay, training.lr_decay_after, training.lr_decay_every) == (0.5, 5, 0.5)
    assert (training.loss_reduction, training.clip_norm, data.batch_size) == (
        "sentence-mean",
        5,
        128,
    )
    assert (config.search.beam, config.search.min_length_ratio) == (12, 0.0)
    assert (config.search.length_penalty, config.search.beam_mode) == (0, "shrinking")
    forward = make_config("seq2seq-lstm-forward")
    assert config.model.reverse and not forward.model.reverse
    assert dataclasses.replace(forward.model, reverse=True) == config.model


def test_the_other_models_have_the_papers_settings():
    for name, updates, max_length in (("rnnenc-30", 846_322, 30), ("rnnenc-50", 600_000, 50)):
        config = make_config(name)
        assert (config.training.max_updates, config.data.max_length) == (updates, max_length)
        assert config.model == RNNencConfig()
    assert make_config("grconv").model == GrConvConfig()
    assert make_config("grconv").training.max_updates == 296_144
    phrases = make_config("phrase-rnn")
    assert phrases.model == PhraseRNNConfig()
    assert (phrases.data.batch_size, phrases.data.sort_pool) == (64, 1)
    assert phrases.training.max_updates == 3_000_000


# Writing TOML


def test_every_type_of_value_survives_toml():
    config = Config(
        model=RNNsearchConfig(hidden=7, tied=True, dropout=1 / 3, decoder_variant="paper-v2"),
        data=DataConfig(order="random"),
        training=TrainingConfig(learning_rate=1e-20, epsilon=5e22, seed=2**40, dev_bleu=False),
        search=SearchConfig(length_penalty=0.0),
        text=TextConfig(src_language='a"b\\c', tgt_language="é\u2028"),
    )
    assert round_trip(config) == config


def test_the_document_has_its_format_and_model():
    table = tomllib.loads(write_toml(Config(model=RNNsearchConfig())))
    assert table["format"] == 3 and table["model"]["type"] == "rnnsearch"
    assert set(table) == {"format", "model", "data", "training", "search", "text"}


# Files, bases, overrides


def test_a_file_overrides_its_base(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('base = "rnnsearch-50"\n[model]\nhidden = 9\n', encoding="utf-8")
    base, changed = flat(make_config("rnnsearch-50")), flat(make_config(config_file=path))
    assert {key for key in base if base[key] != changed[key]} == {"model.hidden"}


def test_a_file_overrides_a_recipe_and_overrides_override_both(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text("training.seed = 5\ndata.pool = 6\n", encoding="utf-8")
    config = make_config(
        "toy", path, ["data.sort_pool=7", "data.sort_pool=8", "model.decoder_variant=paper-v2"]
    )
    assert (config.training.seed, config.data.sort_pool) == (5, 8)
    assert config.model.decoder_variant == "paper-v2"
    assert config.model.hidden == make_config("toy").model.hidden


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a = = 3", r"my\.toml: not a TOML file: .*line 1"),
        (b"\xff", r"my\.toml: not a TOML file"),
        (b"#" * (1 << 20) + b"\n", r"my\.toml: not a TOML file: it is larger than 1 MiB"),
        (b'base = "rnnsearch-5"', "no recipe 'rnnsearch-5'; did you mean 'rnnsearch-50'"),
        (b"training.sed = 1", r"my\.toml: training: there is no setting 'sed'; did you mean 'seed"),
    ],
)
def test_a_mistake_is_reported_with_its_file(tmp_path, content, message):
    path = tmp_path / "my.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        make_config(config_file=path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"missing\.toml: cannot be read: No such file"):
        read_toml(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("training.seed=2", {"training": {"seed": 2}}),
        ("training.learning_rate=1e-3", {"training": {"learning_rate": 1e-3}}),
        ("training.dev_bleu=false", {"training": {"dev_bleu": False}}),
        ("data.order=random", {"data": {"order": "random"}}),
        ('data.order="random"', {"data": {"order": "random"}}),
        ("data.order = random ", {"data": {"order": "random"}}),
        ("text.src_language=a=b", {"text": {"src_language": "a=b"}}),
    ],
)
def test_overrides_are_toml_values_or_bare_words(text, table):
    assert parse_override(text) == table


@pytest.mark.parametrize("text", ["seed=2", "training.seed", "training.=2", ".seed=2", "=", ""])
def test_the_error_for_a_malformed_override_shows_the_syntax(text):
    with pytest.raises(ConfigError, match=r"expected SECTION\.KEY=VALUE, e\.g\. training\.seed=2"):
        parse_override(text)


def test_the_upper_table_wins_in_a_merge():
    lower = {"data": {"sort_pool": 1, "order": "random"}, "format": 1}
    upper = {"data": {"sort_pool": 2}, "training": {"seed": 3}}
    assert merge_tables(lower, upper) == {
        "data": {"sort_pool": 2, "order": "random"},
        "format": 1,
        "training": {"seed": 3},
    }
    assert lower["data"] == {"sort_pool": 1, "order": "random"}


def test_with_base_removes_the_key_base():
    table = {"base": "rnnsearch-50", "data": {"sort_pool": 3}}
    assert "base" not in with_base(table)
    assert with_base(table)["data"]["sort_pool"] == 3
    assert table["base"] == "rnnsearch-50"


@pytest.mark.parametrize(
    ("base", "message"), [("'oy'", "there is no recipe 'oy'; did you mean 'toy'"), ("3", "not 3")]
)
def test_a_base_that_does_not_exist_is_reported_with_its_file(tmp_path, base, message):
    (tmp_path / "mine.toml").write_text(f"base = {base}\n")
    with pytest.raises(ConfigError, match=f"mine.toml: base: .*{message}"):
        make_config(config_file=tmp_path / "mine.toml")


def test_a_byte_order_mark_and_carriage_returns_are_not_part_of_toml(tmp_path):
    (tmp_path / "settings.toml").write_bytes(b"\xef\xbb\xbf[model]\r\nhidden = 8\r\n")
    assert read_toml(tmp_path / "settings.toml") == {"model": {"hidden": 8}}
