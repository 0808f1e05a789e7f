"""A training that starts from the parameters of another model."""

import dataclasses
import json
import shutil

import pytest

from nmtkit.config_io import read_toml
from nmtkit.errors import ConfigError, DataError, ModelError, NmtkitError
from nmtkit.io.parameters import read_parameters, write_parameters
from nmtkit.training import initial_model
from nmtkit.training.provenance import ADAPTATION_KEY, INITIAL_KEY
from nmtkit.training.settings import describe_settings
from nmtkit.training.train import train
from nmtkit.training.trainer import Trainer
from tests.unit.training.small_training import SMALL, TEXT, prepare


@pytest.fixture
def start(tmp_path):
    """Train with another corpus of the same words: `start("new", initial_model=...)`."""
    prepare(tmp_path / "other", shift=1)

    def call(name, *overrides, data="other", **options):
        train(tmp_path / data, tmp_path / name, overrides=overrides, device="cpu", **options)
        return tmp_path / name

    return call


@pytest.fixture
def model(tmp_path, start):
    """Train the first model."""
    prepare(tmp_path / "prepared")
    return start("model", *SMALL, data="prepared", recipe="toy")


def parameters(path):
    return {name: value.tolist() for name, value in read_parameters(path).items()}


def start_of(folder):
    return folder / "checkpoints" / "00000000.interrupted" / "params.safetensors"


@pytest.fixture
def no_updates(monkeypatch):
    """Interrupt a training before its first update."""

    def stop(trainer):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "run", stop)


def test_the_other_models_parameters_and_settings_are_the_start(model, start, no_updates):
    with pytest.raises(KeyboardInterrupt):
        start("new", "training.max_updates=3", initial_model=model)
    new = model.parent / "new"
    assert parameters(start_of(new)) == parameters(model / "params.best.safetensors")
    settings, expected = (read_toml(folder / "config.toml") for folder in (new, model))
    assert settings["training"].pop("max_updates") == 3
    assert expected["training"].pop("max_updates") == 2
    assert settings == expected
    record = json.loads((new / "origin.json").read_text())
    assert record["initial"]["path"] == str(model) and record["initial"]["update"] == 2
    assert f"--from {model}" in record["command"]
    assert len(record["initial"]["parameters"]) == 64


def test_another_file_of_parameters_may_be_given(model, start, no_updates):
    last = model / "params.last.safetensors"
    shutil.copy(model / "checkpoints" / "00000002" / "params.safetensors", last)
    with pytest.raises(KeyboardInterrupt):
        start("new", initial_model=last)
    assert parameters(start_of(model.parent / "new")) == parameters(last)


def test_parameters_of_an_unknown_update_are_named_without_it(model, start, no_updates, caplog):
    path = model / "params.best.safetensors"
    caplog.set_level("INFO", "nmtkit")
    write_parameters(path, read_parameters(path))  # nmtkit 0.1 wrote no update
    with pytest.raises(KeyboardInterrupt):
        start("new", initial_model=model)
    assert f"starting from the parameters of {path}\n" in caplog.text


def test_the_parameters_of_a_checkpoint_may_be_given(model, start, no_updates):
    checkpoint = model / "checkpoints" / "00000002" / "params.safetensors"
    with pytest.raises(KeyboardInterrupt):
        start("new", initial_model=checkpoint)
    new = model.parent / "new"
    assert parameters(start_of(new)) == parameters(checkpoint)
    assert json.loads((new / "origin.json").read_text())["initial"]["update"] == 2


def test_such_a_training_resumes_without_the_other_model(model, start, caplog):
    whole = start("whole", "training.max_updates=4", initial_model=model)
    new = start("new", initial_model=model)
    shutil.rmtree(model)
    caplog.set_level("INFO")
    start("new", "training.max_updates=4", initial_model=model)
    assert "resuming from update 2" in caplog.text
    name = "params.last.safetensors"
    assert (new / name).read_bytes() == (whole / name).read_bytes()
    assert not start_of(new).exists()


def test_a_training_killed_before_its_first_validation_resumes_without_the_other_model(
    model, start, monkeypatch
):
    whole = start("whole", initial_model=model)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Trainer, "_optimizer_step", interrupt)
        start("new", initial_model=model)
    shutil.rmtree(model)
    new = start("new", initial_model=model)
    name = "params.last.safetensors"
    assert (new / name).read_bytes() == (whole / name).read_bytes()


