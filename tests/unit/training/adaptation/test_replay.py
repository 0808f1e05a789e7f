"""The data that is replayed is that of the model's training, or none."""

import dataclasses
import json
import shutil

import pytest

from nmtkit.errors import ConfigError, DataError
from nmtkit.model_folder import load_model
from nmtkit.training.adaptation.folder import adapted_provenance
from nmtkit.training.adaptation.replay import REPLAY_KEY, find_replay, open_replay, recorded_data
from nmtkit.training.adaptation.report import AdaptationReport
from nmtkit.training.train import train
from tests.unit.training.small_training import SMALL, TEXT, prepare


@pytest.fixture
def folders(tmp_path):
    """A prepared folder `data`, and a model folder `model` trained on it."""
    data = prepare(tmp_path / "data")
    train(data, tmp_path / "model", overrides=SMALL, device="cpu")
    return data, tmp_path / "model"


def test_the_data_of_the_training_is_found(folders):
    data, folder = folders
    assert recorded_data(folder) == data
    replay = find_replay(folder, load_model(folder, "cpu"))
    assert replay is not None and len(replay.corpus) == 9


def test_changed_or_missing_data_is_not_used(folders):
    data, folder = folders
    (data / "train.tgt").write_text((data / "train.tgt").read_text().replace("ALPHA", "BETA"))
    assert recorded_data(folder) is None
    shutil.rmtree(data)
    assert find_replay(folder, load_model(folder, "cpu")) is None


def test_data_is_found_beside_a_model_that_was_moved(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train("data", "relative", overrides=SMALL, device="cpu")
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.move(tmp_path / "relative", moved / "relative")
    shutil.move(tmp_path / "data", moved / "data")
    assert recorded_data(moved / "relative") == moved / "data"


def test_an_adapted_model_names_the_data_of_the_first(folders):
    data, folder = folders
    origin = json.loads((folder / "origin.json").read_text())
    origin |= {"command": "nmtkit adapt other --data a.tsv --output b", REPLAY_KEY: str(data)}
    (folder / "origin.json").write_text(json.dumps(origin))
    (folder / "SHA256SUMS").unlink()
    assert recorded_data(folder) == data


def test_data_that_was_away_at_an_adaptation_is_found_at_the_next(folders):
    data, folder = folders
    shutil.move(data, data.with_name("away"))
    model = load_model(folder, "cpu")
    assert find_replay(folder, model) is None
    report = AdaptationReport(1, None, None, (), None, 5, 1.0, 2.0)
    origin = adapted_provenance(folder, "nmtkit adapt", {}, model, None, report, {})
    shutil.move(data.with_name("away"), data)
    (folder / "origin.json").write_text(json.dumps(origin))
    (folder / "SHA256SUMS").unlink()
    assert recorded_data(folder) == data


def test_other_data_that_was_replayed_is_found_again(folders, tmp_path):
    _, folder = folders
    other, model = prepare(tmp_path / "other", shift=1), load_model(folder, "cpu")
    replay = open_replay(other, folder, model)
    report = AdaptationReport(1, None, None, (), str(other), 5, 1.0, 2.0)
    origin = adapted_provenance(folder, "nmtkit adapt", {}, model, replay, report, {})
    (folder / "origin.json").write_text(json.dumps(origin))
    (folder / "SHA256SUMS").unlink()
    assert recorded_data(folder) == other


def test_text_that_was_prepared_otherwise_is_refused(folders, tmp_path):
    other = prepare(tmp_path / "other", text={**TEXT, "hyphens": True})
    with pytest.raises(ConfigError, match=r"other: text\.hyphens is true, but false"):
        open_replay(other, folders[1], load_model(folders[1], "cpu"))


def test_data_of_other_languages_or_subwords_is_refused(folders, tmp_path):
    """The vocabulary knows some words of any language, so that nothing else would tell."""
    model = load_model(folders[1], "cpu")
    german = prepare(tmp_path / "german", text={**TEXT, "tgt_language": "de"})
    with pytest.raises(ConfigError, match=r'german: text\.tgt_language is "de", but'):
        open_replay(german, folders[1], model)
    for side in ("src", "tgt"):
        (folders[1] / f"bpe.{side}").write_text("#version: 0.2\na b\n")
    split = dataclasses.replace(model.config.text, subwords="separate")
    config = dataclasses.replace(model.config, text=split)
    with pytest.raises(DataError, match=r"words are split in another way than by .*bpe\.src"):
        open_replay(folders[0], folders[1], dataclasses.replace(model, config=config))


def test_dev_pairs_are_raw_text_spread_over_the_dev_set(folders):
    data, folder = folders
    model = load_model(folder, "cpu")
    pairs = open_replay(data, folder, model).dev_pairs(model, 3)
    assert [pair.where for pair in pairs] == [f"{data / 'dev.tgt'}:{n}" for n in (1, 5, 9)]
    assert all(pair.tgt == pair.src.upper() for pair in pairs)


def test_dev_pairs_with_placeholders_of_names_are_left_out(folders):
    data, folder = folders
    model = load_model(folder, "cpu")
    text = dataclasses.replace(model.config.text, copy_names=True)
    model = dataclasses.replace(model, config=dataclasses.replace(model.config, text=text))
    for side in ("src", "tgt"):
        lines = (data / f"dev.{side}").read_text(encoding="utf-8").splitlines()
        lines[::2] = [f"❶ {line}" for line in lines[::2]]
        (data / f"dev.{side}").write_text("".join(f"{line}\n" for line in lines))
    replay = open_replay(data, folder, load_model(folder, "cpu"))
    found = replay.dev_pairs(model, 100)
    assert [pair.where for pair in found] == [f"{data / 'dev.tgt'}:{n}" for n in (2, 4, 6, 8)]
    masked = "".join(f"❶ a{n}\n" for n in range(9))
    for side in ("src", "tgt"):
        (data / f"dev.{side}").write_text(masked)
    assert len(replay.dev_pairs(model, 100)) == 9, "better than nothing"


def test_a_folder_without_a_dev_set_guards_nothing(folders):
    data, folder = folders
    model = load_model(folder, "cpu")
    replay = open_replay(data, folder, model)
    (data / "dev.src").unlink()
    assert replay.dev_pairs(model, 3) == []


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_dev_pairs_with_an_empty_side_guard_nothing(folders, side):
    data, folder = folders
    lines = (data / f"dev.{side}").read_text(encoding="utf-8").splitlines()
    lines[0] = lines[4] = ""
    (data / f"dev.{side}").write_text("".join(f"{line}\n" for line in lines))
    model = load_model(folder, "cpu")
    pairs = open_replay(data, folder, model).dev_pairs(model, 100)
    assert [pair.where for pair in pairs] == [
        f"{data / 'dev.tgt'}:{number}" for number in (2, 3, 4, 6, 7, 8, 9)
    ]
    assert all(pair.src and pair.tgt == pair.src.upper() for pair in pairs)
