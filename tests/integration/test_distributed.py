"""Commands that several processes run together, and commands that refuse to."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.training_metrics import metrics

SIX_UPDATES = ["--set", "training.max_updates=6", "--set", "training.validate_every=3"]
NMTKIT = [sys.executable, "-m", "nmtkit"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]


@pytest.fixture
def nmtkit_on_ranks(run_ranks, nmtkit):
    """Return a function: `nmtkit_on_ranks(2, "score", ...)` gives (stdout, stderr) of each rank."""

    def call(size, *arguments, status=0, restarts=0, **options):
        def task():
            result = nmtkit(*arguments, status=status, **options)
            return result.stdout, result.stderr

        outcomes = run_ranks(size, task, restarts=restarts)
        assert [outcome.error for outcome in outcomes] == [None] * size
        return [outcome.value for outcome in outcomes]

    return call


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def assert_close(folder, other):
    """Assert that two model folders are equal up to rounding."""
    assert names(folder) == names(other)
    for row, expected in zip(metrics(folder), metrics(other), strict=True):
        assert row.keys() == expected.keys()
        for key, value in row.items():
            target = expected[key]
            exact = not isinstance(target, float)
            assert value == (target if exact else pytest.approx(target, rel=1e-4)), key
    for name in ("params.best.safetensors", "params.last.safetensors"):
        tensors, expected_tensors = load_file(folder / name), load_file(other / name)
        for key, value in tensors.items():
            assert value.allclose(expected_tensors[key], rtol=1e-4, atol=1e-6), key


def training_command(prepared, folder, small, *options):
    settings = ["--recipe", "toy", "--device", "cpu", *small, *SIX_UPDATES]
    settings += ["--set", "model.dropout=0.0", "--set", "training.average_checkpoints=2"]
    return ["train", prepared, "--output", folder, *settings, *options]


def test_several_processes_train_the_model_of_one(
    prepared, small, nmtkit, nmtkit_on_ranks, tmp_path
):
    nmtkit(*training_command(prepared, tmp_path / "one", small))
    (_, stderr), *others = nmtkit_on_ranks(
        3, *training_command(prepared, tmp_path / "three", small)
    )
    assert "3 processes train together" in stderr and "finished after 6 updates" in stderr
    assert others == [("", "")] * 2
    assert_close(tmp_path / "three", tmp_path / "one")
    assert metrics(tmp_path / "one")[0]["dev_bleu"] is not None


def test_a_restart_resumes_even_with_force(prepared, small, nmtkit_on_ranks, tmp_path):
    command = training_command(prepared, tmp_path / "model", small, "--force")
    nmtkit_on_ranks(2, *command)
    before = names(tmp_path / "model")
    (_, stderr), _ = nmtkit_on_ranks(2, *command, restarts=1)
    assert "training is finished after 6 updates" in stderr
    assert names(tmp_path / "model") == before


def test_a_port_in_use_is_reported(prepared, small, nmtkit, tmp_path, monkeypatch):
    """Another job on the machine has the same MASTER_PORT."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        for name, value in (("RANK", 0), ("WORLD_SIZE", 2), ("MASTER_PORT", port)):
            monkeypatch.setenv(name, str(value))
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        started = time.monotonic()
        result = nmtkit(*training_command(prepared, tmp_path / "model", small), status=1)
    assert time.monotonic() - started < 20
    assert result.stderr.startswith("nmtkit: error: rank 0: ") and result.stderr.count("\n") == 1
    assert "failed to listen" in result.stderr and not (tmp_path / "model").exists()


def test_errors_are_reported_by_rank_0(prepared, small, nmtkit_on_ranks, tmp_path):
    outputs = nmtkit_on_ranks(
        3, *training_command(tmp_path / "nowhere", tmp_path / "model", small), status=1
    )
    assert "nowhere: no such folder" in outputs[0][1]
    assert outputs[1][1] == "nmtkit: error: rank 1: rank 0 has failed; see its message\n"
    assert not (tmp_path / "model").exists()


