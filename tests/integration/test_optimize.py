"""`nmtkit optimize` leaves what `translate --fast` uses, and `check` knows it."""

import json
import shutil
from dataclasses import replace

import pytest

from nmtkit.io.fast_record import read_fast_record, write_fast_record


@pytest.fixture
def folder(model, tmp_path):
    return shutil.copytree(model, tmp_path / "model")


@pytest.fixture
def optimize(nmtkit, corpus, folder):
    """Return a function that optimizes `folder` with some options."""
    texts = [corpus / f"{name}.{side}" for name in ("train", "dev") for side in ("en", "fr")]
    words = ["optimize", folder, "--train", *texts[:2], "--dev", *texts[2:]]
    return lambda *options, status=0: nmtkit(*words, *options, status=status)


def test_fast_translation_is_that_of_the_table_and_8_bits(optimize, nmtkit, folder):
    record = json.loads(optimize("--json", "--max-loss", 100).stdout)
    assert record["quantize"] and record["lexicon"] and record["pairs"] > 0
    lines = "one two\nthree\n"
    fast = nmtkit("translate", "-m", folder, "--fast", "--scores", input=lines)
    by_hand = ["--quantize", "--candidates", folder / "lexicon.gz"]
    other = nmtkit("translate", "-m", folder, *by_hand, "--scores", input=lines)
    assert fast.stdout == other.stdout and fast.stderr == ""
    assert nmtkit("check", folder).stdout.endswith(" checked, no errors\n")


def test_a_table_of_fewer_pairs_is_smaller(optimize, folder):
    sizes = []
    for pairs in (2, 1000):
        optimize("--max-pairs", pairs, "--max-loss", 100)
        sizes.append((folder / "lexicon.gz").stat().st_size)
    assert sizes[0] < sizes[1]


def test_fast_says_what_is_missing(nmtkit, folder):
    fast = nmtkit("translate", "-m", folder, "--fast", input="one two\n")
    assert fast.stdout == nmtkit("translate", "-m", folder, input="one two\n").stdout
    (line,) = fast.stderr.splitlines()
    assert "--fast goes without 8-bit products and candidates" in line
    assert f"no fast.json in {folder}: run 'nmtkit optimize'" in line


def test_other_parameters_make_the_files_stale(optimize, nmtkit, folder):
    optimize("--max-loss", 100)
    record = read_fast_record(folder)
    assert record is not None
    write_fast_record(folder, replace(record, parameters="0" * 64))
    found = nmtkit("check", folder).stdout
    problem = "the parameters have changed since; run 'nmtkit optimize' again"
    assert f"warning: {folder}/fast.json: {problem}" in found
    result = nmtkit("translate", "-m", folder, "--fast", input="one\n", status=1)
    assert f"fast.json: stale: {problem}" in result.stderr


def test_a_changed_table_is_an_error(optimize, nmtkit, folder):
    optimize("--max-loss", 100)
    (folder / "lexicon.gz").write_bytes(b"un one 1.0\n")
    found = nmtkit("check", folder, status=1).stdout
    assert f"error: {folder}/lexicon.gz: changed or damaged" in found
    result = nmtkit("translate", "-m", folder, "--fast", input="one\n", status=1)
    assert "lexicon.gz: changed or damaged" in result.stderr and result.stdout == ""


def test_too_high_a_loss_writes_nothing(optimize, folder, monkeypatch):
    scores = iter([50.0, 49.0, 49.5, 49.6])
    monkeypatch.setattr("nmtkit.training.optimize._dev_bleu", lambda *_: next(scores))
    result = optimize(status=1)
    assert "every way to translate faster loses more than 0.3 BLEU" in result.stderr
    assert not (folder / "lexicon.gz").exists() and not (folder / "fast.json").exists()


@pytest.mark.parametrize(
    ("losses", "candidates", "quantize"),
    [([0.3], True, True), ([0.4, 0.1], True, False), ([0.4, 0.4, 0.1], False, True)],
)
def test_the_fastest_way_that_loses_little_is_kept(
    optimize, folder, monkeypatch, losses, candidates, quantize
):
    scores = iter([50.0, *(50.0 - loss for loss in losses)])
    monkeypatch.setattr("nmtkit.training.optimize._dev_bleu", lambda *_: next(scores))
    record = json.loads(optimize("--json").stdout)
    assert bool(record["lexicon"]) == candidates == (folder / "lexicon.gz").exists()
    assert record["quantize"] == quantize


@pytest.mark.parametrize("option", ["--quantize", "--candidates x"])
def test_fast_chooses_the_options(nmtkit, model, option):
    result = nmtkit("translate", "-m", model, "--fast", *option.split(), status=2)
    assert "--fast" in result.stderr
