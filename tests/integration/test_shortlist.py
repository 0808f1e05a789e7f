"""`nmtkit shortlist` through the real command line."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

TEXT = "b a b\n\nc é b\n"


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(prepared, copy, ignore=shutil.ignore_patterns("vocab.*"))
    return copy


def test_a_prepared_folder_gets_both_vocabularies(nmtkit: Nmtkit, folder: Path) -> None:
    result = nmtkit("shortlist", folder, "--size", 5, "--tgt-size", 12)
    assert result.stdout == ""
    assert "train.src: 5 words cover" in result.stderr
    assert "train.tgt: 12 words cover 100.00 % of" in result.stderr
    source = (folder / "vocab.src").read_text().split("\n")
    assert [line.split("\t")[0] for line in source[:2]] == ["</s>", "<unk>"]
    assert source[0] == "</s>\t20"
    assert len(source) == 5 + 1
    assert len((folder / "vocab.tgt").read_text().split("\n")) == 12 + 1
    assert "exists already" in nmtkit("shortlist", folder, status=1).stderr
    nmtkit("shortlist", folder, "--size", 4, "--force")
    assert len((folder / "vocab.src").read_text().split("\n")) == 4 + 1


def test_the_shortlist_of_a_file_goes_to_stdout(nmtkit: Nmtkit) -> None:
    result = nmtkit("shortlist", "-", "--size", 4, input=TEXT)
    assert result.stdout == "</s>\t3\n<unk>\t2\nb\t3\na\t1\n"
    assert "-: 4 words cover 66.67 % of 6 tokens, 50.00 % of 4 types" in result.stderr


def test_the_shortlist_of_a_file_goes_to_a_file(nmtkit: Nmtkit, tmp_path: Path) -> None:
    (tmp_path / "text.gz").write_bytes(gzip.compress(TEXT.encode()))
    output = tmp_path / "vocab.gz"
    nmtkit("shortlist", tmp_path / "text.gz", "--output", output)
    text = gzip.decompress(output.read_bytes()).decode()
    assert text == "</s>\t3\n<unk>\t0\nb\t3\na\t1\nc\t1\né\t1\n"
    assert "exists already" in nmtkit("shortlist", "-", "--output", output, status=1).stderr


def test_a_folder_that_is_not_prepared_is_refused(nmtkit: Nmtkit, tmp_path: Path) -> None:
    result = nmtkit("shortlist", tmp_path, status=1)
    assert "name a folder that 'nmtkit prepare' made" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_reported(nmtkit: Nmtkit, tmp_path: Path) -> None:
    result = nmtkit("shortlist", tmp_path / "no", "--output", tmp_path / "vocab", status=1)
    assert (
        result.stderr
        == f"nmtkit: error: {tmp_path / 'no'}: cannot be read: No such file or directory\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage(nmtkit: Nmtkit, folder: Path) -> None:
    nmtkit("shortlist", folder, "--output", "x", status=2)
    nmtkit("shortlist", "-", "--src-size", "5", status=2)
    nmtkit("shortlist", "-", "--size", "2", status=2)