@pytest.fixture
def text(tmp_path):
    """Write enough lines that each rank gets some of each window; some are empty or blank."""
    words = ["one", "two three", "", "nine one two", "  ", "seven"]
    (tmp_path / "text").write_text("".join(f"{words[n % 6]}\n" for n in range(50)) + "four")
    return tmp_path / "text"


@pytest.mark.parametrize(
    "options",
    [
        ["--beam", 3, "--scores"],
        ["--n-best", 2, "--beam", 3],
        ["--sample", 2, "--counts"],
        ["--segment", "random-confidence"],
    ],
    ids=lambda options: options[0],
)
def test_translations_are_those_of_one_process(
    model, text, nmtkit, nmtkit_on_ranks, tmp_path, options
):
    command = ["translate", "--model", model, "--device", "cpu", "--batch-size", 1, *options]
    expected = nmtkit(*command, text).stdout
    assert expected.count("\n") >= 51
    first, *others = nmtkit_on_ranks(3, *command, text)
    assert first[0] == expected
    assert others == [("", "")] * 2


def test_all_files_of_translate_equal_those_of_one_process(
    model, text, nmtkit, nmtkit_on_ranks, tmp_path
):
    def command(name):
        files = {option: tmp_path / f"{name}{option}" for option in ("--output", "--segments")}
        words = [str(word) for pair in files.items() for word in pair]
        search = ["--segment", "random-confidence", "--batch-size", 1]
        return ["translate", "-m", model, "--device", "cpu", *search, *words, text]

    nmtkit(*command("one"))
    nmtkit_on_ranks(2, *command("two"))
    for option in ("--output", "--segments"):
        expected = (tmp_path / f"one{option}").read_bytes()
        assert expected.count(b"\n") == 51
        assert (tmp_path / f"two{option}").read_bytes() == expected


def test_alignments_of_stdin_are_those_of_one_process(
    model, text, nmtkit, nmtkit_on_ranks, tmp_path
):
    command = ["translate", "-m", model, "--device", "cpu", "--beam", 2, "--alignments"]
    expected = nmtkit(*command, tmp_path / "one", text).stdout
    (translations, _), _ = nmtkit_on_ranks(2, *command, tmp_path / "two", input=text.read_text())
    assert translations == expected
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_scores_are_those_of_one_process(model, language_model, text, nmtkit, nmtkit_on_ranks):
    for files in ([model, text, text], [language_model, text]):
        command = ["score", "--device", "cpu", "--batch-size", 1, "--model", *files]
        alone = nmtkit(*command)
        (scores, stderr), other = nmtkit_on_ranks(2, *command)
        assert scores == alone.stdout and scores.count("\n") == 51
        assert stderr == alone.stderr and other == ("", "")


def test_files_of_different_length_are_refused_by_rank_0(model, text, corpus, nmtkit_on_ranks):
    outputs = nmtkit_on_ranks(
        2, "score", "--device", "cpu", "-m", model, text, corpus / "dev.fr", status=1
    )
    assert "differ in their number of lines" in outputs[0][1]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["prepare"], "'prepare' runs in one process, and 2 were started together"),
        (["align", "--help"], "only train, translate, score can share their work"),
        (["score", "--model", "m", "--nbest", "list"], "'nbest' runs in one process"),
        (["score", "--model", "m", "--phrase-table", "t"], "'phrase-table' runs in one process"),
    ],
)
def test_commands_for_one_process_refuse_several(nmtkit_on_ranks, arguments, reason):
    for _, stderr in nmtkit_on_ranks(2, *arguments, status=2):
        assert reason in stderr


def test_python_m_nmtkit_is_the_command():
    completed = subprocess.run([*NMTKIT, "--version"], capture_output=True, text=True, check=True)
    assert completed.stdout.startswith("nmtkit ")


