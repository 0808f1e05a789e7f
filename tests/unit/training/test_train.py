"""Training from a prepared folder into a model folder, called from Python."""

import dataclasses
import functools
import itertools
import json
import logging
import math
import os
import shutil
import signal
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from nmtkit import Scorer, Translator
from nmtkit.config import RENAMED_SETTINGS, parse_config
from nmtkit.config_io import read_toml
from nmtkit.errors import (
    ConfigError,
    DataError,
    ModelError,
    NmtkitError,
    OutputError,
    TrainingInterrupted,
)
from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.model_folder import read_config
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.checkpoint_folder import list_checkpoints
from nmtkit.training.informed_start import InformedStart
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.settings import describe_settings, make_config
from nmtkit.training.train import train
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Validation
from tests.full_disk import full_disk
from tests.training_metrics import metrics

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
TEXT = {"src_language": "en", "tgt_language": "fr", "tokenized": True}
SMALL = [
    "model.embedding=4",
    "model.hidden=5",
    "model.align=4",
    "model.maxout=3",
    "model.dropout=0.3",
    "data.batch_size=20",
    "training.max_updates=6",
    "training.validate_every=2",
    "training.dev_beam=2",
]


def lines(count, step):
    return [
        " ".join(WORDS[(number * step + place) % 5] for place in range(1 + number % 4))
        for number in range(count)
    ]


def write(path: Path, text_lines) -> None:
    path.write_text("".join(f"{line}\n" for line in text_lines), encoding="utf-8")


@pytest.fixture
def prepared(tmp_path):
    """Write the files of `nmtkit prepare` and `nmtkit shortlist` that training needs."""
    folder = tmp_path / "prepared"
    folder.mkdir()
    for split, count in (("train", 30), ("dev", 5)):
        write(folder / f"{split}.src", lines(count, 2))
        write(folder / f"{split}.tgt", [line.upper() for line in lines(count, 2)])
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "text": TEXT}))
    for side, words in (("src", WORDS), ("tgt", [word.upper() for word in WORDS])):
        write(folder / f"vocab.{side}", [f"{word}\t1" for word in ["</s>", "<unk>", *words]])
    return folder


@pytest.fixture
def run(prepared, tmp_path):
    """`run("name", "key=value", ...)` trains into a folder of that name, which it returns."""

    def call(name="model", *overrides, **options):
        settings = {"recipe": "toy", "device": "cpu", **options}
        train(prepared, tmp_path / name, overrides=[*SMALL, *overrides], **settings)
        return tmp_path / name

    return call


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_same_training(expected, actual):
    """Assert that two model folders are equal except for times and limits."""
    expected_files, actual_files = (
        {p.relative_to(f): p for p in contents(f)} for f in (expected, actual)
    )
    assert expected_files.keys() == actual_files.keys()
    for name, path in expected_files.items():
        if name.suffix not in (".jsonl", ".toml", ".json") and name.name != "SHA256SUMS":
            assert path.read_bytes() == actual_files[name].read_bytes(), name
        if name.name == "state.json":
            states = [json.loads(p.read_text()) for p in (path, actual_files[name])]
            for state in states:
                del state["progress"]["seconds"], state["sha256"]
            assert states[0] == states[1]
    assert metrics(expected) == metrics(actual)


def test_progress_bar_and_tensorboard_files_are_closed_however_it_ends(run, monkeypatch):
    close = Mock()
    monkeypatch.setattr(MetricsLogger, "close", close)
    for _ in range(2):  # the second time it is finished already
        run()
        close.assert_called_once()
        close.reset_mock()
    monkeypatch.setattr(Trainer, "run", Mock(side_effect=ModelError("diverged")))
    with pytest.raises(ModelError, match="diverged"):
        run("other")
    close.assert_called_once()


