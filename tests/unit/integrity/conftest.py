"""A prepared folder and a model folder as nmtkit writes them; tests change copies."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nmtkit.integrity.check import check
from nmtkit.integrity.findings import Finding
from nmtkit.preprocessing.api import build_shortlist, prepare
from nmtkit.training.train import train

Copy = Callable[[Path], Path]

WORDS = {"en": ["one", "two", "three", "four", "five"], "fr": ["un", "deux", "trois", "né", "cinq"]}

SMALL = {
    "model.embedding": 4,
    "model.hidden": 4,
    "model.align": 3,
    "model.maxout": 2,
    "data.batch_size": 5,
    "data.batch_unit": "sentences",
    "training.max_updates": 6,
    "training.validate_every": 2,
    "training.validate_epochs": 0.0,
    "training.dev_bleu": False,
}
"""Settings that make training take a moment."""


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with {train,dev,test}.{en,fr}; the test set has an empty line."""
    folder = tmp_path_factory.mktemp("texts")
    for name, count in (("train", 40), ("dev", 6), ("test", 3)):
        for side, words in WORDS.items():
            lines = [
                " ".join(words[(n * n + i) % 5] for i in range(1 + n % 4)) for n in range(count)
            ]
            last = "\n" if name == "test" else ""
            (folder / f"{name}.{side}").write_text("".join(f"{x}\n" for x in lines) + last)
    return folder


@pytest.fixture(scope="session")
def prepared(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a prepared folder with subwords, shortlists and binarised text."""
    folder = tmp_path_factory.mktemp("prepared") / "words"
    bitexts = {name: (texts / f"{name}.en", texts / f"{name}.fr") for name in ("dev", "test")}
    train_files = (texts / "train.en", texts / "train.fr")
    prepare(
        train_files,
        folder,
        bitexts["dev"],
        {"test": bitexts["test"]},
        src_language="en",
        tgt_language="fr",
        bpe=5,
    )
    build_shortlist(folder, 12)
    return folder


@pytest.fixture(scope="session")
def model(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model folder after three validations, with three checkpoints."""
    folder = tmp_path_factory.mktemp("model") / "toy"
    train(prepared, folder, "toy", device="cpu", settings=SMALL)
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """Return a function that copies a folder for a test to damage."""

    def copy_folder(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / folder.name))

    return copy_folder


def errors_of(folder: Path) -> dict[str, Finding]:
    """Return the errors of a check, by the name of the file within the folder."""
    return by_name(folder, "error")


def warnings_of(folder: Path) -> dict[str, Finding]:
    """Return the warnings of a check, by the name of the file within the folder."""
    return by_name(folder, "warning")


def by_name(folder: Path, severity: str) -> dict[str, Finding]:
    findings = check(folder).findings
    assert all(finding.problem and finding.remedy for finding in findings)
    return {
        Path(finding.path).relative_to(folder).as_posix(): finding
        for finding in reversed(findings)  # the first of each file remains
        if finding.severity == severity
    }
