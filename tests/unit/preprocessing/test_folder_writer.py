"""The files of a prepared folder: cleaning, subwords, and independence of the number of workers."""

import json
from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import TextConfig
from nmtkit.data.manifest import read_manifest
from nmtkit.errors import DataError
from nmtkit.io.lines import file_sha256
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.bpe import BPE, undo_bpe
from tests.unit.preprocessing.bitexts import (
    JOINT,
    PAIRS,
    SEPARATE,
    Files,
    alone,
    content,
    lines,
    write,
)

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_training_pairs_are_cleaned_by_rule(tmp_path: Path, train: Files) -> None:
    settings = PrepareSettings(max_length=8, max_ratio=4, dedup=True)
    manifest = prepare(settings, tmp_path / "out", train)
    assert lines(tmp_path / "out" / "train.src") == [
        "The dog 's house is well-known .",
        "He eats , in the U.S .",
        "the dog the house",
        "The dog 's house is well-known .",
    ]
    assert lines(tmp_path / "out" / "train.tgt")[1:3] == ["Il mange l' été .", "le chien la maison"]
    split = manifest["splits"]["train"]
    assert split["dropped"] == {"invalid": 0, "empty": 2, "long": 1, "ratio": 1, "duplicate": 1}
    assert split["read"] == len(PAIRS) == split["pairs"] + sum(split["dropped"].values())
    assert split["src_tokens"] == 25


@pytest.mark.parametrize(
    ("src", "tgt", "stays"),
    [(5, 1, True), (6, 1, False), (1, 5, True), (1, 6, False), (10, 2, True), (11, 3, False)],
)
def test_length_and_ratio_are_allowed_up_to_the_limit(
    tmp_path: Path, src: int, tgt: int, stays: bool
) -> None:
    files = write(tmp_path, "train", [("a " * src, "b " * tgt), ("a", "b")])
    prepare(PrepareSettings(max_length=10, max_ratio=5), tmp_path / "out", files)
    assert len(lines(tmp_path / "out" / "train.src")) == 1 + stays


def test_length_counts_words_before_bpe(tmp_path: Path) -> None:
    files = write(tmp_path, "train", [("abcdef ghijkl", "mnopqr stuvwx")] * 3)
    prepare(PrepareSettings(JOINT, max_length=2, merges=1), tmp_path / "out", files)
    assert len(lines(tmp_path / "out" / "train.src")) == 3
    assert len(lines(tmp_path / "out" / "train.src")[0].split()) > 2


def test_dev_and_test_keep_every_line(tmp_path: Path, train: Files) -> None:
    manifest = prepare(
        PrepareSettings(max_length=2, max_ratio=30, dedup=True), tmp_path / "out",
        write(tmp_path, "t", [("a", "b")]), dev=train, tests={"news-2014": train},
    )  # fmt: skip
    pipeline = TextPipeline("en", TextConfig(), None)
    for name in ("dev", "news-2014"):
        assert lines(tmp_path / "out" / f"{name}.src") == [
            " ".join(pipeline.tokens(src)) for src, _ in PAIRS
        ]
        assert lines(tmp_path / "out" / f"{name}.tgt")[2] == ""
        assert manifest["splits"][name]["pairs"] == len(PAIRS)
        assert "dropped" not in manifest["splits"][name]


def test_a_dev_or_test_set_without_pairs_is_refused(tmp_path: Path, train: Files) -> None:
    empty = write(tmp_path, "none", [])
    for sets, message in (
        ({"dev": empty}, "none.en, .*none.fr: the dev set has no pairs; give"),
        ({"tests": {"news": empty}}, "none.en, .*none.fr: the test set 'news' has no pairs; give"),
    ):
        with pytest.raises(DataError, match=message):
            prepare(PrepareSettings(), tmp_path / "out", train, **sets)
        assert not (tmp_path / "out").exists()


