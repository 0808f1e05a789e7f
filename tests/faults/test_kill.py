"""A short part of `make faults`; in a process of its own, as it forks."""

import os
import subprocess
import sys
from pathlib import Path


def test_a_training_killed_again_and_again_is_one_never_touched():
    script = Path(__file__).with_name("kill.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, script, "--kills", "12"], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[0]) > 3 and result.stdout.endswith(": 0 differences\n")
