"""SIGTERM, SIGINT and SIGHUP make a training save and exit."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.watchdog import end, finish

pytestmark = pytest.mark.time_limit(90)

ENDLESS = [
    "--recipe", "toy", "--device", "cpu", "--threads", "1",
    *(f"--set={key}={value}" for key, value in {
        "model.embedding": 6, "model.hidden": 8, "model.align": 5, "model.maxout": 4,
        "model.tied": "false", "data.batch_size": 5, "data.batch_unit": "sentences",
        "training.max_updates": 100000, "training.cooldown": 0,
        "training.validate_every": 100000, "training.dev_bleu": "false",
    }.items()),
]  # fmt: skip
RUN = [sys.executable, "-c", "from nmtkit.cli.main import main; main()", "train"]


def start_training(prepared: Path, folder: Path) -> "subprocess.Popen[str]":
    """Start a training, and return its process once it has made some updates."""
    process = subprocess.Popen(
        [*RUN, str(prepared), "--output", str(folder), *ENDLESS],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in the foreground
    )
    metrics = folder / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while not (metrics.is_file() and metrics.stat().st_size):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline, end(process.pid)
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(
    ("number", "times", "status"),
    [(signal.SIGTERM, 2, 143), (signal.SIGINT, 1, 130), (signal.SIGHUP, 1, 129)],
)
def test_a_signal_saves_and_ends(prepared, nmtkit, tmp_path, number, times, status):
    """`timeout` sends its SIGTERM to a command, and at once to the group that the command is in."""
    process = start_training(prepared, tmp_path / "model")
    second = nmtkit("train", prepared, "--output", tmp_path / "model", *ENDLESS, status=1)
    assert f"process {process.pid} is training there" in second.stderr
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.002)
    _, stderr = finish(process, 10)
    assert process.returncode == status
    assert "saving after this update" in stderr and "resumes from there" in stderr
    assert "Traceback" not in stderr
    saved = [path.name for path in (tmp_path / "model" / "checkpoints").iterdir()]
    assert len(saved) == 1 and saved[0].endswith(".interrupted")
    max_updates = int(saved[0][:8]) + 2
    limit = f"training.max_updates={max_updates}"
    options = [*ENDLESS, "--set", limit]
    resumed = nmtkit("train", prepared, "--output", tmp_path / "model", *options)
    assert f"resuming from update {max_updates - 2}" in resumed.stderr
    assert (tmp_path / "model" / "params.best.safetensors").is_file()
