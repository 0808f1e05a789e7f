"""New model folders are created completely or not at all."""

import pytest

from nmtkit.errors import ModelError
from nmtkit.model_folder import read_config
from nmtkit.new_model_folder import new_model_folder
from tests.unit.small_prepared import CONFIG, write_prepared


@pytest.fixture
def prepared(tmp_path):
    return write_prepared(tmp_path / "prepared")


def test_a_new_folder_has_settings_and_vocabularies(tmp_path, prepared):
    folder = tmp_path / "some" / "where" / "model"
    with new_model_folder(folder, CONFIG, prepared):
        pass
    assert {path.name for path in folder.iterdir()} == {
        *("config.toml", "vocab.src", "vocab.tgt", "SHA256SUMS")
    }
    assert read_config(folder) == CONFIG
    for name in ("vocab.src", "vocab.tgt"):
        assert (folder / name).read_bytes() == (prepared / name).read_bytes()
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_an_empty_folder_is_used(tmp_path, prepared):
    (tmp_path / "model").mkdir()
    with new_model_folder(tmp_path / "model", CONFIG, prepared):
        pass
    assert read_config(tmp_path / "model") == CONFIG


def test_an_existing_folder_is_not_touched(tmp_path, prepared):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis").write_text("mine")
    for name in ("file", "full"):
        with pytest.raises(ModelError, match=f"{name}: exists and is not a model folder"):
            with new_model_folder(tmp_path / name, CONFIG, prepared):
                pass
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis"]


def test_a_folder_that_cannot_be_completed_is_not_created(tmp_path, prepared):
    (prepared / "vocab.tgt").unlink()
    with pytest.raises(FileNotFoundError):
        with new_model_folder(tmp_path / "model", CONFIG, prepared):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["prepared"]


def test_leftovers_beside_the_folder_are_removed(tmp_path, prepared):
    leftover = tmp_path / ".model.0123456789abcdef"
    leftover.mkdir()
    (leftover / "vocab.src").touch()
    with new_model_folder(tmp_path / "model", CONFIG, prepared):
        pass
    assert not leftover.exists()