def test_force_does_not_remove_the_data_that_it_needs(run, prepared, tmp_path):
    folder = run()
    inside = prepared.rename(folder / "prepared")
    expected = contents(folder)
    with pytest.raises(ModelError, match=r"prepared: is in .*model, which --force removes; choose"):
        train(inside, folder, recipe="toy", device="cpu", overrides=SMALL, force=True)
    assert contents(folder) == expected


def test_all_ranks_start_from_equal_parameters_if_their_sums_differ(run, run_ranks, monkeypatch):
    def task():
        starts = []

        def train_nothing(trainer):
            starts.append(values(trainer.model))
            trainer.progress = dataclasses.replace(trainer.progress, best_cost=1.0)

        monkeypatch.setattr(InformedStart, "initialise", rounded)
        monkeypatch.setattr(Trainer, "run", train_nothing)
        run()
        return starts

    def rounded(_, model):
        model.E_x.data += 1e-6 * int(os.environ["RANK"])

    def values(model):
        return {name: value.tolist() for name, value in model.named_parameters()}

    first, second = (outcome.value for outcome in run_ranks(2, task))
    assert first and first == second


def test_a_model_folder_is_complete(run):
    folder = run()
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.toml", "vocab.src", "vocab.tgt", "params.best.safetensors",
        "params.last.safetensors", "metrics.jsonl", "checkpoints", "origin.json",
        "SHA256SUMS",
    }  # fmt: skip
    config = parse_config(read_toml(folder / "config.toml"), "")
    assert config.text.tokenized and config.model.hidden == 5
    assert config == dataclasses.replace(make_config("toy", overrides=SMALL), text=config.text)
    assert [row["update"] for row in metrics(folder)] == [2, 4, 6]


def test_the_same_settings_give_the_same_model(run):
    assert_same_training(run("one"), run("two"))
    first, second = run("one"), run("other", "training.seed=2")
    name = "params.last.safetensors"
    assert (first / name).read_bytes() != (second / name).read_bytes()


EARLY = [
    "training.init_output_bias=true",
    "training.init_source_embeddings=true",
    "training.guided_alignment=0.2",
    "training.guided_updates=5",
    "training.curriculum_updates=4",
]
"""Settings that matter at the start of a training."""


@pytest.mark.parametrize(
    ("recipe", "settings"), [("toy", []), ("rnnsearch-50", []), ("toy", EARLY)]
)
def test_a_resumed_training_equals_an_uninterrupted_one(run, recipe, settings, monkeypatch):
    uninterrupted = run("whole", *settings, recipe=recipe)
    update = Trainer.update
    for death in (2, 5):  # in the third update, then in the sixth

        def update_or_die(self, death=death):
            if self.progress.updates == death:
                raise KeyboardInterrupt
            return update(self)

        monkeypatch.setattr(Trainer, "update", update_or_die)
        with pytest.raises(KeyboardInterrupt):
            run("stopped", *settings, recipe=recipe)
    monkeypatch.setattr(Trainer, "update", update)
    assert_same_training(uninterrupted, run("stopped", *settings, recipe=recipe))


def test_a_training_resumes_with_a_raised_limit(run):
    uninterrupted = run("whole", "training.max_updates=8", "training.cooldown=0")
    run("parts", "training.max_updates=4", "training.cooldown=0")
    assert_same_training(
        uninterrupted, run("parts", "training.max_updates=8", "training.cooldown=0")
    )


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


