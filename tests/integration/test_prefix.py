"""`nmtkit translate --prefix` through the real command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

LINES = ["one two three", "", "two", "four five two two", "six"]
PREFIXES = ["un d", "trois ", "", "Quatre,  ci", "Xyz"]


@pytest.fixture
def prefixes(tmp_path: Path) -> Path:
    path = tmp_path / "prefixes"
    path.write_text("".join(f"{line}\n" for line in PREFIXES))
    return path


@pytest.mark.parametrize(
    "options", [[], ["--beam", 1], ["--n-best", 3], ["--json"], ["--quantize"], ["--no-unk"]]
)
def test_every_translation_begins_with_its_prefix(
    translate: Nmtkit, prefixes: Path, options: list[object]
) -> None:
    rows = translate(LINES, "--prefix", prefixes, *options).stdout.split("\n")[:-1]
    for number, row in enumerate(rows):
        texts = [row]
        if "--n-best" in options:
            number, texts = int(row.split(" ||| ")[0]), [row.split(" ||| ")[1]]
        elif "--json" in options:
            texts = [one["text"] for one in json.loads(row)["translations"]]
        assert all(text.startswith(PREFIXES[number]) for text in texts)


def test_lines_with_an_empty_prefix_are_translated_as_ever(
    translate: Nmtkit, prefixes: Path
) -> None:
    assert (
        translate(LINES, "--prefix", prefixes).stdout.split("\n")[2]
        == (translate(LINES).stdout.split("\n")[2])
    )


@pytest.mark.parametrize(("count", "place"), [(4, "prefixes:5: "), (5, ""), (6, "prefixes:6: ")])
def test_lines_and_prefixes_are_as_many(
    translate: Nmtkit, prefixes: Path, count: int, place: str
) -> None:
    prefixes.write_text("un\n" * count)
    result = translate(LINES, "--prefix", prefixes, status=1 if place else 0)
    assert place in result.stderr and (not place or "stdin" in result.stderr)


@pytest.mark.parametrize(
    "option", [["--sample", 1], ["--markup", "html"], ["--protect", "placeholders"]]
)
def test_options_that_do_not_go_together_are_refused(
    translate: Nmtkit, prefixes: Path, option: list[object]
) -> None:
    assert "--prefix" in translate(LINES, *option, "--prefix", prefixes, status=2).stderr


def test_stdin_is_read_once(translate: Nmtkit) -> None:
    assert "--prefix" in translate(LINES, "--prefix", "-", status=2).stderr