def test_several_ranks_start_from_the_same_parameters(model, start, run_ranks, monkeypatch):
    def task():
        starts = []

        def run(trainer):
            starts.append(values(trainer))
            trainer.progress = dataclasses.replace(trainer.progress, best_cost=1.0)

        monkeypatch.setattr(Trainer, "run", run)
        start("new", initial_model=model)
        return starts

    def values(trainer):
        return {name: value.tolist() for name, value in trainer.model.named_parameters()}

    expected = [parameters(model / "params.best.safetensors")]
    assert [outcome.value for outcome in run_ranks(2, task)] == [expected, expected]


def interrupt(*_):
    raise KeyboardInterrupt


def test_a_training_killed_before_its_first_checkpoint_starts_from_the_same_parameters(
    model, start, monkeypatch
):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Trainer, "save_start", interrupt)
        start("new", initial_model=model)
    best = model / "params.best.safetensors"
    best.rename(model / "best")
    with pytest.raises(ModelError, match=r"params.best.safetensors: no such file"):
        start("new", initial_model=model)
    tensors = read_parameters(model / "best")
    write_parameters(best, {name: value + 1 for name, value in tensors.items()})
    with pytest.raises(ModelError, match="parameters have changed since the training of .*new was"):
        start("new", initial_model=model)
    (model / "best").rename(best)
    assert (start("new", initial_model=model) / "params.best.safetensors").exists()


def test_the_same_command_with_another_start_is_refused(model, start):
    new, other = start("new", initial_model=model), start("other model", *SMALL, recipe="toy")
    for refused, initial in (("new", None), ("new", other), ("other model", model)):
        with pytest.raises(
            ConfigError, match="its training was (not )?started --from .*; .*--force"
        ):
            start(refused, initial_model=initial)
    shutil.copytree(model, model.parent / "moved")
    shutil.rmtree(model)
    start("new", initial_model=model.parent / "moved")
    start("new", initial_model=model.parent / "moved", force=True)
    assert json.loads((new / "origin.json").read_text())["initial"]["path"].endswith("moved")


def test_an_adapted_model_has_no_training_to_resume(model, start, monkeypatch):
    record = {"path": "base", "parameters": "0" * 64, "update": 2}
    adapted = {INITIAL_KEY: record, ADAPTATION_KEY: {}}
    monkeypatch.setattr(initial_model, "read_provenance", lambda folder: adapted)
    for options in ({}, {"initial_model": "base"}):
        with pytest.raises(ConfigError, match=rf"'nmtkit adapt', .* give --from {model} and"):
            start("model", data="prepared", **options)


@pytest.mark.parametrize("force", [False, True])
def test_a_model_is_not_the_start_of_itself(model, start, force):
    before = (model / "params.best.safetensors").read_bytes()
    for initial in (model, model / "params.last.safetensors", model.parent / "x" / ".." / "model"):
        with pytest.raises(ConfigError, match="--from and is in the --output; choose another"):
            start("model", initial_model=initial, force=force)
    assert (model / "params.best.safetensors").read_bytes() == before


def other_words(folder):
    lines = (folder / "vocab.tgt").read_text().splitlines(keepends=True)
    (folder / "vocab.tgt").write_text("".join([*lines[:-2], lines[-1], lines[-2]]))


def more_words(folder):
    with open(folder / "vocab.src", "a") as file:
        file.write("delta\t1\n")


def other_text(folder):
    text = {**TEXT, "hyphens": True}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "text": text}))


def other_languages(folder):
    text = {**TEXT, "src_language": "fr", "tgt_language": "en"}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "text": text}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_words, "other/vocab.tgt: line 4 is 'GAMMA', but 'BETA' in .*; .* --like .*model"),
        (more_words, "other/vocab.src: has 6 words, but there are 5 in .*; .* --like .*model"),
        (
            other_text,
            "other: text.hyphens is True, but False in .*model.*; prepare .*--like .*model",
        ),
        (
            other_languages,
            "other: text.src_language is 'fr', but 'en' in .*; prepare the text with",
        ),
    ],
)
def test_other_text_is_refused_with_what_to_do(model, start, change, message):
    change(model.parent / "other")
    with pytest.raises(NmtkitError, match=message):
        start("new", initial_model=model)
    assert not (model.parent / "new").exists()


