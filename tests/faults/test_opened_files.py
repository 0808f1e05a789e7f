"""Nothing bad in the place of a file that a command opens does harm.

This is a sample of `opened_files.py`, which tries all cases with all files of all commands.
"""

import tempfile
import time
from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.smt import weights
from nmtkit.smt.weights import read_weights
from tests.faults.forked_command import can_trace
from tests.faults.opened_cases import CASES, Role, State, role_of
from tests.faults.opened_files import Laboratory, Trial, fast_folder, try_all
from tests.faults.opened_runs import missing_commands, unused_options

RERANK = "nbest rerank list --weights-file weights -o out"
SAMPLE = {RERANK: 6, "shortlist prepared --size 9 --force": 9, "translate test.en -m model": 16}
"""Run -> every how many-th case is tried."""

needs_strace = pytest.mark.skipif(not can_trace(), reason="needs strace, which may trace")


@pytest.fixture(scope="module")
def laboratory():
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
        yield Laboratory(Path(folder), lines=list(SAMPLE))


def run_of(laboratory, line):
    return next(run for run in laboratory.sample.runs() if str(run) == line)


def test_every_command_and_every_option_for_a_file_has_a_run():
    assert missing_commands() == []
    assert unused_options() == []


@needs_strace
@pytest.mark.parametrize("line", SAMPLE)
def test_bad_files_do_no_harm(laboratory, line):
    faults: list[str] = []
    numbers = iter(range(10**6))

    def is_chosen(_: Trial) -> bool:
        return next(numbers) % SAMPLE[line] == 0

    counts = try_all(laboratory, run_of(laboratory, line), is_chosen, faults.append)
    assert faults == []
    assert counts.total() >= 5


def crash(path):
    raise ValueError("planted")


def blame_another_file(path):
    raise DataError("elsewhere: planted")


def hang(path):
    time.sleep(60)


def ignore_its_content(path):
    print(Path(path).stat().st_size)
    return read_weights(path)


@needs_strace
@pytest.mark.parametrize(
    ("planted", "case", "found"),
    [
        (crash, "a folder", "stderr has 'Traceback"),
        (blame_another_file, "a folder", "does not name the file"),
        (hang, "a folder", "did not end within"),
        (ignore_its_content, "a link out", "status 0, but stdout differ"),
    ],
)
def test_a_planted_fault_is_found(laboratory, monkeypatch, planted, case, found):
    def plant(path):
        is_disturbed = Path(path).is_symlink() or Path(path).is_dir()
        return (planted if is_disturbed else read_weights)(path)

    monkeypatch.setattr(weights, "read_weights", plant)
    monkeypatch.setattr(laboratory, "seconds", 2.0)
    faults: list[str] = []

    def is_chosen(trial: Trial) -> bool:
        return str(trial.path) == "weights" and trial.case.name == case

    try_all(laboratory, run_of(laboratory, RERANK), is_chosen, faults.append)
    assert any(found in fault for fault in faults), faults


def test_a_file_that_fits_no_role_is_noticed():
    tree = {Path("model"): ("folder", b""), Path("model/config.toml"): ("file", b"")}
    assert role_of(Path("model/vocab.src"), ("-m", "model"), tree, tree) is Role.MODEL
    assert role_of(Path("cache"), ("-m", "model"), tree, tree) is None


def test_every_state_has_the_cases_that_are_possible():
    names = {state: {case.name for case in cases} for state, cases in CASES.items()}
    assert {"a FIFO", "a link out", "a folder", "missing", "cut", "huge"} <= names[State.FILE]
    assert {"a FIFO", "a link out", "a folder", "garbage"} <= names[State.NOTHING]
