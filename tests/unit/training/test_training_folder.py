"""The folder of a training: what replaces it, and with which settings it is resumed."""

import json

import pytest

from nmtkit import Translator
from nmtkit.config import RENAMED_SETTINGS, parse_config
from nmtkit.config_io import read_toml
from nmtkit.errors import ConfigError, ModelError, NmtkitError
from nmtkit.training.train import train
from nmtkit.training.trainer import Trainer
from tests.training_metrics import metrics
from tests.unit.training.toy_trainings import SMALL, TEXT, assert_same_training, contents


def test_force_does_not_remove_the_data_that_it_needs(run, prepared, tmp_path):
    folder = run()
    inside = prepared.rename(folder / "prepared")
    expected = contents(folder)
    with pytest.raises(ModelError, match=r"prepared: is in .*model, which --force removes; choose"):
        train(inside, folder, recipe="toy", device="cpu", overrides=SMALL, force=True)
    assert contents(folder) == expected


def give_old_names(folder):
    """Write a folder's settings as nmtkit 0.1 wrote them."""
    path = folder / "config.toml"
    text = path.read_text(encoding="utf-8").replace("format = 3\n", "format = 1\n")
    for old, new in RENAMED_SETTINGS.items():
        text = text.replace(f"\n{new.split('.')[1]} = ", f"\n{old.split('.')[1]} = ")
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("words", ["old", "new"])
def test_a_training_started_with_old_setting_names_resumes(run, caplog, words):
    sizes = {"training.average": 2, "training.accumulate": 2, "model.reading": "paper-v2"}
    names = RENAMED_SETTINGS if words == "new" else {name: name for name in sizes}
    changes = [f"{names[name]}={value}" for name, value in sizes.items()]
    uninterrupted = run("whole", "training.max_updates=8", "training.cooldown=0", *changes)
    folder = run("parts", "training.max_updates=4", "training.cooldown=0", *changes)
    give_old_names(folder)
    config_text = (folder / "config.toml").read_text(encoding="utf-8")
    assert (
        "\nkeep = " in config_text
        and "keep_checkpoints" not in config_text
        and "lr_" not in config_text
    )
    assert Translator.load(folder, device="cpu").translate(["alpha"])
    caplog.clear()
    assert_same_training(
        uninterrupted, run("parts", "training.max_updates=8", "training.cooldown=0", *changes)
    )
    assert caplog.text.count("is now called") == (len(sizes) if words == "old" else 0)
    text = (folder / "config.toml").read_text(encoding="utf-8")
    assert text.startswith("format = 3\n") and "\nkeep_checkpoints = " in text


def test_changed_settings_are_reported_by_their_new_names(run):
    folder = run()
    give_old_names(folder)
    with pytest.raises(
        ConfigError, match=r'started with training\.loss_reduction = "token-mean", now'
    ):
        run("model", "training.cost=batch-sum")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.hidden=6", "started with model.hidden = 5, now it is 6"),
        ("model.decoder_variant=paper-v2", "started with model.decoder_variant = "),
        ("data.batch_size=7", "started with data.batch_size = 20, now it is 7"),
        ("training.seed=2", "seed = 1, now it is 2; use another --output, with --from"),
        ("training.validate_every=3", "started with training.validate_every = 2"),
    ],
)
def test_resuming_with_another_setting_is_refused(run, override, message):
    before = contents(run())
    with pytest.raises(ConfigError) as error:
        run("model", override)
    assert message in str(error.value) and "--force" in str(error.value)
    folder = next(iter(before)).parent
    assert all(path.read_bytes() == content for path, content in before.items()), folder


def test_resuming_with_another_text_preparation_is_refused(run, prepared):
    run()
    text = {**TEXT, "tokenized": False}
    (prepared / "manifest.json").write_text(json.dumps({"format": 1, "text": text}))
    with pytest.raises(ConfigError, match="text.tokenized = true, now it is false"):
        run()


@pytest.mark.parametrize(
    "override", ["training.patience=3", "training.keep_checkpoints=9", "search.beam=3"]
)
def test_limits_and_search_may_change(run, override):
    run()
    run("model", override)


def test_force_starts_again(run):
    first = contents(run("model", "training.seed=2"))
    plain = run("plain")
    assert_same_training(plain, run("model", force=True))
    assert contents(plain.parent / "model") != first


@pytest.mark.parametrize("name", ["vocab.tgt", "train.src", "dev.tgt"])
def test_force_keeps_the_old_model_if_the_new_training_cannot_start(run, prepared, name):
    folder = run()
    before = contents(folder)
    (prepared / name).write_bytes(b"\xff\n")
    with pytest.raises(NmtkitError, match=name):
        run(force=True)
    assert contents(folder) == before


def test_force_removes_only_model_folders(run, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("mine")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ModelError, match="is not a model folder, .* so --force does not remove it"):
        run("thesis", force=True)
    assert (tmp_path / "thesis" / "chapter").read_text() == "mine"
    with pytest.raises(NmtkitError):
        run("file", force=True)
    assert (tmp_path / "file").read_text() == "mine"


def test_other_folders_are_left_alone(run, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("mine")
    with pytest.raises(ModelError, match="exists and is not a model folder"):
        run("thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter"]


def test_resuming_stores_changed_limits_and_search_settings(run):
    folder = run()
    run("model", "training.max_updates=8", "search.beam=3")
    kept = parse_config(read_toml(folder / "config.toml"), "kept")
    assert (kept.training.max_updates, kept.search.beam) == (8, 3)


def test_two_trainings_never_write_into_one_folder(run, tmp_path, monkeypatch):
    """The folder of a training is moved, and another one begins in its place."""
    expected = run("whole")
    update, moved = Trainer.update, tmp_path / "moved"

    def update_and_move(trainer):
        result = update(trainer)
        if trainer.progress.updates == 2:  # after the first validation
            monkeypatch.setattr(Trainer, "update", update)
            trainer.folder.rename(moved)
            run()
        return result

    monkeypatch.setattr(Trainer, "update", update_and_move)
    with pytest.raises(ModelError, match=r"model: the folder, or \.lock in it, was moved") as error:
        run()
    assert "the same command resumes" not in str(error.value)
    assert_same_training(expected, tmp_path / "model")
    assert [row["update"] for row in metrics(moved)] == [2]
    moved.rename(tmp_path / "back")
    assert_same_training(expected, run("back"))


@pytest.mark.parametrize("name", [".lock", "metrics.jsonl", "config.toml", "checkpoints/00000009"])
@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_written_through_a_link_out_of_the_folder(run, tmp_path, name, exists):
    """In an untrusted folder the lock file may be a link, whose target would be emptied."""
    folder = run()
    target = tmp_path / "mine"
    if exists:
        target.write_text("mine")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    with pytest.raises(ModelError, match=f"{name}: is a link that leads out .*; remove it"):
        run("model", "training.max_updates=8")
    assert target.exists() == exists and (not exists or target.read_text() == "mine")
    (folder / name).unlink()
    (folder / name).symlink_to((folder / name).name)  # to itself
    with pytest.raises(ModelError, match=f"{name}: is a link that leads out"):
        run("model", "training.max_updates=8")
