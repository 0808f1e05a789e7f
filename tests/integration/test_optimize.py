"""`nmtkit optimize` leaves what `translate --fast` uses, and `check` knows it."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nmtkit.io.fast_record import read_fast_record, write_fast_record
from nmtkit.training.optimize import PLAIN, WAYS, TimedTranslation


@pytest.fixture
def folder(model, tmp_path):
    return shutil.copytree(model, tmp_path / "model")


@pytest.fixture
def optimize(nmtkit, corpus, folder):
    """Return a function that optimizes `folder` with some options."""
    texts = [corpus / f"{name}.{side}" for name in ("train", "dev") for side in ("en", "fr")]
    words = ["optimize", folder, "--train", *texts[:2], "--dev", *texts[2:]]
    return lambda *options, status=0: nmtkit(*words, *options, status=status)


def record_of(folder):
    record = read_fast_record(folder)
    assert record is not None
    return record


def test_fast_translation_is_that_of_the_table_and_8_bits(optimize, nmtkit, folder, trials):
    trials((50, 2), (50, 1), (50, 3), (50, 3))
    record = json.loads(optimize("--json").stdout)
    assert record["quantize"] and record["lexicon"] and record["pairs"] > 0
    assert record["speed"] == 2
    lines = "one two\nthree\n"
    fast = nmtkit("translate", "-m", folder, "--fast", "--scores", input=lines)
    by_hand = ["--quantize", "--candidates", folder / "lexicon.gz"]
    other = nmtkit("translate", "-m", folder, *by_hand, "--scores", input=lines)
    assert fast.stdout == other.stdout and fast.stderr == ""
    assert nmtkit("check", folder).stdout.endswith(" checked, no errors\n")


def test_a_table_of_fewer_pairs_is_smaller(optimize, folder, trials):
    trials((50, 2), (50, 1), (50, 3), (50, 3))
    sizes = []
    for pairs in (2, 1000):
        optimize("--max-pairs", pairs, "--max-loss", 100)
        sizes.append((folder / "lexicon.gz").stat().st_size)
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("swapped", ["train", "dev"])
def test_swapped_sides_spoil_nothing(nmtkit, corpus, folder, swapped):
    """Candidates of the wrong language would cut translations short without a word."""
    words = ["optimize", folder]
    for name in ("train", "dev"):
        sides = ("fr", "en") if name == swapped else ("en", "fr")
        words += [f"--{name}", *(corpus / f"train.{side}" for side in sides)]
    before = sorted(folder.iterdir())
    message = nmtkit(*words, status=1).stderr
    assert "train.fr and" in message and "look swapped" in message
    assert sorted(folder.iterdir()) == before


def test_training_text_without_words_is_refused_by_its_name(nmtkit, corpus, folder, tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    dev = ["--dev", corpus / "dev.en", corpus / "dev.fr"]
    message = nmtkit("optimize", folder, "--train", empty, empty, *dev, status=1).stderr
    assert f"{empty}, {empty}: no pair has words on both sides" in message


def test_fast_says_what_is_missing(nmtkit, folder):
    fast = nmtkit("translate", "-m", folder, "--fast", input="one two\n")
    assert fast.stdout == nmtkit("translate", "-m", folder, input="one two\n").stdout
    (line,) = fast.stderr.splitlines()
    assert "--fast goes without 8-bit products and candidates" in line
    assert f"no fast.json in {folder}: run 'nmtkit optimize'" in line


def test_other_parameters_make_the_files_stale(optimize, nmtkit, folder):
    optimize("--max-loss", 100)
    record = record_of(folder)
    write_fast_record(folder, replace(record, parameters="0" * 64))
    found = nmtkit("check", folder).stdout
    problem = "the parameters have changed since; run 'nmtkit optimize' again"
    assert f"warning: {folder}/fast.json: {problem}" in found
    result = nmtkit("translate", "-m", folder, "--fast", input="one\n", status=1)
    assert f"fast.json: stale: {problem}" in result.stderr


def test_a_changed_table_is_an_error(optimize, nmtkit, folder, trials):
    trials((50, 2), (50, 1), (50, 3), (50, 3))
    optimize()
    (folder / "lexicon.gz").write_bytes(b"un one 1.0\n")
    found = nmtkit("check", folder, status=1).stdout
    assert f"error: {folder}/lexicon.gz: changed or damaged" in found
    result = nmtkit("translate", "-m", folder, "--fast", input="one\n", status=1)
    assert "lexicon.gz: changed or damaged" in result.stderr and result.stdout == ""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_a_kill_at_any_moment_leaves_a_model_that_translates(
    optimize, folder, trials, monkeypatch, tmp_path, before, after
):
    """Look at the folder as each change of a name finds and leaves it."""
    states: list[Path] = []

    def watched(change):
        def watch(*arguments, **options):
            for step in range(2):
                if step:
                    change(*arguments, **options)
                states.append(shutil.copytree(folder, tmp_path / f"state{len(states)}"))

        return watch

    slow, table, products = (50, 9), [(50, 1), (49, 3), (49, 3)], [(49, 3), (49, 3), (50, 1)]
    trials(slow, *(table if before else products))
    optimize()
    old = record_of(folder)
    trials((50, 8), *(table if after else products))
    for name in ("replace", "rename", "unlink"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    optimize("--max-pairs", 2)
    monkeypatch.undo()
    records = [read_fast_record(state) for state in states]
    for record, state in zip(records, states, strict=True):
        assert record in (old, None, record_of(folder))
        if record is not None:
            record.check_lexicon(state)
    assert records[0] == old and records[-1] == record_of(folder) != old
    assert bool(record_of(folder).lexicon) == after == (folder / "lexicon.gz").exists()


@pytest.fixture
def trials(monkeypatch):
    """Return a function that sets what the ways to translate the dev set give: BLEU, seconds.

    chrF may follow.
    """

    def set_trials(*figures):
        of_way = {
            way: TimedTranslation(*map(float, values))
            for way, values in zip((PLAIN, *WAYS), figures, strict=True)
        }
        monkeypatch.setattr("nmtkit.training.optimize._translate_dev", lambda way, *_: of_way[way])

    return set_trials


def test_too_high_a_loss_writes_nothing(optimize, folder, trials):
    trials((50, 9), (49, 1), (49.5, 1), (49.6, 1))
    result = optimize(status=1)
    assert "every way to translate faster loses more than 0.3 BLEU" in result.stderr
    assert not (folder / "lexicon.gz").exists() and not (folder / "fast.json").exists()


def test_where_bleu_is_always_0_chrf_decides(optimize, folder, trials):
    trials((0, 9, 80), (0, 1, 70), (0, 2, 79), (0, 3, 79.8))
    assert optimize().stdout == "dev chrF 80.00; 79.80 with 8-bit products, 3.0 times as fast\n"
    record = record_of(folder)
    assert (record.chrf, record.fast_chrf, record.bleu) == (80, 79.8, 0)
    trials((0, 9, 80), (0, 1, 70), (0, 2, 79), (0, 3, 79))
    assert "every way to translate faster loses more than 0.3 chrF" in optimize(status=1).stderr
    assert record_of(folder) == record


@pytest.mark.parametrize("words", [1, 3, 4])
def test_a_dev_set_of_short_lines_is_measured_by_chrf(nmtkit, corpus, folder, tmp_path, words):
    """A table that has none of the words was found to be good, as BLEU was 0 before."""
    texts = [corpus / f"train.{side}" for side in ("en", "fr")]
    for text in texts:
        lines = (" ".join(line.split()[:words]) for line in text.read_text().splitlines()[:20])
        (tmp_path / text.name).write_text("".join(f"{line}\n" for line in lines))
    dev = [tmp_path / text.name for text in texts]
    options = ["--train", *texts, "--dev", *dev, "--max-loss", 100, "--json"]
    record = json.loads(nmtkit("optimize", folder, *options).stdout)
    has_bleu = any(len(line.split()) >= 4 for line in dev[1].read_text().splitlines())
    assert has_bleu == (words == 4)
    assert ("chrf" in record) == ("fast_chrf" in record) == (not has_bleu)
    assert nmtkit("check", folder).stdout.endswith(" checked, no errors\n")


@pytest.mark.parametrize(
    ("figures", "candidates", "quantize", "said"),
    [
        (
            [(49.7, 2), (50, 3), (50, 4)],
            True,
            True,
            "49.70 with candidates and 8-bit products, 4.0",
        ),
        ([(49.6, 2), (49.9, 3), (50, 4)], True, False, "49.90 with candidates, 2.7 times as fast"),
        ([(49, 2), (49, 3), (49.9, 4)], False, True, "49.90 with 8-bit products, 2.0 times"),
        ([(50, 60), (50, 5), (50, 50)], True, False, "50.00 with candidates, 1.6 times as fast"),
        ([(50, 60), (50, 8.1), (50, 50)], False, False, "nothing is faster on this machine"),
    ],
)
def test_the_fastest_way_that_loses_little_is_kept(
    optimize, nmtkit, folder, trials, figures, candidates, quantize, said
):
    trials((50, 8), *figures)
    assert f"dev BLEU 50.00; {said}" in optimize().stdout
    record = record_of(folder)
    assert bool(record.lexicon) == candidates == (folder / "lexicon.gz").exists()
    assert record.quantize == quantize
    assert nmtkit("check", folder).stdout.endswith(" checked, no errors\n")
    assert nmtkit("translate", "-m", folder, "--fast", input="one\n").stdout.count("\n") == 1


def test_a_short_dev_set_says_nothing_of_the_time(optimize, folder, trials):
    trials((50, 0.9), (50, 2), (50, 0.1), (50, 0.2))
    assert optimize().stdout == "dev BLEU 50.00; 50.00 with candidates and 8-bit products\n"
    assert record_of(folder).speed == 0
    trials((50, 0.9), (40, 0.1), (50, 0.3), (50, 0.2))
    assert optimize().stdout == "dev BLEU 50.00; 50.00 with candidates\n"


def test_a_processor_without_fast_8_bit_products_goes_without(
    optimize, nmtkit, folder, monkeypatch
):
    optimize("--max-loss", 100)
    write_fast_record(folder, replace(record_of(folder), quantize=True))
    for module in ("inference.fast", "training.optimize", "inference.ensemble"):
        monkeypatch.setattr(f"nmtkit.{module}.is_int8_fast", lambda: False)
    fast = nmtkit("translate", "-m", folder, "--fast", input="one two\n")
    assert "--fast goes without 8-bit products" in fast.stderr
    assert "(this processor multiplies 8 bits slowly)" in fast.stderr
    by_hand = nmtkit("translate", "-m", folder, "--quantize", input="one two\n")
    assert "--quantize: this processor multiplies 8 bits slowly" in by_hand.stderr
    optimize("--max-loss", 100)
    assert not record_of(folder).quantize


@pytest.mark.parametrize("option", ["--quantize", "--candidates x"])
def test_fast_chooses_the_options(nmtkit, model, option):
    result = nmtkit("translate", "-m", model, "--fast", *option.split(), status=2)
    assert "--fast" in result.stderr
