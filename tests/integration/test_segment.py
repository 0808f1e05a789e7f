"""`nmtkit translate --segment` through the real command line, with models of two updates."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

LINES = ["one two three four five six", "", "seven", "   ", "nine zero four one two", "hello one"]


@pytest.fixture(scope="module")
def back(
    prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model folder that translates the other way; not to be changed."""
    folder = tmp_path_factory.mktemp("back") / "back"
    nmtkit("train", prepared, "--reverse", "-o", folder, "-r", "toy", "--device", "cpu", *small)
    return folder


@pytest.fixture(scope="module")
def translate(nmtkit: Nmtkit, model: Path) -> Nmtkit:
    """`nmtkit translate` with the model on the CPU; lines of its first argument on stdin."""

    def call(lines: list[str], *options: object, status: int = 0) -> Result:
        text = "".join(f"{line}\n" for line in lines)
        arguments = ("translate", "-m", model, "--device", "cpu", "--beam", 3, *options)
        return nmtkit(*arguments, input=text, status=status)

    return call


def rows(result: Result) -> list[str]:
    return result.stdout.split("\n")[:-1]


def segments(path: Path) -> list[list[dict]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def chosen(translate: Nmtkit, back: Path, tmp_path: Path) -> Path:
    """The segments of `LINES` with at most 3 words, as the command writes them."""
    options = ["--segment", "--reverse-model", back, "--max-segment", 3]
    translate(LINES, *options, "--segments", tmp_path / "chosen")
    return tmp_path / "chosen"


def test_each_line_has_one_line_and_its_segments(translate, back, tmp_path):
    options = ["--segment", "--reverse-model", back, "--max-segment", 3, "--tokenized", "--scores"]
    found = rows(translate(LINES, *options, "--segments", tmp_path / "s"))
    cut = segments(tmp_path / "s")
    assert len(found) == len(cut) == len(LINES)
    for line, row, parts in zip(LINES, found, cut, strict=True):
        score, text, *_ = row.split("\t")
        assert " ".join(part["source"] for part in parts) == line.strip()
        assert all(len(part["source"].split()) <= 3 for part in parts)
        assert text == " ".join(part["target"] for part in parts)
        assert bool(text) == bool(line.strip())
        assert float(score) == pytest.approx(sum(part["score"] for part in parts), abs=1e-4)
        assert all(part["confidence"] < 0 for part in parts)


def test_the_segments_change_nothing_but_the_batches(translate, back):
    options = ["--segment", "--reverse-model", back, "--max-segment", 2]
    together = rows(translate(LINES, *options))
    assert [rows(translate([line], *options, "--batch-size", 1))[0] for line in LINES] == together
    assert rows(translate(LINES, "--segment", "confidence", *options[1:])) == together
    twice = rows(translate(LINES, *options, "--reverse-model", back))
    assert twice == together  # an ensemble of one model twice is that model


def test_a_line_of_one_word_is_its_plain_translation_where_search_is_greedy(translate, back):
    options = ["--segment", "--reverse-model", back, "--beam", 1, "--scores"]
    assert rows(translate(["seven"], *options)) == rows(
        translate(["seven"], "--beam", 1, "--scores")
    )


@pytest.mark.parametrize("how", ["random", "random-confidence"])
def test_random_segments_depend_on_the_seed(translate, chosen, tmp_path, how):
    def cut(lines: list[str], seed: int) -> list[list[str]]:
        lengths = ["--segment-lengths", chosen] if how == "random" else []
        path = tmp_path / "random"
        options = ["--segment", how, "--max-segment", 3, *lengths, "--seed", seed]
        found = rows(translate(lines, *options, "--segments", path, "--force", "--tokenized"))
        parts = segments(path)
        assert found == [" ".join(part["target"] for part in line) for line in parts]
        return [[part["source"] for part in line] for line in parts]

    first = cut(LINES, 1)
    assert [" ".join(line) for line in first] == [line.strip() for line in LINES]
    assert first == cut(LINES, 1)
    assert first[2:] == cut(["nine", "eight", *LINES[2:]], 1)[2:]
    assert len({str(cut(LINES, seed)) for seed in range(4)}) > 1


def test_random_segments_are_plain_translations(translate, chosen, tmp_path):
    options = ["--segment", "random", "--segment-lengths", chosen, "--max-segment", 3]
    translate(LINES, *options, "--segments", tmp_path / "s")
    parts = [part for line in segments(tmp_path / "s") for part in line]
    plain = rows(translate([part["source"] for part in parts], "--tokenized"))
    assert [part["target"] for part in parts] == plain
    assert not any("confidence" in part for part in parts)


def test_other_options_of_search_hold_for_segments(translate, back, tmp_path):
    (tmp_path / "table").write_text("un one 0.9\ndeux two 0.9\n")
    options = ["--segment", "--reverse-model", back, "--max-segment", 2]
    plain = rows(translate(LINES, *options))
    for more in (["--candidates", tmp_path / "table"], ["--quantize"], ["--replace-unk", "copy"]):
        found = rows(translate(LINES, *options, *more))
        assert [bool(row) for row in found] == [bool(row) for row in plain]
    assert not any("<unk>" in row for row in rows(translate(LINES, *options, "--no-unk")))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--segment"], "--segment needs --reverse-model"),
        (["--segment", "random"], "needs --segment-lengths"),
        (
            ["--segment", "random", "--segment-lengths", "f", "--reverse-model", "m"],
            "--reverse-model exclude each other",
        ),
        (
            ["--segment", "random-confidence", "--reverse-model", "m"],
            "--reverse-model exclude each other",
        ),
        (["--segment", "random-confidence", "--segment-lengths", "f"], "needs --segment random."),
        (
            ["--segment", "--reverse-model", "m", "--segment-lengths", "f"],
            "needs --segment random.",
        ),
        (["--segment", "words"], "'words' is not one of"),
        (["--reverse-model", "m"], "--reverse-model needs --segment"),
        (["--segments", "f"], "--segments needs --segment"),
        (["--max-segment", 5], "--max-segment needs --segment"),
        (["--segment-lengths", "f"], "--segment-lengths needs --segment"),
        (["--segment", "random-confidence", "--n-best", 2], "--n-best exclude"),
        (["--segment", "random-confidence", "--sample", 2], "--sample exclude"),
        (["--segment", "random-confidence", "--alignments", "a"], "--alignments exclude"),
        (["--segment", "random-confidence", "--segments", "-"], "different files"),
        (["--segment", "random-confidence", "--max-segment", 0], "--max-segment"),
    ],
)
def test_options_that_need_each_other_are_checked(translate, options, told):
    result = translate(LINES, *options, status=2)
    assert told in " ".join(result.stderr.split()) and result.stdout == ""


def test_models_that_do_not_fit_are_an_error_and_leave_no_file(translate, model, tmp_path):
    options = ["--segment", "--reverse-model", model, "--segments", tmp_path / "s"]
    result = translate(LINES, *options, status=1)
    assert "the reverse model translates en-fr; it must translate fr-en" in result.stderr
    missing = translate(LINES, "--segment", "--reverse-model", tmp_path / "no", status=1)
    assert "no config.toml" in missing.stderr and len(missing.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_file_of_lengths_is_reported(translate, tmp_path):
    (tmp_path / "lengths").write_text("one two\n")
    for name, told in (("lengths", "lengths:1"), ("no", "cannot be read")):
        options = ["--segment", "random", "--segment-lengths", tmp_path / name]
        result = translate(LINES, *options, status=1)
        assert told in result.stderr and result.stdout == ""