def test_the_result_has_the_figures_of_the_whole_training(prepared, tmp_path):
    def trained(updates):
        settings = {
            "training.max_updates": updates,
            "training.seed": 3,
            "training.optimizer": "sgd",
        }
        return train(
            prepared, tmp_path / "model", "toy", overrides=[*SMALL, "training.seed=2"],
            device="cpu", settings=settings,
        )  # fmt: skip

    first, second = trained(4), trained(6)
    config = read_config(tmp_path / "model")
    assert (config.training.seed, config.training.optimizer) == (3, "sgd")
    rows = [row for row in metrics(tmp_path / "model") if row["kind"] == "validation"]
    assert (first.folder, first.updates, second.updates) == (tmp_path / "model", 4, 6)
    assert second.best_dev_cost == pytest.approx(
        min(row["dev_cost_per_token"] for row in rows), abs=1e-5
    )
    assert second.dev_bleu == [row["dev_bleu"] for row in rows if row["best"]][-1]
    assert second.seconds > first.seconds > 0
    assert trained(6) == second  # which was finished
    for row in rows:
        row["update"] -= 1  # as if none of them had chosen the best parameters
    (tmp_path / "model" / "metrics.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows))
    assert trained(6).dev_bleu is None


def test_unmeasured_figures_of_the_result_are_none(prepared, tmp_path):
    overrides = [*SMALL, "training.dev_bleu=false"]
    result = train(prepared, tmp_path / "model", "toy", overrides=overrides, device="cpu")
    assert result.dev_bleu is None and result.best_dev_cost is not None
    (tmp_path / "model" / "metrics.jsonl").write_text("not JSON\n")
    assert train(prepared, tmp_path / "model", "toy", overrides=overrides, device="cpu") == result


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training.sed": 2}, "there is no setting 'sed'; did you mean 'seed'"),
        ({"seed": 2}, "expected SECTION.KEY=VALUE"),
        ({"training.seed": None}, "no setting is of the type NoneType"),
        ({"training.seed": 2.5}, r"expected a whole number, not 2\.5"),
    ],
)
def test_a_mistake_in_the_settings_is_named(prepared, tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message):
        train(prepared, tmp_path / "model", "toy", settings=settings)
    assert not (tmp_path / "model").exists()


def test_a_finished_training_says_so_and_changes_nothing(run, caplog):
    before = contents(run("model", *EARLY))
    caplog.clear()  # another test may have left the level of the log lower
    with caplog.at_level(logging.INFO, "nmtkit"):
        folder = run("model", *EARLY)
    assert "pairs of words" not in caplog.text  # what only training needs is not learned
    assert "finished after 6 updates; raise --updates to train further" in caplog.text
    assert contents(folder) == before


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


def test_a_model_without_attention_cannot_be_guided(prepared, tmp_path):
    settings = {"training.guided_alignment": 0.2}
    with pytest.raises(ConfigError, match="guided_alignment: this model has no attention"):
        train(prepared, tmp_path / "model", "rnnenc-30", settings=settings, device="cpu")
    assert not (tmp_path / "model").exists()


def test_a_factored_softmax_is_trained_saved_and_translates(run):
    settings = ["model.tied=false", "model.softmax_rank=3", "training.softmax_samples=4"]
    settings += ["training.cooldown=0"]
    folder = run("model", *settings, "training.max_updates=4")
    assert read_config(folder).model.softmax_rank == 3
    assert_same_training(run("again", *settings), run("model", *settings))  # the second resumes
    for quantize in (False, True):
        translator = Translator.load(folder, device="cpu", quantize=quantize)
        assert len(list(translator.translate(["alpha beta"], tokenized=True))) == 1


def test_a_new_training_sets_one_rank_of_the_output_matrix(run, prepared, tmp_path):
    with pytest.raises(ConfigError, match="softmax_rank = 3: .* set model.tied to false"):
        run("model", "model.softmax_rank=3", "model.tied=true")
    assert not (tmp_path / "model").exists()
    sizes = {"model.embedding": 4, "model.hidden": 5, "model.maxout": 3}
    settings = {**sizes, "model.tied": True, "training.max_updates": 1}
    train(prepared, tmp_path / "tied", "phrase-rnn", settings=settings, device="cpu")  # its default


def test_force_starts_again(run):
    first = contents(run("model", "training.seed=2"))
    plain = run("plain")
    assert_same_training(plain, run("model", force=True))
    assert contents(plain.parent / "model") != first


