"""A short run of `soak.py`: open files and memory do not grow."""

import os
import re
import subprocess
from pathlib import Path

from tests.faults.soak import MAX_GROWTH, ResourceUsage
from tests.watchdog import finish


def test_open_files_and_memory_do_not_grow(preloaded):
    script = Path(__file__).with_name("soak.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [preloaded / "python", str(script), "--updates", "200", "--lines", "2500"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    stdout, stderr = finish(process, 120)
    assert process.returncode == 0, stderr + stdout
    assert re.match(r"200 updates in .*\n2500 lines in .*\n$", stdout)


def test_growth_is_reported():
    usage = ResourceUsage([5, 6, *[6] * 18], [0, 10 << 20, *[12 << 20] * 18])
    assert usage.leaks() == []
    usage.files[-1] += 1
    usage.memory[-1] += MAX_GROWTH + 1
    assert usage.leaks() == ["open files grew from 6 to 7", "memory grew from 12 to 28 MiB"]


def test_open_files_and_memory_of_this_process_are_measured():
    usage = ResourceUsage()
    usage.measure()
    with open(__file__):
        usage.measure()
    assert usage.files[1] == usage.files[0] + 1 and usage.memory[0] > 1 << 20
