"""`nmtkit translate --segment` through the real command line, with models of two updates."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

LINES = ["one two three four five six", "", "seven", "   ", "nine zero four one two", "hello one"]


@pytest.fixture(scope="module")
def reverse_model(
    prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a model folder that translates the other way; tests must not change it."""
    folder = tmp_path_factory.mktemp("reverse") / "reverse"
    nmtkit("train", prepared, "--reverse", "-o", folder, "-r", "toy", "--device", "cpu", *small)
    return folder


@pytest.fixture(scope="module")
def translate(nmtkit: Nmtkit, model: Path) -> Nmtkit:
    """Return a function: `translate(lines, ...)` runs `nmtkit translate` with lines on stdin."""

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
def segments_file(translate: Nmtkit, reverse_model: Path, tmp_path: Path) -> Path:
    """Write the segments of LINES with at most 3 words, and return their file."""
    options = ["--segment", "--reverse-model", reverse_model, "--max-segment", 3]
    translate(LINES, *options, "--segments", tmp_path / "segments")
    return tmp_path / "segments"


def test_each_line_has_one_line_and_its_segments(translate, reverse_model, tmp_path):
    options = [
        "--segment",
        "--reverse-model",
        reverse_model,
        "--max-segment",
        3,
        "--tokenized",
        "--scores",
    ]
    translations = rows(translate(LINES, *options, "--segments", tmp_path / "s"))
    segmented = segments(tmp_path / "s")
    assert len(translations) == len(segmented) == len(LINES)
    for line, row, parts in zip(LINES, translations, segmented, strict=True):
        score, text, *_ = row.split("\t")
        assert " ".join(part["source"] for part in parts) == line.strip()
        assert all(len(part["source"].split()) <= 3 for part in parts)
        assert text == " ".join(part["target"] for part in parts)
        assert bool(text) == bool(line.strip())
        assert float(score) == pytest.approx(sum(part["score"] for part in parts), abs=1e-4)
        assert all(part["confidence"] < 0 for part in parts)


def test_each_confidence_of_table_2_chooses_its_segments(translate, reverse_model, tmp_path):
    def chosen(*options: object) -> list[list[dict]]:
        path = tmp_path / "chosen"
        translate(LINES, "--segment", *options, "--segments", path, "--force")
        return segments(path)

    both = "confidence", "--reverse-model", reverse_model
    penalised, bare = chosen(*both), chosen(*both, "--no-segment-penalty")
    forward = chosen("forward", "--no-segment-penalty")
    for penalty, lines in ((True, chosen("forward")), (False, forward)):
        for part in (part for line in lines for part in line):
            divisor = math.log(len(part["source"].split()) + 2) if penalty else 1
            assert part["confidence"] == pytest.approx(part["score"] / divisor, abs=1e-5)
    assert penalised != bare


def test_segments_do_not_depend_on_batches_or_a_repeated_model(translate, reverse_model):
    options = ["--segment", "--reverse-model", reverse_model, "--max-segment", 2]
    expected = rows(translate(LINES, *options))
    assert [rows(translate([line], *options, "--batch-size", 1))[0] for line in LINES] == expected
    assert rows(translate(LINES, "--segment", "confidence", *options[1:])) == expected
    twice = rows(translate(LINES, *options, "--reverse-model", reverse_model))
    assert twice == expected  # an ensemble of one model twice is that model


def test_greedy_search_translates_a_single_word_as_without_segments(translate, reverse_model):
    options = ["--segment", "--reverse-model", reverse_model, "--beam", 1, "--scores"]
    assert rows(translate(["seven"], *options)) == rows(
        translate(["seven"], "--beam", 1, "--scores")
    )


@pytest.mark.parametrize("kind", ["random", "random-confidence"])
def test_random_segments_depend_on_the_seed(translate, segments_file, tmp_path, kind):
    def cut(lines: list[str], seed: int) -> list[list[str]]:
        lengths = ["--segment-lengths", segments_file] if kind == "random" else []
        path = tmp_path / "random"
        options = ["--segment", kind, "--max-segment", 3, *lengths, "--seed", seed]
        translations = rows(
            translate(lines, *options, "--segments", path, "--force", "--tokenized")
        )
        parts = segments(path)
        assert translations == [" ".join(part["target"] for part in line) for line in parts]
        return [[part["source"] for part in line] for line in parts]

    first = cut(LINES, 1)
    assert [" ".join(line) for line in first] == [line.strip() for line in LINES]
    assert first == cut(LINES, 1)
    assert first[2:] == cut(["nine", "eight", *LINES[2:]], 1)[2:]
    assert len({str(cut(LINES, seed)) for seed in range(4)}) > 1


def test_random_segments_are_plain_translations(translate, segments_file, tmp_path):
    options = ["--segment", "random", "--segment-lengths", segments_file, "--max-segment", 3]
    translate(LINES, *options, "--segments", tmp_path / "s")
    parts = [part for line in segments(tmp_path / "s") for part in line]
    plain = rows(translate([part["source"] for part in parts], "--tokenized"))
    assert [part["target"] for part in parts] == plain
    assert not any("confidence" in part for part in parts)


def test_other_search_options_apply_to_segments(translate, reverse_model, tmp_path):
    (tmp_path / "table").write_text("un one 0.9\ndeux two 0.9\n")
    options = ["--segment", "--reverse-model", reverse_model, "--max-segment", 2]
    plain = rows(translate(LINES, *options))
    for more in (["--candidates", tmp_path / "table"], ["--quantize"], ["--replace-unk", "copy"]):
        translations = rows(translate(LINES, *options, *more))
        assert [bool(row) for row in translations] == [bool(row) for row in plain]
    assert not any("<unk>" in row for row in rows(translate(LINES, *options, "--no-unk")))


@pytest.mark.parametrize(
    ("options", "message"),
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
        (["--segment", "forward", "--reverse-model", "m"], "--reverse-model exclude each other"),
        (["--segment", "random-confidence", "--no-segment-penalty"], "it has no confidence"),
        (["--no-segment-penalty"], "--no-segment-penalty needs --segment"),
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
def test_options_that_need_each_other_are_checked(translate, options, message):
    result = translate(LINES, *options, status=2)
    assert message in " ".join(result.stderr.split()) and result.stdout == ""


def test_a_reverse_model_of_the_same_direction_is_an_error_and_leaves_no_file(
    translate, model, tmp_path
):
    options = ["--segment", "--reverse-model", model, "--segments", tmp_path / "s"]
    result = translate(LINES, *options, status=1)
    assert "the reverse model translates en-fr; it must translate fr-en" in result.stderr
    missing = translate(LINES, "--segment", "--reverse-model", tmp_path / "no", status=1)
    assert "no such folder" in missing.stderr and len(missing.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_file_of_lengths_is_reported(translate, tmp_path):
    (tmp_path / "lengths").write_text("one two\n")
    for name, message in (("lengths", "lengths:1"), ("no", "cannot be read")):
        options = ["--segment", "random", "--segment-lengths", tmp_path / name]
        result = translate(LINES, *options, status=1)
        assert message in result.stderr and result.stdout == ""
