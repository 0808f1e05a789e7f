"""The real commands on number words: a corpus, and a model that has seen two updates of it."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from nmtkit.cli.main import cli
from nmtkit.training.train import make_config

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
"""Settings of a model that trains in a moment, as far as it has them."""


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors are so small here that threads would wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def nmtkit() -> Nmtkit:
    """`nmtkit("score", ..., input="text", status=0)`: the command line within this process.

    :return: a function whose result has `stdout`, `stderr` and `exit_code`, which is `status`.
    """

    def call(*arguments: object, input: str | bytes | None = None, status: int = 0) -> Result:
        result = CliRunner().invoke(cli, [str(a) for a in arguments], input, prog_name="nmtkit")
        assert result.exit_code == status, (result.stderr, result.exception)
        return result

    return call


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with {train,dev,test}.{en,fr}: 20, 6 and 4 lines of 2 to 5 number words."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed, (name, lines) in enumerate([("train", 20), ("dev", 6), ("test", 4)]):
        for language, words in (("en", ENGLISH), ("fr", FRENCH)):
            text = "".join(f"{_sentence(words, seed + 3 * line)}\n" for line in range(lines))
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
    return folder


def _sentence(words: list[str], number: int) -> str:
    digits = [(number * number + 3 * place) % 10 for place in range(2 + number % 4)]
    return " ".join(words[digit] for digit in digits)


@pytest.fixture(scope="session")
def prepared(corpus: Path, nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`corpus` as `nmtkit prepare` and `nmtkit shortlist` leave it; not to be changed."""
    folder = tmp_path_factory.mktemp("prepared") / "words"
    splits: list[object] = []
    for name, option in (("train", ["--train"]), ("dev", ["--dev"]), ("test", ["--test", "test"])):
        splits += [*option, corpus / f"{name}.en", corpus / f"{name}.fr"]
    nmtkit("prepare", *splits, "-s", "en", "-t", "fr", "--output", folder)
    nmtkit("shortlist", folder, "--size", 12)
    return folder


@pytest.fixture(scope="session")
def small_options() -> Callable[[str], list[str]]:
    """Options of `nmtkit train` that let a recipe's model train in a moment."""

    def of(recipe: str) -> list[str]:
        sizes = {f"model.{field.name}" for field in dataclasses.fields(make_config(recipe).model)}
        fitting = {k: v for k, v in SMALL.items() if not k.startswith("model.") or k in sizes}
        return [word for key, value in fitting.items() for word in ("--set", f"{key}={value}")]

    return of


@pytest.fixture(scope="session")
def language_model(
    prepared: Path,
    small_options: Callable[[str], list[str]],
    nmtkit: Nmtkit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A model folder of recipe cslm; not to be changed."""
    folder = tmp_path_factory.mktemp("language-model") / "lm"
    options = ["--recipe", "cslm", "--device", "cpu", *small_options("cslm")]
    nmtkit("train", prepared, "--output", folder, *options)
    return folder


@pytest.fixture(scope="session")
def small(small_options: Callable[[str], list[str]]) -> list[str]:
    """The same for RNNsearch."""
    return small_options("toy")


@pytest.fixture(scope="session")
def model(
    prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model folder after two updates on `prepared`; not to be changed."""
    folder = tmp_path_factory.mktemp("model") / "model"
    nmtkit("train", prepared, "--output", folder, "--recipe", "toy", "--device", "cpu", *small)
    return folder
