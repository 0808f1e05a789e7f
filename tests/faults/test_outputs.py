"""Whatever an output's path leads to, a command writes it or says in one line that it cannot."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import sacremoses  # noqa: F401 (joblib warns if it is imported where no file can grow)

from tests.faults.command_lines import COMMAND_LINES, arguments
from tests.faults.forked import run_forked
from tests.faults.sample_files import write_sample_files

TIMEOUT = 20.0
"""Seconds for a command."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_sample_files(tmp_path_factory.mktemp("samples"))


def outputs_of(line: str, folder: Path) -> list[str]:
    """Return the names of the outputs in a command line."""
    return [name for name in re.findall(r"\[(.*?)\]", line) if not (folder / name).exists()]


def run(line: str, folder: Path, outputs: Path, **limits: int) -> tuple[int, str]:
    """Run a command line; return its status, and its error or an empty string.

    Errors are one line, and nothing else is left on the way.
    """
    before = sorted(outputs.rglob("*"))
    outcome = run_forked(arguments(line, folder, outputs), timeout=TIMEOUT, **limits)
    errors = re.findall("^nmtkit: error: (.*)\n", outcome.stderr, re.MULTILINE)
    assert (outcome.status, len(errors)) in ((0, 0), (1, 1)), outcome
    assert outcome.status == 0 or sorted(outputs.rglob("*")) == before
    return outcome.status, "".join(errors)


def sample(lines: Sequence[str], stride: int) -> list[object]:
    """Return the lines as parameters; all but each `stride`-th are slow."""
    return [
        pytest.param(line, marks=pytest.mark.slow if index % stride else ())
        for index, line in enumerate(lines)
    ]


WRITING = [line for line in COMMAND_LINES if re.search(r" (-o|--lexicon) \[", line)]


@pytest.mark.parametrize(
    ("line", "size"),
    [
        pytest.param(line, size, marks=() if index % 4 == 2 * number else pytest.mark.slow)
        for index, line in enumerate(WRITING)
        for number, size in enumerate((0, 4))
    ],
)
def test_an_output_that_cannot_grow_is_named(line, size, folder, tmp_path):
    """`ulimit -f`, like a full disk, fails a write; its error does not say of which file."""
    status, error = run(line, folder, tmp_path, max_file_size=size)
    names = [str(tmp_path / name) for name in outputs_of(line, folder)]
    if line.startswith(("optimize", "calibrate")):  # it also writes into the model folder
        names.append(str(folder / "model"))
    expected = re.match("(.*): cannot be written: File too large", error)
    assert status == 1 and expected, error
    written = expected[1]
    temporary = line.startswith("select") and "nmtkit-select-" in written
    assert temporary or any(written == name or written.startswith(f"{name}/") for name in names)


def test_the_right_one_of_several_outputs_is_named(folder, tmp_path):
    """The other output is a device, which the error of the file was reported for."""
    line = "nbest rerank {list} --list [ranked] -o /dev/null"
    assert "ranked: cannot be written: File" in run(line, folder, tmp_path, max_file_size=10)[1]
    line = "nbest rerank {list} --list /dev/null -o [out]"
    assert "out: cannot be written: File" in run(line, folder, tmp_path, max_file_size=1)[1]


def _link(path: Path, kind: str) -> None:
    targets = {"circle": path.name, "out of circle": "circle/x", "dangling": "elsewhere"}
    path.symlink_to(targets[kind])
    if kind == "out of circle":
        (path.parent / "circle").symlink_to("circle")


@pytest.mark.parametrize("line", sample(WRITING, 8))
@pytest.mark.parametrize("kind", ["circle", "out of circle"])
def test_links_in_a_circle_are_refused(line, kind, folder, tmp_path):
    name = outputs_of(line, folder)[-1]
    _link(tmp_path / name, kind)
    status, error = run(line, folder, tmp_path)
    assert status == 1 and error.startswith(f"{tmp_path / name}: cannot be written: ")


@pytest.mark.parametrize("line", sample(WRITING, 12))
def test_an_output_is_written_through_a_dangling_link(line, folder, tmp_path):
    name = outputs_of(line, folder)[-1]
    _link(tmp_path / name, "dangling")
    assert run(line, folder, tmp_path)[0] == 0
    assert (tmp_path / name).is_symlink() and (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("line", sample(COMMAND_LINES, 8))
def test_an_input_that_links_in_a_circle_is_refused(line, folder, tmp_path):
    loop = tmp_path / "loop.gz"
    loop.symlink_to(loop.name)
    count = 0

    def last_input(path: Path) -> str:
        nonlocal count
        count += 1
        return str(loop if count == line.count("{") else path)

    words = arguments(line, folder, tmp_path, last_input)
    outcome = run_forked(words, timeout=TIMEOUT)
    error = outcome.stderr.splitlines()[-1]
    assert outcome.status in (1, 2) and error.startswith("nmtkit: error: "), outcome
    assert str(loop) in error and [path.name for path in tmp_path.iterdir()] == [loop.name]
