"""Every input of every command may be a pipe, a socket or stdin, and gives the result of a file."""

import gzip
import os
import shutil
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import click
import pytest

from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import cli
from tests.faults.command_lines import COMMAND_LINES, arguments
from tests.faults.forked import in_background, run_forked, written_to
from tests.faults.sample_files import write_sample_files

TIMEOUT = 20.0
"""Seconds for a command."""

OUTPUTS = {"output", "plot", "scores_file", "alignments", "segments", "list_output", "lexicon"}
"""Parameters that name a file that is written."""

KENLM_MODELS = {("select", "lm_domain"), ("select", "lm_general")}
"""Files that KenLM opens, which must be regular files."""

PARAMETERS = {("train", "initial_model")}
"""Files of a model folder, which must be regular files."""

READ_AGAIN = {("serve", "keys")}
"""Files that are read at each SIGHUP, which must be regular files."""

LISTS_OF_FILES = {("prepare", "corpora")}
"""Files that name others relative to themselves."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_sample_files(tmp_path_factory.mktemp("samples"))


class Run:
    """One run of a command line whose inputs are files, named pipes or other descriptors."""

    def __init__(self, line: str, folder: Path, work: Path) -> None:
        self.line, self.folder, self.work = line, folder, work
        self.stack = ExitStack()
        self.inputs: list[str] = []
        self.stdin: int | None = None
        shutil.rmtree(work, ignore_errors=True)
        (work / "out").mkdir(parents=True)

    def result(self, make_input: Callable[["Run", Path, bytes], str]) -> dict[str, bytes]:
        """Return stdout and the files that the command writes.

        :param make_input: makes an input with this content; returns its name.
        """

        def input_of(path: Path) -> str:
            own_path = self.work / f"{len(self.inputs)}-{path.name}"
            self.inputs.append(own_path.name)
            return make_input(self, own_path, path.read_bytes())

        words = arguments(self.line, self.folder, self.work / "out", input_of)
        with self.stack:
            outcome = run_forked(words, self.stdin, timeout=TIMEOUT)
        assert outcome.status == 0, (self.line, outcome)
        files = [path for path in self.work.rglob("out/**/*") if path.is_file()]
        written = {str(path.relative_to(self.work)): path.read_bytes() for path in files}
        return {"stdout": outcome.stdout, **{k: _without_origin(k, v) for k, v in written.items()}}


def _without_origin(name: str, content: bytes) -> bytes:
    """Drop from SHA256SUMS the checksum of origin.json, which names the inputs."""
    lines = content.splitlines(keepends=True) if name.endswith("SHA256SUMS") else [content]
    return b"".join(line for line in lines if not line.endswith(b"  origin.json\n"))


def regular_file(_: Run, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def named_pipe(run: Run, path: Path, content: bytes) -> str:
    os.mkfifo(path)
    run.stack.enter_context(in_background(lambda: path.write_bytes(content)))
    return str(path)


def _text(path: Path, content: bytes) -> bytes:
    """Return uncompressed text, for inputs whose name cannot say that they are gzip."""
    return gzip.decompress(content) if path.suffix == ".gz" else content


def process_substitution(run: Run, path: Path, content: bytes) -> str:
    """Make a pipe as the shell does for `<(zcat file)`."""
    reader, writer = os.pipe()
    run.stack.callback(os.close, reader)
    run.stack.enter_context(written_to(writer, _text(path, content)))
    return f"/dev/fd/{reader}"


def socket_as_stdin(run: Run, path: Path, content: bytes) -> str:
    """Make a socket as stdin for the first input; the others are files."""
    if len(run.inputs) > 1:
        return regular_file(run, path, content)
    ours, theirs = socket.socketpair()
    run.stdin = theirs.detach()
    run.stack.callback(os.close, run.stdin)
    run.stack.enter_context(written_to(ours.detach(), _text(path, content), size=1))
    return "-"


KINDS = (named_pipe, process_substitution, socket_as_stdin)

SLOWEST = "phrase-table report"

CASES = [
    pytest.param(
        line,
        kind,
        marks=()
        if (index + number) % len(KINDS) == 0 and not line.startswith(SLOWEST)
        else pytest.mark.slow,
    )
    for index, line in enumerate(COMMAND_LINES)
    for number, kind in enumerate(KINDS)
    if not (kind is socket_as_stdin and "-c {" in line)  # settings cannot be stdin
]
"""Each command line with one kind of input; with all of them in `make faults`."""


@pytest.mark.parametrize(("line", "kind"), CASES)
def test_an_input_may_be_a_pipe_or_a_socket(line, kind, folder, tmp_path):
    run = Run(line, folder, tmp_path / "work")
    expected = run.result(regular_file)
    result = Run(line, folder, tmp_path / "work").result(kind)
    assert set(result) == set(expected)
    for name, content in expected.items():
        timed = name.endswith(("metrics.jsonl", "state.json"))
        names_inputs = kind is not named_pipe and any(i.encode() in content for i in run.inputs)
        assert timed or names_inputs or result[name] == content, name


@pytest.mark.parametrize("line", [line for line in COMMAND_LINES if line.count("{") > 1])
def test_a_pipe_that_is_named_twice_is_refused_at_once(line, folder, tmp_path):
    """The pipe has no writer, so that a command that opens it waits for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    count = 0

    def make_input(path: Path) -> str:
        nonlocal count
        count += 1
        return str(pipe if count in (1, line.count("{")) else path)

    words = arguments(line, folder, tmp_path / "out", make_input)
    outcome = run_forked(words, timeout=TIMEOUT)
    assert outcome.status == 1 and outcome.stderr.count("\n") == 1, outcome
    assert "are the same pipe, which can be read only once" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_every_input_of_every_command_is_in_a_command_line():
    """Parse the command lines as the program does, and look for parameters without a value."""
    missing = set()
    for path, command in walk_commands(cli):
        lines = [line for line in COMMAND_LINES if line.startswith(" ".join(path) + " ")]
        given: set[str] = set()
        for line in lines:
            context = click.Context(command)
            words = arguments(line, Path(), Path())[len(path) :]
            options, _, order = command.make_parser(context).parse_args(words)
            given |= {p.name or "" for p in order if options.get(p.name or "") is not None}
        missing |= {
            (*path, parameter.name)
            for parameter in command.params
            if _names_a_file(parameter) and parameter.name not in given | OUTPUTS
        }
    assert missing == KENLM_MODELS | PARAMETERS | READ_AGAIN | LISTS_OF_FILES


def _names_a_file(parameter: click.Parameter) -> bool:
    types = parameter.type.types if isinstance(parameter.type, click.Tuple) else [parameter.type]
    return any(isinstance(one, click.Path) and one.file_okay for one in types)