def test_resuming_removes_the_checkpoints_that_a_killed_process_left(run):
    """It was killed after the newest was saved, and before the oldest was removed."""
    folder = run("model", "training.keep_checkpoints=1")
    newest = list_checkpoints(folder)[-1]
    shutil.copytree(newest, newest.with_name("00000002"))
    run("model", "training.keep_checkpoints=1")
    assert list_checkpoints(folder) == [newest]


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


@pytest.mark.parametrize("updates_before", [0, 4])
def test_a_full_disk_loses_nothing_that_was_saved(run, tmp_path, updates_before):
    constant_rate = "training.cooldown=0"  # as that depends on the number of updates
    uninterrupted = run("whole", constant_rate)
    if updates_before:
        run("cut", constant_rate, f"training.max_updates={updates_before}")
        before = contents(tmp_path / "cut")
    with full_disk(2500), pytest.raises(OutputError) as error:
        run("cut", constant_rate)
    assert "params.best.safetensors: cannot be written" in str(error.value)
    saved = (
        "; what was saved before is complete" if updates_before else "; nothing was saved before"
    )
    assert saved in str(error.value)
    if updates_before:
        old = {path: content for path, content in before.items() if path.suffix == ".safetensors"}
        assert {path: path.read_bytes() for path in old} == old
    assert not [path for path in (tmp_path / "cut").rglob(".*")]
    assert_same_training(uninterrupted, run("cut", constant_rate))


def test_a_gradient_that_is_not_finite_is_explained(run):
    wild = ["training.optimizer=sgd", "training.learning_rate=1e38", "training.clip_norm=0"]
    wild.append("training.max_nonfinite=1")
    with pytest.raises(ModelError, match=r"not finite at update \d+ \(training lines \d+, \d+"):
        run("model", *wild, "training.warmup=0", "training.cooldown=0", "model.dropout=0")


@pytest.mark.parametrize("cost", [math.nan, math.inf])
def test_a_training_without_a_model_that_can_be_used_is_no_success(run, monkeypatch, cost):
    diverged = Validation(cost, cost, None)
    monkeypatch.setattr("nmtkit.training.validation.validate", lambda *_, **__: diverged)
    for _ in range(2):  # the second time it is finished already
        with pytest.raises(ModelError, match="after 2 updates, but the dev cost was never finite"):
            run("model", "training.max_updates=2", "training.cooldown=0")


MISSPELT = '{"format": 1, "text": {"subword": 1}}'


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("manifest.json", None, DataError, "manifest.json: cannot be read.*nmtkit prepare"),
        ("manifest.json", "{", DataError, "manifest.json: not JSON"),
        ("manifest.json", MISSPELT, ConfigError, "'subword'; did you mean 'subwords'"),
        ("vocab.src", None, DataError, "no shortlist vocab.src; make it: nmtkit shortlist "),
        ("vocab.tgt", None, DataError, "no shortlist vocab.tgt; make it: nmtkit shortlist "),
        ("dev.src", None, DataError, "has no dev.src to validate on"),
        ("train.tgt", None, DataError, "train.tgt: no such file"),
        ("train.src", "alpha\n", DataError, "1 source and 30 target lines"),
        ("dev.src", "", DataError, "0 source and 5 target lines"),
    ],
)
def test_mistakes_in_the_prepared_folder_are_reported(
    run, prepared, tmp_path, name, content, kind, message
):
    (prepared / name).unlink()
    if content is not None:
        (prepared / name).write_text(content)
    with pytest.raises(kind, match=message) as error:
        run()
    assert "\n" not in str(error.value)
    assert not (tmp_path / "model").exists()


def test_resuming_stores_changed_limits_and_search_settings(run):
    folder = run()
    run("model", "training.max_updates=8", "search.beam=3")
    kept = parse_config(read_toml(folder / "config.toml"), "kept")
    assert (kept.training.max_updates, kept.search.beam) == (8, 3)


