"""Damage in any file of a prepared folder is found, and what nmtkit wrote is well."""

import itertools
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.data.corpus import Corpus
from nmtkit.data.manifest import MANIFEST_FILE
from nmtkit.integrity.check import check
from nmtkit.io.checksums import with_checksum
from nmtkit.io.locks import try_lock
from nmtkit.io.temporary import hidden_name
from nmtkit.model_folder import read_vocabularies
from nmtkit.preprocessing.api import build_shortlist, prepare
from nmtkit.preprocessing.corpora import TrainingCorpus
from nmtkit.preprocessing.prepare import prepare as write_folder
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.preprocessing.shortlists import write_shortlists
from nmtkit.text.vocabulary import Vocabulary
from tests.faults.hostile import fixed_cases
from tests.unit.integrity.conftest import Copy, errors_of, warnings_of

WITHOUT_CHECKSUM = {MANIFEST_FILE}
"""Files in which a changed setting is not noticed; docs/how-to/check-files.md names them."""


def binarise(folder: Path) -> list[str]:
    """Write the files of ids; return their names."""
    before = set(os.listdir(folder))
    for split in ("train", "dev"):
        Corpus.open(folder, split, read_vocabularies(folder))
    return sorted(set(os.listdir(folder)) - before)


def test_what_prepare_shortlist_and_train_write_is_well(prepared: Path, model: Path) -> None:
    result = check(prepared)
    assert (result.findings, result.unchecked, result.kind) == ((), (), "prepared folder")
    assert result.files == len(os.listdir(prepared)) == 11 + 2 + 2 + 14


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"held_out": 5},
        {"bpe": 4, "bpe_separate": True, "held_out": 5},
        {"tokenized": True, "dedup": True},
        {"max_length": 3, "invalid": "drop"},
    ],
    ids=str,
)
def test_each_way_of_preparing_is_well(texts: Path, tmp_path: Path, options: dict) -> None:
    for name in ("train.en", "train.fr"):
        lines = (texts / name).read_bytes().splitlines(keepends=True)
        extra = b"\xff one\n" if "invalid" in options else b"one one one one\n"
        (tmp_path / name).write_bytes(b"".join([*lines, extra]))
    folder = tmp_path / "prepared"
    prepare(
        (tmp_path / "train.en", tmp_path / "train.fr"),
        folder,
        src_language="en",
        tgt_language="fr",
        **options,
    )
    assert check(folder).findings == ()
    build_shortlist(folder, 5)
    assert check(folder).findings == ()
    build_shortlist(folder, 1000, force=True)
    assert check(folder).findings == ()


def test_a_folder_made_of_a_phrase_table_is_well(tmp_path: Path) -> None:
    (tmp_path / "table").write_text("a ||| b ||| 1\na b ||| c ||| 1\n")
    prepare(
        (tmp_path / "table",),
        tmp_path / "prepared",
        src_language="en",
        tgt_language="fr",
        tokenized=True,
    )
    assert check(tmp_path / "prepared").findings == ()


