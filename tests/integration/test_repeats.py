"""`nmtkit translate --no-repeat-ngram` through the real command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.unit.search.prefix_probabilities import has_repeats

Nmtkit = Callable[..., Result]

LINES = [
    "one two three one two three four",
    "",
    "two",
    "four five two two four five two two",
    "six",
]


def tokens(result: Result) -> list[list[str]]:
    """Return the tokens of all translations in JSON."""
    lines = map(json.loads, result.stdout.splitlines())
    return [one["tokens"] for line in lines for one in line["translations"]]


@pytest.fixture
def search(translate: Any) -> Nmtkit:
    """Return a function that translates `LINES` to JSON; most reach the maximum length."""

    def call(*options: object) -> Result:
        result: Result = translate(LINES, "--json", "--min-length-ratio", 2, *options)
        return result

    return call


WAYS = [
    ["--beam", 1],
    ["--beam", 4, "--n-best", 3],
    ["--beam", 4, "--beam-mode", "shrinking", "--stop", "exact"],
    ["--batch-size", 1],
    ["--sample", 5, "--seed", 3],
    ["--quantize"],
]


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_no_translation_has_the_same_ngram_twice(search: Nmtkit, options: list[object]) -> None:
    assert any(has_repeats(one, 2) for one in tokens(search(*options)))
    found = tokens(search(*options, "--no-repeat-ngram", 2))
    assert len(found) >= len(LINES) and not any(has_repeats(one, 2) for one in found)


def test_an_ensemble_with_candidates(
    search: Nmtkit, nmtkit: Nmtkit, model: Path, corpus: Path, tmp_path: Path
) -> None:
    lexicon = tmp_path / "lexicon"
    files = (corpus / "train.en", corpus / "train.fr")
    nmtkit("align", "-m", model, *files, "--lexicon", lexicon, "-o", tmp_path / "links")
    options = ["-m", model, "--candidates", lexicon]
    assert any(has_repeats(one, 2) for one in tokens(search(*options)))
    found = tokens(search(*options, "--no-repeat-ngram", 2))
    assert not any(has_repeats(one, 2) for one in found)


def test_longer_ngrams_and_0_change_nothing(search: Nmtkit) -> None:
    plain = search().stdout
    assert search("--no-repeat-ngram", 0).stdout == plain
    assert search("--no-repeat-ngram", 1000).stdout == plain
    assert search("--no-repeat-ngram", 3).stdout != plain


def test_terms_and_prefixes_win(translate: Nmtkit, tmp_path: Path) -> None:
    """A term that the source has four times comes four times."""
    glossary, prefixes = tmp_path / "glossary.tsv", tmp_path / "prefixes"
    glossary.write_text("two\tsept huit\n")
    prefixes.write_text("".join(f"{line}\n" for line in ["un un un un", "", "", "trois un", ""]))
    options = ["--terms", glossary, "--prefix", prefixes, "--no-repeat-ngram", 1]
    rows = translate(LINES, *options).stdout.split("\n")
    assert rows[0].startswith("un un un un") and rows[0].count("sept huit") >= 2
    assert rows[3].startswith("trois un") and rows[3].count("sept huit") >= 4


def test_markup_stays(translate: Nmtkit) -> None:
    line = "<b>one</b> two <b>one</b> two <b>one</b>"
    [row] = translate([line], "--markup", "html", "--no-repeat-ngram", 1).stdout.splitlines()
    assert row.count("<b>") == row.count("</b>") == 3


@pytest.mark.parametrize("value", [-1, "two", 1.5])
def test_what_is_no_length_is_refused(translate: Nmtkit, value: object) -> None:
    result = translate(LINES, "--no-repeat-ngram", value, status=2)
    assert "--no-repeat-ngram" in result.stderr and result.stdout == ""
