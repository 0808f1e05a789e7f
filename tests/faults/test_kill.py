"""A short run of `kill.py`, in its own process because it forks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("kills", "ranks"), [(12, 1), pytest.param(6, 2, marks=pytest.mark.slow)])
def test_a_training_killed_many_times_equals_one_never_killed(kills, ranks):
    script = Path(__file__).with_name("kill.py")
    command = [sys.executable, str(script), "--kills", str(kills), "--ranks", str(ranks)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[0]) > 3 and result.stdout.endswith(": 0 differences\n")
