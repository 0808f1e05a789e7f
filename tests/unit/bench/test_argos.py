"""Pieces and metadata of a package for LibreTranslate."""

import gzip
import json
from pathlib import Path

import pytest
from argos import SmallTransformer, learn_pieces, split_text, write_metadata
from corpus import Text
from systems import Task
from timing import BenchError


@pytest.fixture
def text(tmp_path: Path) -> Text:
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "train.en").write_text("A man sleeps.\nTwo men sleep.\n" * 9)
    (folder / "train.fr").write_text("Un homme dort.\nDeux hommes dorment.\n" * 9)
    return Text("en", "fr", folder)


def test_both_sides_have_the_same_pieces(text: Text, tmp_path: Path) -> None:
    work = tmp_path / "work"
    data = split_text(text, learn_pieces(text, work, 28), work)
    words = (data.words / "src").read_text().splitlines()
    assert words == (data.words / "tgt").read_text().splitlines()
    assert not {"</s>", "<unk>"} & set(words)
    lines = data.text("train", "tgt").read_text().splitlines()
    assert len(lines) == 18
    assert {piece for line in lines for piece in line.split(" ")} <= set(words)
    assert lines[1].replace(" ", "").replace("▁", " ") == " Deux hommes dorment."


def test_the_model_is_small_and_convertible(task: Task) -> None:
    settings = SmallTransformer(Path("python")).settings(task)
    assert (settings["layers"], settings["self_attn_type"]) == (2, "scaled-dot")
    assert settings["share_vocab"] and settings["share_embeddings"]


def test_metadata_name_the_languages(tmp_path: Path) -> None:
    write_metadata(tmp_path, "en", "xx")
    content = json.loads((tmp_path / "metadata.json").read_text())
    assert content["from_name"] == "English" and content["to_name"] == "xx"
    assert (content["from_code"], content["to_code"]) == ("en", "xx")


def test_compressed_texts_have_the_same_pieces(text: Text, tmp_path: Path) -> None:
    plain = learn_pieces(text, tmp_path / "plain", 28).with_suffix(".vocab").read_bytes()
    for path in list(text.folder.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    pieces = learn_pieces(text, tmp_path / "gz", 28)
    assert pieces.with_suffix(".vocab").read_bytes() == plain
    lines = split_text(text, pieces, tmp_path / "gz").text("train", "tgt").read_text().splitlines()
    assert len(lines) == 18


def test_a_text_too_small_for_the_pieces_is_refused(text: Text, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"train\.en: .*[Vv]ocabulary"):
        learn_pieces(text, tmp_path / "work", 8000)
