"""A training does not resume with other data, or without files that it needs."""

import json
import os
import shutil
from unittest.mock import Mock

import pytest

from nmtkit.errors import DataError, ModelError, NmtkitError
from nmtkit.training.trainer import Trainer
from tests.unit.training.toy_trainings import TEXT, contents, lines, write


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


def test_a_training_without_a_checkpoint_does_not_begin_with_other_data(run, prepared, monkeypatch):
    """Its provenance would name the checksums of the data that it was started with."""
    monkeypatch.setattr(Trainer, "update", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run()
    write(prepared / "train.tgt", lines(30, 3))
    with pytest.raises(DataError, match=r"train\.tgt: has changed since the training of"):
        run()


def test_a_missing_file_of_the_model_is_reported_when_its_training_resumes(run):
    folder = run()
    (folder / "vocab.src").unlink()
    with pytest.raises(ModelError, match=r"vocab\.src: is missing; restore it from a copy"):
        run("model", "training.max_updates=8")


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