def test_the_manifest_is_complete(tmp_path: Path, train: Files) -> None:
    settings = PrepareSettings(TextConfig(hyphens=True, subwords="joint"), merges=9, max_length=7)
    manifest = prepare(settings, tmp_path / "out", train, dev=train)
    assert manifest == read_manifest(tmp_path / "out")
    assert manifest["format"] == 2
    assert manifest["text"] == {
        "src_language": "en", "tgt_language": "fr", "tokenized": False, "hyphens": True,
        "escape": False, "nfc": False, "punctuation": False, "protected": False,
        "combining": False, "joiners": False, "case": "keep", "subwords": "joint",
        "tags": [], "raw": False, "glossaries": [], "vocabulary_threshold": 0, "copy_names": False,
        "markup": "none",
    }  # fmt: skip
    assert manifest["settings"]["merges"] == 9
    assert manifest["settings"]["max_length"] == 7
    assert {"nmtkit", "python", "sacremoses", "subword-nmt"} == set(manifest["versions"])
    assert manifest["inputs"] == {str(path): file_sha256(path) for path in train}
    names = set(content(tmp_path / "out")) - {"manifest.json"}
    assert manifest["outputs"] == {name: file_sha256(tmp_path / "out" / name) for name in names}
    assert names == {
        "train.src", "train.tgt", "dev.src", "dev.tgt", "bpe.src", "bpe.tgt", "cleaning.html",
        "dropped.tsv.gz",
    }  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [
        PrepareSettings(dedup=True),
        PrepareSettings(JOINT, merges=12, dedup=True),
        PrepareSettings(SEPARATE, merges=12, invalid="drop"),
    ],
)
def test_the_same_bytes_for_any_number_of_workers(
    tmp_path: Path, train: Files, settings: PrepareSettings
) -> None:
    if settings.invalid == "drop":
        train[0].write_bytes(train[0].read_bytes().replace(b"dog dog dog", b"d\xf4g dog dog"))
    for workers in (1, 2):
        prepare(settings, tmp_path / f"out{workers}", train, train, workers=workers)
    assert content(tmp_path / "out1") == content(tmp_path / "out2")


def test_joint_bpe_is_learned_on_both_sides(tmp_path: Path) -> None:
    files = write(tmp_path, "train", [("xyxy", "abab"), ("xyxy", "abab")])
    prepare(PrepareSettings(JOINT, merges=20), tmp_path / "joint", files)
    prepare(PrepareSettings(SEPARATE, merges=20), tmp_path / "separate", files)
    joint = content(tmp_path / "joint")
    assert joint["bpe.src"] == joint["bpe.tgt"]
    assert b"x y" in joint["bpe.src"] and b"a b" in joint["bpe.src"]
    assert b"a b" not in (tmp_path / "separate" / "bpe.src").read_bytes()
    assert b"x y" not in (tmp_path / "separate" / "bpe.tgt").read_bytes()


def test_bpe_is_undone_to_the_text_without_it(tmp_path: Path, train: Files) -> None:
    prepare(PrepareSettings(), tmp_path / "words", train, dev=train)
    prepare(PrepareSettings(JOINT, merges=5), tmp_path / "pieces", train, dev=train)
    for name in ("train.src", "train.tgt", "dev.src", "dev.tgt"):
        pieces = lines(tmp_path / "pieces" / name)
        assert any("@@" in line for line in pieces)
        joined = [" ".join(undo_bpe(line.split())) for line in pieces]
        assert joined == lines(tmp_path / "words" / name)


@pytest.mark.parametrize("text", [JOINT, SEPARATE])
def test_given_codes_equal_learned_ones(tmp_path: Path, train: Files, text: TextConfig) -> None:
    prepare(PrepareSettings(text, merges=8), tmp_path / "learned", train, dev=train)
    sides = ("src",) if text.subwords == "joint" else ("src", "tgt")
    codes = tuple(str(tmp_path / "learned" / f"bpe.{side}") for side in sides)
    manifest = prepare(PrepareSettings(text, codes=codes), tmp_path / "given", train, dev=train)
    learned, from_codes = content(tmp_path / "learned"), content(tmp_path / "given")
    assert learned.pop("manifest.json") != from_codes.pop("manifest.json")
    assert learned == from_codes
    assert set(codes) < set(manifest["inputs"])


def test_tokenised_text_is_unchanged(tmp_path: Path) -> None:
    files = write(tmp_path, "train", [("l' a  &apos; @-@ U.S.", "x-y  .")])
    prepare(PrepareSettings(TextConfig(tokenized=True)), tmp_path / "out", files)
    assert lines(tmp_path / "out" / "train.src") == ["l' a &apos; @-@ U.S."]


