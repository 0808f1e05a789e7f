"""Prepared folders: cleaning, atomic writing, and independence of the number of workers."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import TextConfig
from nmtkit.data.manifest import read_manifest
from nmtkit.errors import ConfigError, DataError, OutputError
from nmtkit.io.lines import file_sha256, read_lines
from nmtkit.preprocessing import folder_writer
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.preprocessing.shortlists import write_shortlist, write_shortlists
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.bpe import BPE, undo_bpe
from nmtkit.text.vocabulary import Vocabulary

Files = tuple[Path, Path]
JOINT = TextConfig(subwords="joint")
SEPARATE = TextConfig(subwords="separate")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_writer, "BLOCK_LINES", 3)


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> Files:
    files = folder / f"{name}.en", folder / f"{name}.fr"
    for side, path in enumerate(files):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8", newline="")
    return files


PAIRS = [
    ("The dog's house is well-known.", "La maison du chien est bien-connue."),
    ("", "vide"),
    ("empty", " \t\u00a0"),
    ("He eats, in the U.S.", "Il mange l'été."),
    ("word " * 6, "mot"),
    ("The dog's house is well-known.", "La maison du chien est bien-connue."),
    ("the dog\u2028the house\r", "le chien\x0cla maison\r"),
    ("The dog's house is well-known. ", "La maison du chien est bien-connue."),
    ("dog dog dog dog dog dog dog dog dog", "chien chien"),
]


@pytest.fixture
def train(tmp_path: Path) -> Files:
    return write(tmp_path, "train", PAIRS)


def test_the_language_rule_takes_other_codes_of_a_language(train: Files, tmp_path: Path) -> None:
    pytest.importorskip("py3langid")
    text = TextConfig(src_language="eng", tgt_language="fra")
    manifest = prepare(PrepareSettings(text=text, rules={"language": 0.9}), tmp_path / "out", train)
    assert manifest["text"]["src_language"] == "en"


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def lines(path: Path) -> list[str]:
    return list(read_lines(path))


def alone(tmp_path: Path) -> bool:
    """Return whether no temporary folder was left behind."""
    return not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


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


@pytest.mark.parametrize(("options", "is_said"), [({}, True), ({"dry_run": True}, False)])
def test_a_folder_without_a_dev_set_is_reported_before_the_work(
    tmp_path: Path,
    train: Files,
    caplog: pytest.LogCaptureFixture,
    options: dict[str, Any],
    is_said: bool,
) -> None:
    with caplog.at_level("INFO", "nmtkit"):
        prepare(PrepareSettings(), tmp_path / "a", train, **options)
        prepare(PrepareSettings(), tmp_path / "b", train, train)
        prepare(PrepareSettings(held_out=1), tmp_path / "c", train)
    assert caplog.text.count("no dev set") == is_said
    if is_said:
        assert caplog.messages[0].startswith("no dev set")


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


def test_missing_files_and_codes(tmp_path: Path, train: Files) -> None:
    with pytest.raises(DataError, match="nowhere: cannot be read"):
        prepare(PrepareSettings(), tmp_path / "out", (train[0], tmp_path / "nowhere"))
    with pytest.raises(DataError, match="nocodes: cannot be read"):
        prepare(PrepareSettings(JOINT, codes=("nocodes",)), tmp_path / "out", train)
    assert alone(tmp_path)


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


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (PrepareSettings(max_length=0), "the maximum length .*, not 0"),
        (PrepareSettings(max_ratio=0.5), "the maximum ratio .*, not 0.5"),
        (PrepareSettings(max_ratio=math.inf), "the maximum ratio .*, not inf"),
        (PrepareSettings(max_ratio=math.nan), "the maximum ratio .*, not nan"),
        (PrepareSettings(JOINT, merges=-1), "BPE merges must be at least 1, not -1"),
        (PrepareSettings(merges=5), "text.subwords is 'none', with 5 merges"),
        (PrepareSettings(JOINT, merges=5, codes=("a",)), "BPE is either learned or given"),
        (PrepareSettings(JOINT, codes=("a", "b")), "two files are 'separate'"),
        (PrepareSettings(SEPARATE, codes=("a",)), "one file of BPE merges is 'joint'"),
        (PrepareSettings(SEPARATE, codes=("a", "b", "c")), "3 files of BPE merges"),
    ],
)
def test_contradictory_settings_are_refused_before_any_work(
    tmp_path: Path, settings: PrepareSettings, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        prepare(settings, tmp_path / "out", ("nowhere", "nowhere"))


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "train", "dev", "bpe", "-x", "a b", "é"]
)
def test_names_of_test_sets_are_plain(tmp_path: Path, train: Files, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a test set"):
        prepare(PrepareSettings(), tmp_path / "out", train, tests={name: train})


def test_an_existing_folder_is_replaced_with_force_only(tmp_path: Path, train: Files) -> None:
    out = tmp_path / "out"
    out.mkdir()
    prepare(PrepareSettings(), out, train)  # an empty folder is nothing to lose
    before = content(out)
    with pytest.raises(OutputError, match="out: exists already; use --force"):
        prepare(PrepareSettings(hyphens := TextConfig(hyphens=True)), out, train)
    with pytest.raises(DataError):
        prepare(PrepareSettings(hyphens), out, (train[0], tmp_path / "nowhere"), force=True)
    assert content(out) == before
    prepare(PrepareSettings(hyphens), out, train, force=True)
    assert "@-@" in (out / "train.src").read_text()
    assert alone(tmp_path)


def test_a_folder_with_a_file_to_read_is_not_replaced(tmp_path: Path, train: Files) -> None:
    out = tmp_path / "out"
    prepare(PrepareSettings(), out, train)
    more = write(out, "more", PAIRS)
    before = content(out)
    with pytest.raises(OutputError, match=r"out/more.en: is in the output folder, .*out, which"):
        prepare(PrepareSettings(), out, [train, more], force=True)
    with pytest.raises(OutputError, match=r"more.en: is in the output folder"):
        prepare(PrepareSettings(), out, train, tests={"more": more}, force=True)
    assert content(out) == before


def test_other_folders_and_files_are_never_replaced(tmp_path: Path, train: Files) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letters.txt").write_text("dear")
    for target in (home, home / "letters.txt"):
        with pytest.raises(OutputError, match="is not a prepared folder"):
            prepare(PrepareSettings(), target, train, force=True)
    with pytest.raises(OutputError, match="parent folder does not exist"):
        prepare(PrepareSettings(), tmp_path / "a" / "b", train)
    assert (home / "letters.txt").read_text() == "dear"


def test_an_interruption_leaves_nothing(
    tmp_path: Path, train: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_writer, "clean_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prepare(PrepareSettings(), tmp_path / "out", train)
    assert not (tmp_path / "out").exists() and alone(tmp_path)


def test_the_old_folder_is_restored_if_the_new_one_fails(
    tmp_path: Path, train: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    prepare(PrepareSettings(), out, train)
    before = content(out)
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if target == out and not source.name.endswith(".old"):
            raise PermissionError(1, "not permitted")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr("nmtkit.io.exchange.exchange", lambda *_: False)  # as on some file systems
    with pytest.raises(OutputError, match="out: cannot be written: not permitted"):
        prepare(PrepareSettings(), out, train, force=True)
    assert content(out) == before and alone(tmp_path)


def test_manifest_is_the_same_on_every_run(tmp_path: Path, train: Files) -> None:
    for name in ("one", "two"):
        prepare(PrepareSettings(JOINT, merges=3), tmp_path / name, train)
    first, second = (tmp_path / name / "manifest.json" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(first.read_text())["splits"]["train"]["pairs"] == 7


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


def test_merges_of_a_prepared_folder_are_a_subword_nmt_file(tmp_path: Path, train: Files) -> None:
    prepare(PrepareSettings(JOINT, merges=3), tmp_path / "out", train)
    assert lines(tmp_path / "out" / "bpe.src")[0] == "#version: 0.2"
    assert len(BPE.load(tmp_path / "out" / "bpe.src").merges) == 3


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