def test_resuming_with_other_shortlists_is_refused(run, prepared):
    folder = run()
    before = (folder / "params.last.safetensors").read_bytes()
    with open(prepared / "vocab.tgt", "a", encoding="utf-8") as file:
        file.write("ZETA\t1\n")
    with pytest.raises(DataError, match=r"vocab\.tgt: not the shortlist that .* was started with"):
        run("model", "training.max_updates=8")
    assert (folder / "params.last.safetensors").read_bytes() == before


@pytest.mark.parametrize("has_provenance", [True, False])
@pytest.mark.parametrize("side", ["src", "tgt"])
def test_resuming_on_other_training_data_is_refused(run, prepared, side, has_provenance):
    folder = run()
    if not has_provenance:
        for name in ("origin.json", "SHA256SUMS"):
            (folder / name).unlink()
    before = {path: path.read_bytes() for path in folder.rglob("*.safetensors")}
    text = prepared / f"train.{side}"
    lines = text.read_text("utf-8").splitlines()
    write(text, lines[::-1])
    named = text if has_provenance else rf"{prepared}/train.src, train.tgt: the training data"
    with pytest.raises(DataError, match=rf"^{named}:? has changed since the training of {folder}"):
        run("model", "training.max_updates=8")
    assert {path: path.read_bytes() for path in folder.rglob("*.safetensors")} == before
    write(text, lines)
    run("model", "training.max_updates=8")


def weigh(prepared, *weights):
    """Give each half of the training data a weight."""
    corpora = [{"pairs": 15, "weight": weight} for weight in weights]
    manifest = {"format": 1, "text": TEXT, "corpora": corpora}
    (prepared / "manifest.json").write_text(json.dumps(manifest))


def test_weights_are_part_of_the_data(run, prepared):
    folder = run()
    weigh(prepared, 1, 1)  # as without weights
    run("model", "training.max_updates=8")
    weigh(prepared, 3, 0.5)
    message = r"the training data has changed .* \(its text, or the weight of a corpus\)"
    with pytest.raises(DataError, match=message):
        run("model", "training.max_updates=9")
    weighted = run("weighted", "training.cooldown=0")
    stopped = run("stopped", "training.max_updates=3", "training.cooldown=0")
    run("stopped", "training.cooldown=0")
    name = "params.last.safetensors"
    assert (stopped / name).read_bytes() == (weighted / name).read_bytes()
    assert (folder / name).read_bytes() != (weighted / name).read_bytes()


def test_tagged_source_lines_cannot_become_the_target(run, prepared):
    manifest = {"format": 1, "text": {**TEXT, "tags": ["<bt>"]}}
    (prepared / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match="have the tags <bt>.* prepare the other direction"):
        run("model", "data.swap_sides=true")


