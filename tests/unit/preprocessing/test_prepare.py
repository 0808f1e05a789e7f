"""Preparing a bitext: what is refused before any work, and when a folder is replaced."""

import math
import os
from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError, OutputError
from nmtkit.preprocessing import folder_writer
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings
from tests.unit.preprocessing.bitexts import JOINT, PAIRS, SEPARATE, Files, alone, content, write

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_the_language_rule_takes_other_codes_of_a_language(train: Files, tmp_path: Path) -> None:
    pytest.importorskip("py3langid")
    text = TextConfig(src_language="eng", tgt_language="fra")
    manifest = prepare(PrepareSettings(text=text, rules={"language": 0.9}), tmp_path / "out", train)
    assert manifest["text"]["src_language"] == "en"


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


def test_missing_files_and_codes(tmp_path: Path, train: Files) -> None:
    with pytest.raises(DataError, match="nowhere: cannot be read"):
        prepare(PrepareSettings(), tmp_path / "out", (train[0], tmp_path / "nowhere"))
    with pytest.raises(DataError, match="nocodes: cannot be read"):
        prepare(PrepareSettings(JOINT, codes=("nocodes",)), tmp_path / "out", train)
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
