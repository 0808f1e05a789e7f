"""A short part of what `make faults` does for long: nothing grows while a process works."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.faults.endure import GROWTH, Growth


def test_open_files_and_memory_do_not_grow():
    script = Path(__file__).with_name("endure.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), "--updates", "300", "--lines", "5000"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr + result.stdout
    assert re.match(r"300 updates in .*\n5000 lines in .*\n$", result.stdout)


def test_growth_is_reported():
    growth = Growth([5, 6, *[6] * 18], [0, 10 << 20, *[12 << 20] * 18])
    assert growth.faults() == []
    growth.files[-1] += 1
    growth.memory[-1] += GROWTH + 1
    assert growth.faults() == ["open files grew from 6 to 7", "memory grew from 12 to 28 MiB"]


def test_the_process_itself_is_measured():
    growth = Growth()
    growth.look()
    with open(__file__):
        growth.look()
    assert growth.files[1] == growth.files[0] + 1 and growth.memory[0] > 1 << 20
