"""`nmtkit score` through the real command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

PAIRS = [("one two", "un deux"), ("", "trois"), ("four", ""), ("", ""), ("five hello", "bonjour")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for side, name in enumerate(("src", "tgt")):
        text = "".join(f"{pair[side]}\n" for pair in PAIRS)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "src", tmp_path / "tgt"


@pytest.fixture
def score(nmtkit: Nmtkit, model: Path, files: tuple[Path, Path]) -> Nmtkit:
    def call(*options: object, status: int = 0) -> Result:
        return nmtkit("score", "-m", model, *files, "--device", "cpu", *options, status=status)

    return call


def numbers(result: Result) -> list[list[float]]:
    return [[float(number) for number in row.split()] for row in result.stdout.splitlines()]


def test_every_pair_has_a_score(score):
    scores = numbers(score())
    assert [len(row) for row in scores] == [1] * len(PAIRS)
    assert all(row[0] < 0 for row in scores)


def test_word_scores_sum_to_the_total_and_their_number_normalizes_it(score):
    totals, words, means = (
        numbers(score()),
        numbers(score("--per-word")),
        numbers(score("--normalize")),
    )
    assert [len(row) for row in words] == [len(tgt.split()) + 1 for _, tgt in PAIRS]
    for [total], row, [mean] in zip(totals, words, means, strict=True):
        assert sum(row) == pytest.approx(total, abs=1e-4)
        assert total / len(row) == pytest.approx(mean, abs=1e-4)


def test_the_summary_on_stderr_agrees_with_the_scores(score):
    result = score("--per-word")
    words = [number for row in numbers(result) for number in row]
    [line] = result.stderr.splitlines()
    match = re.search(
        r"(\d+) pairs, (\d+) target tokens .*per token ([\d.]+), per sentence ([\d.]+)", line
    )
    assert match
    assert (int(match[1]), int(match[2])) == (len(PAIRS), len(words))
    assert float(match[3]) == pytest.approx(-sum(words) / len(words), abs=1e-3)
    assert float(match[4]) == pytest.approx(-sum(words) / len(PAIRS), abs=1e-3)


def test_batch_size_changes_nothing(score):
    one, other = numbers(score()), numbers(score("--batch-size", 1))
    assert [row[0] for row in one] == pytest.approx([row[0] for row in other], abs=1e-4)


def test_files_of_different_length_are_an_error(nmtkit, model, files, tmp_path):
    (tmp_path / "short").write_text("un\n")
    output = tmp_path / "scores"
    result = nmtkit("score", "-m", model, files[0], tmp_path / "short", "-o", output, status=1)
    assert "src has 5" in result.stderr and "short has 1" in result.stderr
    assert not output.exists()


def test_output_goes_to_its_file(score, tmp_path):
    assert score("-o", tmp_path / "scores").stdout == ""
    assert len((tmp_path / "scores").read_text().splitlines()) == len(PAIRS)
    assert "--force" in score("-o", tmp_path / "scores", status=1).stderr


def test_per_word_and_normalize_exclude_each_other_but_in_json(score):
    assert "--json writes both" in score("--per-word", "--normalize", status=2).stderr
    for line in score("--per-word", "--normalize", "--json").stdout.splitlines():
        record = json.loads(line)
        mean = sum(record["word_log_probs"]) / record["tokens"]
        assert record["normalized"] == pytest.approx(mean)


@pytest.mark.parametrize("command", ["score", "align"])
def test_a_pair_too_long_for_memory_is_reported(nmtkit, model, tmp_path, command):
    """The error names both files and the line."""
    for name in ("src", "tgt"):
        (tmp_path / name).write_text("a\n" + "a " * 20_000 + "\n", encoding="utf-8")
    result = nmtkit(command, "-m", model, tmp_path / "src", tmp_path / "tgt", status=1)
    [message] = result.stderr.splitlines()[-1:]
    assert f"{tmp_path}/src:2 and {tmp_path}/tgt:2: 20,000 source and 20,000 target" in message
