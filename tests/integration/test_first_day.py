"""Wrong command lines of a first day: one sentence says what was typed, where, and what to do."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

CASES = Path(__file__).with_name("wrong_command_lines.txt")


def read_cases(text: str) -> list[tuple[str, int, str]]:
    """Return the command lines, their exit statuses, and parts of their messages."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    cases = []
    for command, outcome in zip(lines[::2], lines[1::2], strict=True):
        assert command.startswith("$ "), command
        status, _, expected = outcome.partition(" ")
        cases.append((command[2:], int(status), expected))
    return cases


WRONG = read_cases(CASES.read_text(encoding="utf-8"))

INTERNAL = re.compile(r"\bNone\b|Traceback|Errno|\.py\b|'command'|object at|\.tmp|\.part\b|<class")
"""What no user has typed and none understands."""


@pytest.fixture(scope="session")
def rnnenc(
    prepared: Path,
    small_options: Callable[[str], list[str]],
    nmtkit: Nmtkit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a model folder of recipe rnnenc-30, which has no attention."""
    folder = tmp_path_factory.mktemp("rnnenc") / "rnnenc"
    options = ["--recipe", "rnnenc-30", "--device", "cpu", *small_options("rnnenc-30")]
    nmtkit("train", prepared, "--output", folder, *options)
    return folder


@pytest.fixture(scope="session")
def desk(
    corpus: Path,
    prepared: Path,
    model: Path,
    rnnenc: Path,
    language_model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a folder with what the command lines name."""
    folder = tmp_path_factory.mktemp("desk")
    for file in corpus.iterdir():
        shutil.copy(file, folder)
    shutil.copytree(prepared, folder / "prepared")
    shutil.copytree(model, folder / "model")
    shutil.copytree(rnnenc, folder / "rnnenc")
    shutil.copytree(language_model, folder / "cslm")
    (folder / "folder").mkdir()
    texts = {
        "empty": "",
        "short.en": "one\ntwo\n",
        "bad.tsv": "cat\n",
        "bad.toml": "[model]\nhiden = 3\n",
        "list": "0 ||| un ||| F= 1 ||| 2\n",
        "table": "one ||| un ||| 0.5 0.5 0.5 0.5 ||| 0-0 ||| 1 1 1\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pic.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    return folder


@pytest.mark.parametrize(("line", "status", "expected"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_command_line_is_explained_in_one_sentence(
    line: str,
    status: int,
    expected: str,
    nmtkit: Nmtkit,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(desk)
    before = sorted(path.name for path in desk.iterdir())
    result = nmtkit(*shlex.split(line), status=status)
    error = result.stderr.splitlines()[-1]
    assert error.startswith("nmtkit: error: ") and result.stderr.count("error: ") == 1
    assert expected in error
    assert not INTERNAL.search(error)
    assert sorted(path.name for path in desk.iterdir()) == before


def test_each_command_has_a_wrong_line() -> None:
    from nmtkit.cli.main import COMMANDS

    used = {line.split()[0] for line, _, _ in WRONG}
    assert set(COMMANDS) - used <= {"adapt", "curves"}  # see test_adapt.py and test_curves.py


def test_sides_that_look_swapped_are_reported(
    nmtkit: Nmtkit, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    for command in (
        ["score", "-m", "model", "train.fr", "train.en", "-o", desk / "x1"],
        ["align", "-m", "model", "train.fr", "train.en", "-o", desk / "x2"],
        ["report", "model", "--source", "train.fr", "--reference", "train.en", "-o", desk / "x3"],
    ):
        assert "train.fr and train.en look swapped" in nmtkit(*command).stderr
    assert "swapped" not in nmtkit("score", "-m", "model", "train.en", "train.fr").stderr


def test_evaluating_the_source_is_reported(
    nmtkit: Nmtkit, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    for language in ("en", "fr"):
        text = (desk / f"train.{language}").read_text("utf-8") * 3
        (desk / f"many.{language}").write_text(text, "utf-8")
    log = nmtkit("evaluate", "many.en", "many.fr").stderr
    assert "of the words of many.en" in log and "in the same language" in log
    assert "words of" not in nmtkit("evaluate", "many.fr", "many.fr").stderr


def test_an_n_best_list_widens_the_models_beam(nmtkit: Nmtkit, model: Path) -> None:
    result = nmtkit("translate", "-m", model, "--n-best", 15, input="one two three\n")
    assert "15 translations of a line need a beam of 15" in result.stderr
    wide = nmtkit("translate", "-m", model, "--n-best", 15, "--beam", 15, input="one two three\n")
    assert wide.stdout == result.stdout and wide.stderr == ""
