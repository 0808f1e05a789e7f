"""A short run of `between_runs.py`, in its own process because it forks."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.watchdog import finish

SCRIPT = Path(__file__).with_name("between_runs.py")


@pytest.mark.time_limit(150)
def test_a_change_between_two_runs_is_refused_or_has_no_effect(preloaded):
    command = [preloaded / "python", str(SCRIPT), "--stage", "interrupted", "--sample", "5"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--no-ranks"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    stdout, stderr = finish(process, 120)
    assert process.returncode == 0, stdout + stderr
    assert re.search(r"^5 changes between runs \(.*: 0 faults$", stdout, re.MULTILINE)