def test_the_pipeline_loads_from_the_folder(tmp_path: Path, train: Files) -> None:
    prepare(PrepareSettings(SEPARATE, merges=9), tmp_path / "out", train, dev=train)
    for side, index in (("src", 0), ("tgt", 1)):
        pipeline = TextPipeline.load(tmp_path / "out", side, SEPARATE)  # type: ignore[arg-type]
        tokens = [" ".join(pipeline.tokens(pair[index])) for pair in PAIRS]
        assert tokens == lines(tmp_path / "out" / f"dev.{side}")


@pytest.mark.parametrize(("where", "workers"), [("train", 1), ("dev", 1), ("train", 2)])
def test_invalid_utf8_names_its_line(tmp_path: Path, where: str, workers: int) -> None:
    good, bad = write(tmp_path, "good", PAIRS), write(tmp_path, "bad", [("a", "b")] * 9)
    bad[1].write_bytes(b"b\n" * 7 + b"caf\xe9\n" + b"b\n")
    splits = {"train": good, "dev": good, where: bad}
    with pytest.raises(DataError, match=r"bad\.fr:8: not valid UTF-8"):
        prepare(PrepareSettings(), tmp_path / "out", **splits, workers=workers)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists() and alone(tmp_path)


def test_invalid_pairs_can_be_dropped(tmp_path: Path) -> None:
    files = write(tmp_path, "bad", [(f"a{n}", f"b{n}") for n in range(5)])
    files[0].write_bytes(b"a0\n\xffa1\na2\na3\na4\n")
    files[1].write_bytes(b"b0\nb1\nb2\n\xffb3 \xff\nb4")
    manifest = prepare(PrepareSettings(invalid="drop"), tmp_path / "out", files, dev=files)
    assert lines(tmp_path / "out" / "train.src") == ["a0", "a2", "a4"]
    assert lines(tmp_path / "out" / "train.tgt") == ["b0", "b2", "b4"]
    assert manifest["splits"]["train"]["dropped"]["invalid"] == 2
    assert lines(tmp_path / "out" / "dev.tgt")[3].replace(" ", "") == "\ufffdb3\ufffd"
    assert len(lines(tmp_path / "out" / "dev.src")) == 5
    assert manifest["splits"]["dev"]["replaced"] == 2


@pytest.mark.parametrize("where", ["train", "dev", "news"])
def test_sides_of_different_length(tmp_path: Path, train: Files, where: str) -> None:
    short = write(tmp_path, "short", PAIRS)
    short[1].write_text("mot\n" * 8)
    splits: dict[str, Any] = {"train": train, "dev": train, where: short}
    tests = {"news": splits.pop("news")} if where == "news" else {}
    with pytest.raises(DataError, match=r"short\.en has 9, .*short\.fr has 8"):
        prepare(PrepareSettings(), tmp_path / "out", **splits, tests=tests)
    assert not (tmp_path / "out").exists() and alone(tmp_path)


def test_no_training_pair_left_is_an_error(tmp_path: Path, train: Files) -> None:
    for settings in (PrepareSettings(max_length=1), PrepareSettings(JOINT, max_length=1, merges=3)):
        with pytest.raises(
            DataError, match=r"no training pair is left of 9 \(dropped: 2 empty, 7 long"
        ):
            prepare(settings, tmp_path / "out", train)
        assert alone(tmp_path)


def test_no_training_pair_left_names_the_rule(tmp_path: Path, train: Files) -> None:
    """All pairs stand in the dev set, and the advice was to raise the limits of length."""
    settings = PrepareSettings(leakage="drop")
    with pytest.raises(DataError, match=r"left of 9 \(dropped: .*leak\); .* --leakage$"):
        prepare(settings, tmp_path / "out", train, dev=train)
    assert alone(tmp_path)


def test_manifest_is_the_same_on_every_run(tmp_path: Path, train: Files) -> None:
    for name in ("one", "two"):
        prepare(PrepareSettings(JOINT, merges=3), tmp_path / name, train)
    first, second = (tmp_path / name / "manifest.json" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(first.read_text())["splits"]["train"]["pairs"] == 7


def test_merges_of_a_prepared_folder_are_a_subword_nmt_file(tmp_path: Path, train: Files) -> None:
    prepare(PrepareSettings(JOINT, merges=3), tmp_path / "out", train)
    assert lines(tmp_path / "out" / "bpe.src")[0] == "#version: 0.2"
    assert len(BPE.load(tmp_path / "out" / "bpe.src").merges) == 3