@settings(max_examples=40, derandomize=True)
@given(data=st.data())
def test_a_flipped_bit_is_found_in_any_file_with_a_checksum(
    prepared: Path, model: Path, data: st.DataObject
) -> None:
    names = sorted(set(os.listdir(prepared)) - WITHOUT_CHECKSUM)
    names = [name for name in names if (prepared / name).stat().st_size]  # no names, no bits
    path = prepared / data.draw(st.sampled_from(names))
    valid = path.read_bytes()
    bit = data.draw(st.integers(0, 8 * len(valid) - 1))
    damaged = bytearray(valid)
    damaged[bit // 8] ^= 1 << bit % 8
    try:
        path.write_bytes(damaged)
        findings = check(prepared).findings
    finally:
        path.write_bytes(valid)
    assert any(path.name in f"{finding.path} {finding.problem}" for finding in findings)


def test_a_text_that_was_cut_is_described(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    lines = (folder / "dev.tgt").read_text().splitlines(keepends=True)
    (folder / "dev.tgt").write_text("".join(lines[:-1]))
    problems = [finding.problem for finding in check(folder).findings]
    assert "changed or damaged: manifest.json has another checksum" in problems
    assert "has 5 lines; it had 6 when it was written" in problems


def test_a_missing_text_is_named(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    (folder / "train.src").unlink()
    assert "missing" in errors_of(folder)["train.src"].problem


def test_text_that_is_not_utf_8_is_named_with_its_line(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    (folder / "train.tgt").write_bytes(b"a\n\xff\n")
    findings = [f for f in check(folder).findings if Path(f.path).name == "train.tgt"]
    assert any(f.line == 2 and "not valid UTF-8" in f.problem for f in findings)


def test_sides_of_different_length_are_found_without_a_manifest(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    (folder / MANIFEST_FILE).unlink()
    with open(folder / "dev.tgt", "a") as file:
        file.write("more\n")
    errors = errors_of(folder)
    assert errors["dev.tgt"].problem == "has 7 lines, but dev.src has 6"
    assert errors.keys() == {MANIFEST_FILE, "dev.tgt"}


@pytest.mark.parametrize("key", ["pairs", "src_tokens", "tgt_tokens"])
def test_wrong_counts_in_the_manifest_are_found(prepared: Path, copy: Copy, key: str) -> None:
    folder = copy(prepared)
    change_manifest(folder, lambda manifest: manifest["splits"]["dev"].update({key: 99}))
    error = errors_of(folder)[MANIFEST_FILE]
    assert f"{key} of dev." in error.problem and "99" in error.problem


@pytest.mark.parametrize("key", ["outputs", "splits", "text", "format"])
def test_a_part_that_the_manifest_lacks_is_found(prepared: Path, copy: Copy, key: str) -> None:
    folder = copy(prepared)
    change_manifest(folder, lambda manifest: manifest.pop(key))
    assert MANIFEST_FILE in errors_of(folder)


def test_a_manifest_cannot_name_files_elsewhere(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    outside = folder.parent / "secret.src"
    outside.write_text("secret\n")
    change_manifest(folder, lambda m: m["outputs"].update({"../secret.src": "0" * 64}))
    findings = check(folder).findings
    assert [Path(finding.path).name for finding in findings] == [MANIFEST_FILE]


def change_manifest(folder: Path, change) -> None:
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    del manifest["sha256"]
    change(manifest)
    path.write_text(json.dumps(with_checksum(manifest)))


def test_a_wrong_count_in_a_shortlist_is_found(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    lines = (folder / "vocab.src").read_text().splitlines()
    word, count = lines[4].split("\t")
    lines[4] = f"{word}\t{int(count) + 1}"
    (folder / "vocab.src").write_text("".join(f"{line}\n" for line in lines))
    error = errors_of(folder)["vocab.src"]
    assert error.line == 5 and f"'{word}' has count {int(count) + 1}" in error.problem
    assert "--src-size 12 --tgt-size" in error.remedy and error.remedy.endswith("--force")


def test_the_remedy_for_a_shortlist_mends_it(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    with open(folder / "vocab.src", "a") as file:
        file.write("word\t0\n")
    assert "vocab.src" in errors_of(folder)
    build_shortlist(folder, 12, force=True)
    assert check(folder).findings == ()


def test_a_tag_of_a_corpus_without_pairs_is_well(tmp_path: Path) -> None:
    for corpus, text in (("a", "one two\n"), ("b", "\n")):
        for side in ("src", "tgt"):
            (tmp_path / f"{corpus}.{side}").write_text(text)
    corpora = [
        TrainingCorpus((tmp_path / f"{name}.src", tmp_path / f"{name}.tgt"), tag=f"<{name}>")
        for name in ("a", "b")
    ]
    folder = tmp_path / "prepared"
    write_folder(PrepareSettings(), folder, corpora)
    write_shortlists(folder, 9, 9)
    assert "<b>\t0" in (folder / "vocab.src").read_text()
    assert check(folder).findings == ()


def test_a_shortlist_of_another_text_gives_a_warning(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    (folder / "vocab.tgt").unlink()
    Vocabulary(["</s>", "<unk>", "x", "y"], [9, 9, 9, 9]).save(folder / "vocab.tgt")
    for path in folder.glob("*.json"):
        if path.name != MANIFEST_FILE:
            path.unlink()
    warning = warnings_of(folder)["vocab.tgt"]
    assert "not the shortlist of train.tgt" in warning.problem and not errors_of(folder)


def test_a_plain_list_of_words_is_well(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    vocabulary = Vocabulary.load(folder / "vocab.tgt")
    (folder / "vocab.tgt").write_text("".join(f"{word}\n" for word in vocabulary.words))
    assert check(folder).findings == ()


def test_a_single_shortlist_gives_a_warning(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    (folder / "vocab.src").unlink()
    assert "nmtkit shortlist" in warnings_of(folder)["vocab.src"].remedy


def test_any_content_of_any_file_gives_findings(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    cases = list(fixed_cases(b"word\t1\n"))
    for case, name in zip(cases[::8], itertools.cycle(os.listdir(folder)), strict=False):
        valid = (folder / name).read_bytes()
        (folder / name).write_bytes(case)
        found = any(name in f"{f.path} {f.problem}" for f in check(folder).findings)
        assert found or name.startswith("vocab."), (name, case)  # may be a plain list of words
        (folder / name).write_bytes(valid)


def test_stale_binarised_text_is_named(prepared: Path, model: Path, copy: Copy) -> None:
    folder = copy(prepared)
    for side in ("src", "tgt"):
        path = folder / f"dev.{side}"
        text = path.read_text()
        path.write_text("one\n" * text.count("\n"))
    change_manifest(folder, lambda m: m["outputs"].update(new_sums(folder)))
    change_manifest(folder, lambda m: [m["splits"]["dev"].update(counts()) for _ in "x"])
    findings = check(folder).findings
    assert {Path(f.path).name.rpartition(".")[2] for f in findings} == {"json"}
    assert all("stale: dev." in f.problem and f.severity == "warning" for f in findings)
    for path in folder.glob("dev.*.*.json"):
        path.unlink()
    assert all("missing" in finding.problem for finding in check(folder).findings)
    binarise(folder)
    assert check(folder).findings == ()


def test_binarised_text_is_not_stale_for_a_manifest_that_is_missing_or_older(
    prepared: Path, model: Path, copy: Copy
) -> None:
    folder = copy(prepared)
    path = folder / "dev.src"
    path.write_text(path.read_text().replace("two", "one"))
    binarise(folder)  # as a training does, after a warning
    assert errors_of(folder).keys() == {"dev.src"} and not warnings_of(folder)
    (folder / MANIFEST_FILE).unlink()
    assert not warnings_of(folder)


def counts() -> dict[str, int]:
    return {"src_tokens": 6, "tgt_tokens": 6}


def new_sums(folder: Path) -> dict[str, str]:
    from nmtkit.io.lines import file_sha256

    return {f"dev.{side}": file_sha256(folder / f"dev.{side}") for side in ("src", "tgt")}


def test_binarised_text_of_another_vocabulary_gives_a_warning(
    prepared: Path, model: Path, copy: Copy
) -> None:
    folder = copy(prepared)
    build_shortlist(folder, 7, force=True)
    warnings = warnings_of(folder)
    assert len(warnings) == 4 and not errors_of(folder)
    assert all("a vocabulary that is not here" in w.problem for w in warnings.values())


def test_leftovers_are_named_unless_they_are_being_written(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    left, written = hidden_name(folder / "vocab.src"), hidden_name(folder / "vocab.tgt")
    left.touch()
    with open(written, "xb") as stream:
        try_lock(stream.fileno())
        assert warnings_of(folder).keys() == {left.name}
    assert warnings_of(folder).keys() == {left.name, written.name}


def test_unknown_files_are_listed_and_not_read(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    (folder / "notes.txt").write_bytes(b"\xff")
    (folder / "folder").mkdir()
    result = check(folder)
    assert result.findings == ()
    assert [Path(path).name for path in result.unchecked] == ["folder", "notes.txt"]


@pytest.mark.parametrize("name", ["train.src", "vocab.src", "bpe.src", MANIFEST_FILE])
def test_a_pipe_is_found_without_opening_it(prepared: Path, copy: Copy, name: str) -> None:
    folder = copy(prepared)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert name in errors_of(folder)


def test_a_link_to_nothing_is_found(prepared: Path, copy: Copy) -> None:
    folder = copy(prepared)
    (folder / "dev.src").unlink()
    (folder / "dev.src").symlink_to("nowhere")
    assert "dev.src" in errors_of(folder)
