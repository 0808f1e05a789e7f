"""A short run of `terminate.py`, in its own process because it forks."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.watchdog import finish


@pytest.mark.time_limit(150)
def test_one_sigterm_ends_a_command_and_leaves_nothing_half_written(preloaded):
    script = Path(__file__).with_name("terminate.py")
    command = [
        preloaded / "python",
        str(script),
        "--only",
        "nmtkit prepare --train",
        "--lines",
        "1",
        "--moments",
        "4",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    stdout, stderr = finish(process, 120)
    assert process.returncode == 0, stdout + stderr
    assert re.search(r"^\d+ commands ended by one SIGTERM .*: 0 faults$", stdout, re.MULTILINE)