def test_a_training_without_a_checkpoint_does_not_begin_with_other_data(run, prepared, monkeypatch):
    """Its provenance would name the checksums of the data that it was started with."""
    monkeypatch.setattr(Trainer, "update", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run()
    write(prepared / "train.tgt", lines(30, 3))
    with pytest.raises(DataError, match=r"train\.tgt: has changed since the training of"):
        run()


@pytest.mark.parametrize("step", [0.0, -3600.0, 1e9])
def test_a_clock_that_stands_still_or_jumps_changes_no_result(run, monkeypatch, step):
    monkeypatch.setattr("nmtkit.training.metrics_logger.LOG_EVERY", 2)
    expected = run("whole", "training.dev_bleu=false")
    with monkeypatch.context() as clocks:
        for name in ("time", "monotonic"):
            readings = itertools.count(getattr(time, name)(), step)
            clocks.setattr(time, name, functools.partial(next, readings))
        folder = run("jumping", "training.dev_bleu=false")
    assert_same_training(expected, folder)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(row["seconds"] >= 0 for row in rows)
    assert run("jumping", "training.dev_bleu=false") == folder  # its times can be read


@pytest.mark.parametrize("seconds", [0, 4e9])
def test_times_of_files_change_no_result(run, prepared, seconds):
    folder = run("model", "training.max_updates=4", "training.cooldown=0")
    for path in [*prepared.iterdir(), *folder.rglob("*")]:
        os.utime(path, (seconds, seconds))
    uninterrupted = run("other", "training.cooldown=0")
    assert_same_training(uninterrupted, run("model", "training.cooldown=0"))


AVERAGED = [
    "training.max_updates=10",
    "training.cooldown=0",
    "training.average_checkpoints=2",
    "training.keep_checkpoints=3",
]


def interrupted(run, monkeypatch):
    """Stop a training by a signal in update 7; the next validation averages update 6."""
    update = Trainer.update

    def update_and_stop(trainer):
        if trainer.progress.updates == 6:
            trainer.stop_signals.signal = signal.SIGTERM
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", update_and_stop)
    with pytest.raises(TrainingInterrupted):
        run("model", *AVERAGED)
    monkeypatch.setattr(Trainer, "update", update)


def test_a_training_does_not_average_other_checkpoints_than_it_should(run, monkeypatch, caplog):
    expected = run("whole", *AVERAGED)
    interrupted(run, monkeypatch)
    shutil.rmtree(expected.parent / "model" / "checkpoints" / "00000006")
    folder = run("model", *AVERAGED)
    assert "00000007.interrupted: cannot be resumed, as checkpoints before it" in caplog.text
    shutil.rmtree(folder / "checkpoints" / "00000007.interrupted.damaged")
    assert_same_training(expected, folder)


@pytest.mark.parametrize("limit", ["training.max_updates=7", "training.max_updates=5"])
def test_a_training_that_ends_where_it_was_interrupted_is_validated_there(run, monkeypatch, limit):
    expected = run("whole", *AVERAGED, "training.max_updates=7")
    interrupted(run, monkeypatch)
    for _ in range(2):  # the second time there is nothing left to do
        assert_same_training(expected, run("model", *AVERAGED, limit))
    assert_same_training(run("whole", *AVERAGED), run("model", *AVERAGED))


def test_a_checkpoint_under_another_name_is_not_used(run, monkeypatch, caplog):
    expected = run("whole", *AVERAGED)
    interrupted(run, monkeypatch)
    checkpoints = expected.parent / "model" / "checkpoints"
    (checkpoints / "00000004").rename(checkpoints / "00000099")
    folder = run("model", *AVERAGED)
    assert "00000099: damaged checkpoint (it was written under another name" in caplog.text
    shutil.rmtree(folder / "checkpoints" / "00000099.damaged")
    assert_same_training(expected, folder)


def test_a_missing_file_of_the_model_is_reported_when_its_training_resumes(run):
    folder = run()
    (folder / "vocab.src").unlink()
    with pytest.raises(ModelError, match=r"vocab\.src: is missing; restore it from a copy"):
        run("model", "training.max_updates=8")


def test_metrics_that_have_changed_are_reported(run, caplog):
    folder = run()
    path = folder / "metrics.jsonl"
    path.write_text(path.read_text("utf-8").split("\n", 1)[1], "utf-8")
    run("model", "training.max_updates=8")
    assert "metrics.jsonl: has changed since update 6 was saved" in caplog.text
    caplog.clear()
    run("model", "training.max_updates=10")
    assert "has changed" not in caplog.text


def test_a_copy_of_the_prepared_folder_resumes_the_training(run, prepared):
    run()
    os.utime(prepared / "train.src")
    for path in prepared.glob("train.src.*"):
        path.unlink()
    run("model", "training.max_updates=8")


def test_resuming_with_another_dev_set_is_refused(run, prepared):
    folder = run()
    before = contents(folder)
    write(prepared / "dev.tgt", reversed((prepared / "dev.tgt").read_text().splitlines()))
    with pytest.raises(DataError, match=r"dev\.tgt: has changed since the training of"):
        run("model", "training.max_updates=8")
    assert contents(folder) == before  # the limit in config.toml too


def test_resuming_with_damaged_files_of_the_model_is_refused(run):
    folder = run()
    before = contents(folder)
    for name in ("vocab.src", "origin.json"):
        path = folder / name
        path.write_bytes(path.read_bytes()[:-2] + b"9\n")
        with pytest.raises(
            NmtkitError, match=rf"{name}: (damaged|not the shortlist)|not the short"
        ):
            run("model", "training.max_updates=8")
        path.write_bytes(before[path])
    assert contents(folder) == before


def test_resuming_with_other_best_parameters_is_refused(run):
    folder, other = run(), run("other", "training.seed=2")
    best = folder / "params.best.safetensors"
    original = best.read_bytes()
    for content in (b"", original[:-4], (other / best.name).read_bytes()):
        best.write_bytes(content)
        with pytest.raises(ModelError, match=r"params\.best\.safetensors: .*; restore .*--force"):
            run("model", "training.max_updates=8")
    best.unlink()
    with pytest.raises(ModelError, match=r"params\.best\.safetensors: .*No such file.*; restore"):
        run("model", "training.max_updates=8")
    best.write_bytes(original)
    run("model", "training.max_updates=8")


def test_a_training_without_checkpoints_does_not_start_anew(run):
    folder = run()
    shutil.rmtree(folder / "checkpoints")
    for has_metrics in (True, False):  # False: as in a copy to translate with
        if not has_metrics:
            (folder / "metrics.jsonl").unlink()
        before = contents(folder)
        with pytest.raises(ModelError, match="no checkpoint to resume from; restore the folder 'c"):
            run()
        assert contents(folder) == before
    assert contents(run(force=True)) != before


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


def test_a_checkpoint_without_checksum_of_the_data_resumes(run):
    folder = run()
    for path in folder.glob("checkpoints/*/state.json"):  # as nmtkit 0.1 wrote them
        state = json.loads(path.read_text("utf-8"))
        for name in ("corpus", "dev", "best_parameters"):
            assert len(state["progress"].pop(name)) == 64
        del state["sha256"]
        path.write_text(json.dumps(state), "utf-8")
    run("model", "training.max_updates=8")
    newest = folder / "checkpoints" / "00000008" / "state.json"
    assert json.loads(newest.read_text("utf-8"))["progress"]["corpus"]


def test_an_empty_dev_set_is_refused(run, prepared):
    write(prepared / "dev.src", [])
    write(prepared / "dev.tgt", [])
    with pytest.raises(DataError, match="the dev set is empty; prepare again with --dev"):
        run()


def test_a_corpus_of_only_long_pairs_is_refused(run, prepared):
    for side in ("src", "tgt"):
        write(prepared / f"train.{side}", ["alpha " * 80 + "beta"])
    with pytest.raises(DataError, match="raise data.max_length") as error:
        run()
    assert "at most 80 tokens a side" in str(error.value)


def test_a_mistake_in_the_settings_leaves_no_folder(run, tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'max_updates'"):
        run("model", "training.max_update=3")
    assert not (tmp_path / "model").exists()


def test_dev_figures_equal_those_of_translator_and_scorer(run, prepared):
    folder = run("model", "training.average_checkpoints=1")
    last = metrics(folder)[-1]
    src, tgt = ((prepared / f"dev.{side}").read_text().splitlines() for side in ("src", "tgt"))
    translator = Translator.load(folder, device="cpu", params="last").with_search(beam=2)
    translations = [best[0].text for best in translator.translate(src, tokenized=True)]
    assert last["dev_bleu"] == pytest.approx(tokenized_bleu(translations, tgt).value, abs=1e-3)
    scorer = Scorer.load(folder, device="cpu", params="last")
    total = -sum(score.log_prob for score in scorer.score(zip(src, tgt, strict=True)))
    tokens = sum(len(line.split()) + 1 for line in tgt)
    assert last["dev_cost_per_token"] == pytest.approx(total / tokens, abs=1e-4)
    assert last["dev_cost_per_sentence"] == pytest.approx(total / 5, abs=1e-3)


def test_the_first_costs_are_near_chance(run):
    folder = run("model", "model.initialisation=paper", "training.max_updates=2",
                 "training.cooldown=0")  # fmt: skip
    first = metrics(folder)[0]["dev_cost_per_token"]
    assert first == pytest.approx(math.log(7), abs=0.1)  # seven words, all equally likely


def test_the_first_costs_with_an_output_bias_are_near_the_entropy_of_the_words(run, prepared):
    counts = [30, 1, 40, 5, 2, 2, 1]  # of </s>, <unk> and five words
    words = [line.split("\t")[0] for line in (prepared / "vocab.tgt").read_text().splitlines()]
    write(prepared / "vocab.tgt", [f"{w}\t{n}" for w, n in zip(words, counts, strict=True)])
    folder = run("model", "model.initialisation=paper", "training.init_output_bias=true",
                 "training.learning_rate=1e-9", "training.max_updates=2",
                 "training.cooldown=0")  # fmt: skip
    references = [
        line.split() + ["</s>"] for line in (prepared / "dev.tgt").read_text().splitlines()
    ]
    share = {word: count / sum(counts) for word, count in zip(words, counts, strict=True)}
    costs = [-math.log(share[word]) for line in references for word in line]
    first = metrics(folder)[-1]["dev_cost_per_token"]
    assert first == pytest.approx(sum(costs) / len(costs), abs=0.01)


def test_dev_bleu_can_be_turned_off(run):
    folder = run("model", "training.dev_bleu=false")
    assert {row["dev_bleu"] for row in metrics(folder)} == {None}


def test_early_stopping_on_bleu(run):
    folder = run(
        "model", "training.max_updates=0", "training.cooldown=0",
        "training.early_stopping_metric=bleu", "training.patience=2",
        "training.validate_every=1", "training.learning_rate=1e-9",
    )  # fmt: skip
    assert [row["best"] for row in metrics(folder)] == [True, False, False]


def test_the_prepared_folder_may_be_gone_when_the_model_is_used(run, prepared):
    folder = run()
    for path in prepared.iterdir():
        path.unlink()
    (best,) = Translator.load(folder, device="cpu").translate(["alpha beta"])
    assert set(best[0].tokens) <= {*(word.upper() for word in WORDS), "<unk>"}
    assert len(Vocabulary.load(folder / "vocab.src")) == 7


def test_keep_checkpoints_sets_the_number_of_checkpoints(run):
    folder = run("model", "training.keep_checkpoints=2", "training.average_checkpoints=1")
    assert [int(path.name) for path in list_checkpoints(folder)] == [4, 6]


def test_described_settings_are_the_ones_used(tmp_path):
    text = describe_settings("toy", None, SMALL)
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    assert make_config(config_file=tmp_path / "my.toml") == make_config("toy", overrides=SMALL)


def test_the_start_is_logged_with_versions_and_seed(run, caplog):
    with caplog.at_level(logging.INFO, "nmtkit"):
        run()
    first = caplog.messages[0]
    assert torch.__version__ in first and "seed 1" in first and "prepared" in first
    assert "30 training pairs" in caplog.text


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


def test_a_vocabulary_without_counts_trains_as_one_with_them(run, prepared):
    """`prepare --like` leaves them out; words were then drawn as if all were equally frequent."""
    text = (prepared / "train.tgt").read_text()
    words = ["</s>", "<unk>", *(word.upper() for word in WORDS)]
    counts = [text.count("\n"), 0, *(text.split().count(word) for word in words[2:])]
    lists = words, [f"{word}\t{count}" for word, count in zip(words, counts, strict=True)]
    bytes_of = []
    for name, listed in zip(("listed", "counted"), lists, strict=True):
        write(prepared / "vocab.tgt", listed)
        folder = run(name, "training.softmax_samples=3", "training.init_output_bias=true")
        bytes_of.append((folder / "params.last.safetensors").read_bytes())
    assert bytes_of[0] == bytes_of[1]
