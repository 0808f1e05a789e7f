"""Run the real commands on a corpus of number words and a model trained on it for two updates."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nmtkit.cli.main import cli
from nmtkit.training.settings import make_config

Nmtkit = Callable[..., Result]

ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
FRENCH = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"]

SMALL = {
    "model.embedding": 6,
    "model.hidden": 8,
    "model.align": 5,
    "model.maxout": 4,
    "model.units": 7,
    "model.second": 6,
    "model.layers": 2,
    "model.tied": "false",
    "data.batch_size": 5,
    "data.batch_unit": "sentences",
    "training.max_updates": 2,
    "training.validate_every": 1,
    "training.validate_epochs": 0.0,
}
"""Settings that make training take a moment; each model uses those that it has."""


@pytest.fixture(scope="session")
def nmtkit() -> Nmtkit:
    """Return a function: `nmtkit("score", ..., input="text", status=0)` runs a command in-process.

    It returns a result with `stdout`, `stderr` and `exit_code`, and checks that the exit code is
    `status`.
    """

    def call(*arguments: object, input: str | bytes | None = None, status: int = 0) -> Result:
        result = CliRunner().invoke(cli, [str(a) for a in arguments], input, prog_name="nmtkit")
        assert result.exit_code == status, (result.stderr, result.exception)
        return result

    return call


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with {train,dev,test}.{en,fr}: 20, 6 and 4 lines of 2 to 5 number words."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed, (name, lines) in enumerate([("train", 20), ("dev", 6), ("test", 4)]):
        for language, words in (("en", ENGLISH), ("fr", FRENCH)):
            text = "".join(f"{_sentence(words, seed + 3 * line)}\n" for line in range(lines))
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
    return folder


def _sentence(words: list[str], number: int) -> str:
    digits = [(number * number + 3 * position) % 10 for position in range(2 + number % 4)]
    return " ".join(words[digit] for digit in digits)


@pytest.fixture
def capitals(corpus: Path, tmp_path: Path) -> Path:
    """Return a folder with `corpus` as raw text: with a capital first and a period at the end."""
    for file in corpus.iterdir():
        lines = file.read_text(encoding="utf-8").splitlines()
        text = "".join(f"{line.capitalize()}.\n" for line in lines)
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="session")
def prepared(corpus: Path, nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the prepared folder of `corpus` with its shortlists; tests must not change it."""
    folder = tmp_path_factory.mktemp("prepared") / "words"
    splits: list[object] = []
    for name, option in (("train", ["--train"]), ("dev", ["--dev"]), ("test", ["--test", "test"])):
        splits += [*option, corpus / f"{name}.en", corpus / f"{name}.fr"]
    nmtkit("prepare", *splits, "-s", "en", "-t", "fr", "--subword", "none", "--output", folder)
    nmtkit("shortlist", folder, "--size", 12)
    return folder


@pytest.fixture(scope="session")
def small_options() -> Callable[[str], list[str]]:
    """Return a function: `small_options(recipe)` gives options that make it train in a moment."""

    def options(recipe: str) -> list[str]:
        sizes = {f"model.{field.name}" for field in dataclasses.fields(make_config(recipe).model)}
        settings = {k: v for k, v in SMALL.items() if not k.startswith("model.") or k in sizes}
        return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]

    return options


@pytest.fixture(scope="session")
def language_model(
    prepared: Path,
    small_options: Callable[[str], list[str]],
    nmtkit: Nmtkit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a model folder of recipe cslm; tests must not change it."""
    folder = tmp_path_factory.mktemp("language-model") / "lm"
    options = ["--recipe", "cslm", "--device", "cpu", *small_options("cslm")]
    nmtkit("train", prepared, "--output", folder, *options)
    return folder


@pytest.fixture(scope="session")
def small(small_options: Callable[[str], list[str]]) -> list[str]:
    """Return the same options for RNNsearch."""
    return small_options("toy")


@pytest.fixture(scope="session")
def model(
    prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a model folder after two updates on `prepared`; tests must not change it."""
    folder = tmp_path_factory.mktemp("model") / "model"
    nmtkit("train", prepared, "--output", folder, "--recipe", "toy", "--device", "cpu", *small)
    return folder


@pytest.fixture(scope="session")
def translate(nmtkit: Nmtkit, model: Path) -> Nmtkit:
    """Return a function: `translate(lines, ...)` runs `nmtkit translate` with lines on stdin."""

    def call(lines: list[str], *options: object, status: int = 0) -> Result:
        text = "".join(f"{line}\n" for line in lines)
        arguments = ("translate", "-m", model, "--device", "cpu", *options)
        return nmtkit(*arguments, input=text, status=status)

    return call
