"""Shortlists of a prepared folder, and of a file: both are written or neither."""

import os
from pathlib import Path

import pytest

from nmtkit.errors import DataError, OutputError
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.preprocessing.shortlists import write_shortlist, write_shortlists
from nmtkit.text.vocabulary import Vocabulary
from tests.unit.preprocessing.bitexts import Files

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_shortlists_of_a_folder(
    tmp_path: Path, train: Files, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(PrepareSettings(), tmp_path / "out", train)
    with caplog.at_level("INFO", "nmtkit"):
        src, tgt = write_shortlists(tmp_path / "out", 4, 1000)
    assert Vocabulary.load(tmp_path / "out" / "vocab.src").words == ("</s>", "<unk>", "dog", "word")
    assert Vocabulary.load(tmp_path / "out" / "vocab.tgt").words == tgt.vocabulary.words
    assert src.vocabulary.counts[0] == src.sentences == 7
    assert "train.src: 4 words cover" in caplog.text
    assert f"100.00 % of {tgt.tokens} tokens, 100.00 % of {tgt.types} types" in caplog.text


def test_both_shortlists_are_written_or_neither(tmp_path: Path, train: Files) -> None:
    out = tmp_path / "out"
    prepare(PrepareSettings(), out, train)
    (out / "vocab.tgt").write_text("old")
    with pytest.raises(OutputError, match=r"vocab\.tgt: exists already"):
        write_shortlists(out, 10, 10)
    assert not (out / "vocab.src").exists()
    (out / "train.tgt").unlink()
    with pytest.raises(DataError, match=r"train\.tgt: cannot be read"):
        write_shortlists(out, 10, 10, force=True)
    assert not (out / "vocab.src").exists() and (out / "vocab.tgt").read_text() == "old"
    assert not [name for name in os.listdir(out) if name.startswith(".")]


def test_shortlist_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("b a b\n\nc\n")
    write_shortlist(tmp_path / "text", 3, tmp_path / "vocab")
    assert (tmp_path / "vocab").read_text() == "</s>\t3\n<unk>\t2\nb\t2\n"
    with pytest.raises(DataError, match="at least 3"):
        write_shortlist(tmp_path / "text", 2, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["train.tgt", "vocab.src"])
def test_shortlists_are_neither_read_from_nor_written_into_a_fifo(
    tmp_path: Path, train: Files, name: str
) -> None:
    out = tmp_path / "out"
    prepare(PrepareSettings(), out, train)
    (out / name).unlink(missing_ok=True)
    os.mkfifo(out / name)
    with pytest.raises((DataError, OutputError), match=f"{name}: .*not a regular"):
        write_shortlists(out, 10, 10, force=True)


def test_shortlists_are_not_written_through_a_link(tmp_path: Path, train: Files) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    prepare(PrepareSettings(), out, train)
    elsewhere.write_text("precious")
    (out / "vocab.src").symlink_to(elsewhere)
    with pytest.raises(OutputError, match="vocab.src: not a regular file; remove it"):
        write_shortlists(out, 10, 10, force=True)
    assert elsewhere.read_text() == "precious" and not (out / "vocab.tgt").exists()
