"""Both ways to prepare get the same lines, and their outputs are compared."""

import argparse
import gzip
from pathlib import Path

import prepare
import pytest
from timing import BenchError, CommandCost


def job(folder: Path) -> prepare.Job:
    return prepare.Job("x", folder, argparse.Namespace())


def test_pairs_without_words_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n\ntwo\nthree\nfour\n")
    with gzip.open(tmp_path / "b.gz", "wb") as packed:
        packed.write("un\nrien\n \u00a0\ntrois\nquatre".encode())
    targets = [tmp_path / "src", tmp_path / "tgt"]
    sources = [str(tmp_path / "a"), str(tmp_path / "b.gz")]
    assert prepare.copy_pairs(sources, targets, None) == 3
    assert prepare.copy_pairs(sources, targets, 2) == 2
    assert [path.read_bytes() for path in targets] == [b"one\nthree\n", b"un\ntrois\n"]
    with pytest.raises(BenchError, match="nowhere: cannot be read"):
        prepare.copy_pairs([str(tmp_path / "nowhere"), sources[1]], targets, None)


def test_given_merges_are_those_of_the_corpus_and_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = tmp_path / "x.learned.pipe.codes"
    monkeypatch.setattr(prepare, "in_turns", lambda runs, *_: dict.fromkeys(runs, []))
    monkeypatch.setattr(prepare.Job, "run_nmtkit", lambda *_: None)
    monkeypatch.setattr(prepare.Job, "count_differing", lambda *_: 0)
    monkeypatch.setattr(
        prepare.Job, "run_pipe", lambda one, _: lambda: codes.write_text(str(one.options.merges))
    )
    for merges in (10_000, 5_000):
        options = argparse.Namespace(jobs=["merges given"], rounds=1, merges=merges)
        prepare.measure(prepare.Job("x", tmp_path, options))
        assert prepare.Job("x", tmp_path, options).given_merges.read_text() == str(merges)


def test_differing_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "x.given").mkdir()
    for side, (ours, theirs) in {"src": ("a .\nb\n", "a.\nb\n"), "tgt": ("c\n\n", "c\n\n")}.items():
        (tmp_path / "x.given" / f"train.{side}").write_text(ours)
        (tmp_path / f"x.given.pipe.{side}").write_text(theirs)
    assert job(tmp_path).count_differing("given") == 1
    (tmp_path / "x.given.pipe.tgt").write_text("c\n")
    with pytest.raises(BenchError, match="1 lines, not 2"):
        job(tmp_path).count_differing("given")


def test_ratios_are_to_the_pipe() -> None:
    costs = {
        prepare.NMTKIT_PREPARE: [CommandCost(2.0, 3.0, 5 << 20)],
        prepare.PIPE: [CommandCost(8.0, 6.0, 9 << 20)],
    }
    results = {"merges given": {"costs": costs, "differing": 3}}
    rows = prepare.rows("x", 4000, results, "wall")
    assert [row[2:] for row in rows] == [["2,000", "4.00", "5", "3"], ["500", "1.00", "9", ""]]
    assert prepare.rows("x", 4000, results, "cpu")[0][3] == "2.00"
