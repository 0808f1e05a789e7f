"""The provenance of a model is written once and read back."""

import hashlib
import json
import os
import shlex

import pytest

from nmtkit.errors import DataError, ModelError
from nmtkit.model_folder import PROVENANCE_FILE
from nmtkit.training.provenance import (
    check_subword_files,
    data_checksums,
    provenance_of,
    read_provenance,
    train_command,
)

MANIFEST = {
    "splits": {"train": {"pairs": 20}, "dev": {"pairs": 6}, "test": {"pairs": 4}},
    "inputs": {"raw/train.en": "ab", "-": None},
    "outputs": {"train.src": "cd", "dev.tgt": "ef", "test.src": "gh", "bpe.src": "ij"},
}

DATA = {"train.src": "cd", "dev.tgt": "ef"}


def test_the_command_is_quoted_for_a_shell():
    command = train_command(
        "my data", "model", "toy", None, ["training.seed=2", "data.sort_pool=3"]
    )
    assert shlex.split(command) == [
        *("nmtkit", "train", "my data", "--output", "model", "--recipe", "toy"),
        *("--set", "training.seed=2", "--set", "data.sort_pool=3"),
    ]
    assert "--config settings.toml" in train_command("a", "b", None, "settings.toml", [])


def test_provenance_is_read_back(tmp_path):
    origin = provenance_of("nmtkit train a", MANIFEST, DATA, "cpu")
    (tmp_path / PROVENANCE_FILE).write_text(json.dumps(origin))
    assert read_provenance(tmp_path) == origin
    assert origin["pairs"] == {"train": 20, "dev": 6}
    assert origin["data"] == DATA
    assert origin["inputs"] == MANIFEST["inputs"] and origin["device"] == "cpu"
    assert set(origin["versions"]) == {"nmtkit", "torch", "python"}


def test_an_old_folder_has_no_provenance(tmp_path):
    assert read_provenance(tmp_path) is None


def test_a_changed_file_gives_a_warning(tmp_path, caplog):
    for name in ("train.src", "train.tgt", "dev.src", "dev.tgt"):
        (tmp_path / name).write_text(name)
    sums = data_checksums(tmp_path, {})
    assert sums["dev.tgt"] == hashlib.sha256(b"dev.tgt").hexdigest() and len(sums) == 4
    assert data_checksums(tmp_path, {"outputs": sums}) == sums and not caplog.messages
    (tmp_path / "dev.tgt").write_text("edited")
    assert data_checksums(tmp_path, {"outputs": sums}) != sums
    assert [message.split(": ")[0] for message in caplog.messages] == [str(tmp_path / "dev.tgt")]


def write_provenance(folder, **changes):
    content = {**provenance_of("nmtkit train a", MANIFEST, DATA, "cpu"), **changes}
    (folder / PROVENANCE_FILE).write_text(json.dumps(content))


@pytest.mark.parametrize(
    "change",
    [
        {"command": 3},
        {"command": None},
        {"versions": [1]},
        {"versions": {"torch": 2}},
        {"device": {}},
        {"threads": "two"},
        {"threads": True},
        {"pairs": {"train": -1}},
        {"pairs": {"train": 10**400}},
        {"pairs": "many"},
        {"inputs": {"a": 1}},
        {"inputs": None},
        {"data": {"a": None}},
        {"initial": None},
        {"planned_seconds": "1m"},
        {"planned_seconds": 0},
    ],
)
def test_provenance_of_a_wrong_form_is_reported(tmp_path, change):
    write_provenance(tmp_path, **change)
    (field,) = change
    with pytest.raises(ModelError, match=rf"origin\.json: {field} is missing, or not of the right"):
        read_provenance(tmp_path)


def test_provenance_is_read_from_a_regular_file_of_the_folder_only(tmp_path):
    folder, path = tmp_path / "model", tmp_path / "model" / PROVENANCE_FILE
    folder.mkdir()
    os.mkfifo(path)
    with pytest.raises(ModelError, match="is not a regular file"):
        read_provenance(folder)
    path.unlink()
    write_provenance(tmp_path)
    for target in ("/dev/zero", tmp_path / PROVENANCE_FILE):
        path.symlink_to(target)
        with pytest.raises(ModelError, match="is a link that leads out of the model folder"):
            read_provenance(folder)
        path.unlink()
    path.mkdir()
    with pytest.raises(ModelError, match="is not a regular file"):
        read_provenance(folder)
    path.rmdir()
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(ModelError, match=r"has 1,099,511,627,776 bytes, but such a file never"):
        read_provenance(folder)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 99}', b"\xff"])
def test_damaged_provenance_is_reported(tmp_path, text):
    (tmp_path / PROVENANCE_FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelError, match=r"origin\.json: "):
        read_provenance(tmp_path)


def test_a_training_does_not_start_with_damaged_subword_models(tmp_path):
    codes = tmp_path / "bpe.tgt"
    codes.write_bytes(b"a b\n")
    manifest = {"outputs": {"bpe.tgt": hashlib.sha256(b"a b\n").hexdigest(), "bpe.src": "0"}}
    check_subword_files(tmp_path, manifest)
    for content in (b"a c\n", b""):
        codes.write_bytes(content)
        with pytest.raises(DataError, match=r"bpe\.tgt: damaged: not as 'nmtkit prepare' wrote it"):
            check_subword_files(tmp_path, manifest)
        check_subword_files(tmp_path, {"outputs": []})
    os.truncate(codes, 1 << 40)
    with pytest.raises(DataError, match=r"bpe\.tgt: damaged"):
        check_subword_files(tmp_path, manifest)
