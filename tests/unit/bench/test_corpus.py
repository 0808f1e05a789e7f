"""Corpora of short and of long sentences."""

import json
from pathlib import Path

import corpus
import pytest
from corpus import Text, pairs_of, write_corpus
from timing import BenchError

from nmtkit.io.lines import file_sha256


@pytest.fixture
def text(tmp_path: Path) -> Text:
    """Return a text whose line n has n words."""
    folder = tmp_path / "text"
    folder.mkdir()
    lines = "".join(" ".join(["word"] * n) + "\n" for n in range(1, 31))
    for split in ("train", "val", "test"):
        for side in ("en", "fr"):
            (folder / f"{split}.{side}").write_text(lines)
    return Text("en", "fr", folder)


def lengths(text: Text, split: str, words: tuple[int, int], join: int) -> list[int]:
    pairs = list(pairs_of(text, split, words, join))
    assert all(src == tgt for src, tgt in pairs)
    return [len(src.split()) for src, _ in pairs]


def test_pairs_have_the_words_that_are_asked_for(text: Text) -> None:
    assert lengths(text, "train", (3, 7), 1) == [3, 4, 5, 6, 7]
    assert lengths(text, "test", (29, 99), 1) == [29, 30]


def test_pairs_are_joined_and_none_is_lost(text: Text) -> None:
    assert lengths(text, "test", (1, 6), 3) == [1 + 2 + 3, 4 + 5 + 6]
    joined = lengths(text, "train", (1, 30), 3)
    assert sum(joined) == sum(range(1, 31)) and 10 < len(joined) < 30


def test_a_corpus_is_a_text_with_a_shorter_test_set(text: Text, tmp_path: Path) -> None:
    made = write_corpus(text, tmp_path / "raw", (3, 7), 1, lines=2)
    assert lengths(made, "train", (1, 99), 1) == [3, 4, 5, 6, 7]
    assert lengths(made, "test", (1, 99), 1) == [3, 4]


def test_the_command_prepares_what_it_writes(
    text: Text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(corpus, "run_command", lambda words, log: commands.append(words))
    options = ["--text", f"en-fr={text.folder}", "--words", "3", "7", "--work", str(tmp_path)]
    assert corpus.main(options) == 0
    prepare, shortlist = commands
    assert str(tmp_path / "raw" / "train.en") in prepare and "shortlist" in shortlist
    assert prepare[prepare.index("--subword-size") + 1] == "16000"
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / "vocab.tgt").touch()
    assert corpus.main(options) == 0 and len(commands) == 4  # the corpus may be another one now


def test_a_folder_prepared_from_another_text_is_refused(text: Text, tmp_path: Path) -> None:
    work = tmp_path / "work"
    sums = {f"train.{side}": file_sha256(text.file("train", side)) for side in ("en", "fr")}
    (work / "prepared").mkdir(parents=True)
    (work / "prepared/vocab.tgt").touch()
    manifest = {"format": 2, "inputs": sums, "text": {}, "splits": {}}
    (work / "prepared/manifest.json").write_text(json.dumps(manifest))
    assert corpus.prepared_folder(text.folder, work) == work / "prepared"
    assert corpus.prepared_folder(None, work) == work / "prepared"
    text.file("train", "fr").write_text("un autre texte\n")
    with pytest.raises(BenchError, match=r"prepared: not of .*text; remove .*work, or name"):
        corpus.prepared_folder(text.folder, work)


def test_a_text_that_was_prepared_otherwise_is_refused(
    text: Text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"

    def prepare(words: list[str], log: Path) -> None:
        (work / "prepared").mkdir(parents=True, exist_ok=True)
        (work / "prepared/vocab.tgt").touch()
        inputs = {side: file_sha256(text.file("train", side)) for side in ("en", "fr")}
        manifest = {"format": 2, "inputs": inputs, "text": {}, "splits": {}}
        (work / "prepared/manifest.json").write_text(json.dumps(manifest))

    monkeypatch.setattr(corpus, "run_command", prepare)
    for _ in range(2):
        assert text.prepare(work, 8000) == work / "prepared"
    with pytest.raises(BenchError, match="has figures of size 8000, not 4000"):
        text.prepare(work, 4000)
    text.file("train", "fr").write_text("un autre texte\n")
    with pytest.raises(BenchError, match="prepared: not of .*text; remove it, or name"):
        text.prepare(work, 8000)
    (work / "prepared/vocab.tgt").unlink()
    assert text.prepare(work, 4000) == work / "prepared"


def test_a_text_without_such_lengths_is_refused(text: Text, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no pair of train has 31 to 40 words a side"):
        write_corpus(text, tmp_path / "raw", (31, 40), 1, lines=2)
