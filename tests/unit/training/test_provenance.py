"""The provenance of a model is written once and read back."""

import json
import shlex

import pytest

from nmtkit.errors import ModelError
from nmtkit.model_folder import PROVENANCE_FILE
from nmtkit.training.provenance import provenance_of, read_provenance, train_command

MANIFEST = {
    "splits": {"train": {"pairs": 20}, "dev": {"pairs": 6}, "test": {"pairs": 4}},
    "inputs": {"raw/train.en": "ab", "-": None},
    "outputs": {"train.src": "cd", "dev.tgt": "ef", "test.src": "gh", "bpe.src": "ij"},
}


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
    origin = provenance_of("nmtkit train a", MANIFEST, "cpu")
    (tmp_path / PROVENANCE_FILE).write_text(json.dumps(origin))
    assert read_provenance(tmp_path) == origin
    assert origin["pairs"] == {"train": 20, "dev": 6}
    assert origin["data"] == {"train.src": "cd", "dev.tgt": "ef"}
    assert origin["inputs"] == MANIFEST["inputs"] and origin["device"] == "cpu"
    assert set(origin["versions"]) == {"nmtkit", "torch", "python"}


def test_an_old_folder_has_no_provenance(tmp_path):
    assert read_provenance(tmp_path) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 99}', b"\xff"])
def test_damaged_provenance_is_reported(tmp_path, text):
    (tmp_path / PROVENANCE_FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelError, match=r"origin\.json: "):
        read_provenance(tmp_path)
