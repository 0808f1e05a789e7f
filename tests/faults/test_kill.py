"""A short run of `kill.py`, in its own process because it forks."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.watchdog import finish


@pytest.mark.time_limit(1900)
@pytest.mark.parametrize(("kills", "ranks"), [(3, 1), pytest.param(6, 2, marks=pytest.mark.slow)])
def test_a_training_killed_many_times_equals_one_never_killed(kills, ranks, preloaded):
    script = Path(__file__).with_name("kill.py")
    command = [preloaded / "python", str(script), "--kills", str(kills), "--ranks", str(ranks)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    stdout, stderr = finish(process, 300 if ranks == 1 else 1800)
    assert process.returncode == 0, stderr
    assert int(stdout.split()[0]) >= 3 and stdout.endswith(": 0 differences\n")