# Under torchrun itself


RECORD_STATUS = """trap : INT TERM
folder=$1; shift
"$@"
echo $? > "$folder/status.$RANK"
"""
"""A shell script that runs a command, ignores the signals that end it, and records its exit status:
torchrun does not report the statuses of ranks that it ended itself."""


def start_torchrun(*arguments, restarts=0, status_folder=None):
    """Start a command under torchrun with two ranks, and record their statuses in a folder."""
    rank = [sys.executable, "-m", "nmtkit", *arguments]
    if status_folder is not None:
        rank = ["bash", "-c", RECORD_STATUS, "record-status", status_folder, *rank]
    command = [*TORCHRUN, "--max-restarts", restarts, "--no-python", *rank]
    return subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )


def rank_pids(process):
    """Return the ids of the processes that torchrun has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(number) for number in children]


def wait_for_checkpoint(folder, checkpoint, process):
    """Wait until a training has written a checkpoint of at least `checkpoint` updates."""
    while not any(path.name >= f"{checkpoint:08d}" for path in folder.glob("checkpoints/[0-9]*")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)


@pytest.mark.slow
def test_torchrun_restarts_a_training_whose_rank_was_killed(prepared, small, nmtkit, tmp_path):
    options = ["--set", "training.max_updates=300", "--set", "training.validate_every=20"]
    options += ["--set", "training.dev_bleu=false"]
    folder = tmp_path / "killed"
    process = start_torchrun(*training_command(prepared, folder, small, *options), restarts=1)
    wait_for_checkpoint(folder, 40, process)
    os.kill(rank_pids(process)[-1], signal.SIGKILL)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert "resuming from update" in stderr
    nmtkit(*training_command(prepared, tmp_path / "undisturbed", small, *options))
    assert_close(folder, tmp_path / "undisturbed")


@pytest.mark.slow
def test_a_killed_rank_ends_the_job_and_one_process_resumes(prepared, small, nmtkit, tmp_path):
    options = ["--set", "training.max_updates=300", "--set", "training.validate_every=20"]
    options += ["--set", "training.dev_bleu=false"]
    folder = tmp_path / "killed"
    process = start_torchrun(*training_command(prepared, folder, small, *options))
    wait_for_checkpoint(folder, 40, process)
    os.kill(rank_pids(process)[0], signal.SIGKILL)
    killed_at = time.monotonic()
    _, stderr = process.communicate(timeout=120)
    assert time.monotonic() - killed_at < 45
    assert process.returncode != 0 and "SIGKILL" in stderr
    resumed = nmtkit(*training_command(prepared, folder, small, *options))
    assert "resuming from update" in resumed.stderr
    nmtkit(*training_command(prepared, tmp_path / "undisturbed", small, *options))
    assert_close(folder, tmp_path / "undisturbed")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_torchrun_saves(prepared, small, tmp_path, number):
    options = ["--set", "training.max_updates=100000", "--set", "training.validate_every=50"]
    folder = tmp_path / "model"
    process = start_torchrun(
        *training_command(prepared, folder, small, *options), status_folder=tmp_path
    )
    wait_for_checkpoint(folder, 50, process)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    statuses = [(tmp_path / f"status.{rank}").read_text() for rank in range(2)]
    assert statuses == [f"{128 + number}\n"] * 2, stderr
    match = re.search(r"saved at update (\d+); the same command resumes from there", stderr)
    assert match, stderr
    assert list(folder.glob(f"checkpoints/{int(match[1]):08d}*"))


@pytest.mark.slow
def test_torchrun_translates_stdin(model, text, nmtkit):
    command = ["translate", "--model", model, "--device", "cpu", "--beam", 2]
    process = start_torchrun(*command)
    translations, stderr = process.communicate(text.read_text(), timeout=60)
    assert process.returncode == 0, stderr
    assert translations == nmtkit(*command, text).stdout