def test_text_of_other_merges_is_refused(tmp_path, start):
    text = {**TEXT, "subwords": "joint"}
    for name, merges in (("one", "a l"), ("two", "e t")):
        folder = prepare(tmp_path / name, text=text)
        for side in ("src", "tgt"):
            (folder / f"bpe.{side}").write_text(f"#version: 0.2\n{merges}\n")
    model = start("model", *SMALL, data="one", recipe="toy")
    with pytest.raises(
        DataError, match="two: words are split in another way than by .*model/bpe.src"
    ):
        start("new", data="two", initial_model=model)
    text["subwords"] = "separate"  # however they were learned
    (tmp_path / "one" / "manifest.json").write_text(json.dumps({"format": 1, "text": text}))
    start("new", data="one", initial_model=model)


@pytest.mark.parametrize(
    ("override", "recipe", "message"),
    [
        ("model.hidden=6", None, r"W_enc has the shape \[4, 30\], .* the shape \[4, 36\]"),
        ("model.hidden=6", None, r"model\.hidden is 5, not 6"),
        ("model.hidden=6", "rnnenc-30", "model: is of type rnnsearch, not rnnenc"),
        (
            "model.lexical_module=true",
            None,
            r"L has no place, .*model\.lexical_module is false, not true",
        ),
        ("model.decoder_variant=paper-v1", None, 'decoder_variant is "groundhog", not "paper-v1"'),
    ],
)
def test_settings_of_another_model_are_refused(model, start, override, recipe, message):
    with pytest.raises(ConfigError, match=f"{message}.*leave out --recipe"):
        start("new", override, recipe=recipe, initial_model=model)
    assert not (model.parent / "new").exists()


def test_settings_of_the_training_may_be_others(model, start):
    changed = ("model.dropout=0.1", "training.optimizer=adam", "data.batch_size=3")
    new = start("new", *changed, "training.seed=7", initial_model=model)
    assert read_toml(new / "config.toml")["training"]["optimizer"] == "adam"


def test_a_curriculum_of_short_sentences_does_not_begin_again(model):
    config = model / "config.toml"
    config.write_text(
        config.read_text().replace("curriculum_updates = 0", "curriculum_updates = 9")
    )
    assert "curriculum_updates = 9" in config.read_text()
    assert "curriculum_updates = 0" in describe_settings(None, None, [], model)
    asked = ["training.curriculum_updates=5"]
    assert "curriculum_updates = 5" in describe_settings(None, None, asked, model)


def test_a_recipe_or_a_base_takes_the_place_of_the_other_models_settings(model, tmp_path):
    config = tmp_path / "new.toml"
    config.write_text("[training]\nseed = 7\n")
    expected = describe_settings(None, None, ["training.seed=7"], model)
    assert describe_settings(None, config, [], model) == expected
    config.write_text('base = "rnnenc-30"\n')
    assert describe_settings(None, config, [], model) == describe_settings("rnnenc-30", None, [])


@pytest.mark.parametrize("name", ["params.best.safetensors", "vocab.src", "config.toml"])
def test_a_damaged_or_missing_model_is_no_start(model, start, name):
    (model / name).write_bytes(b"damaged")
    with pytest.raises(NmtkitError):
        start("new", initial_model=model)
    (model / name).unlink()
    with pytest.raises(NmtkitError):
        start("new", initial_model=model)
    assert not (model.parent / "new").exists()


def test_a_training_does_not_go_on_with_another_corpus_of_the_same_words(model, start, tmp_path):
    """This went on from the old model without a word."""
    for side in ("src", "tgt"):
        shutil.copy(tmp_path / "prepared" / f"vocab.{side}", tmp_path / "other")
    with pytest.raises(DataError) as error:
        start("model", *SMALL, "training.max_updates=4", recipe="toy")
    message = str(error.value)
    assert message.startswith(f"{tmp_path}/other/train.src: has changed since the training of")
    assert f"--from {model} with another --output" in message
    start("new", initial_model=model)
