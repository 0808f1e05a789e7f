"""Peak memory includes all processes of a command."""

import subprocess
import sys
from pathlib import Path

import memory
import pytest
from timing import BenchError, CommandCost

HOLD = "import time; held = bytearray(b'x') * {size}; time.sleep({seconds})"
CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"


def test_memory_includes_child_processes(tmp_path: Path) -> None:
    alone = HOLD.format(size=60 << 20, seconds=0.4)
    for code in (alone, CHILD.format(code=alone)):
        cost = memory.peak_memory([sys.executable, "-c", code], tmp_path / "log")
        assert 60 << 20 < cost.anonymous < 120 << 20
        assert cost.run.peak > 60 << 20


def test_mapped_files_count_only_for_the_largest_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * (60 << 20))
    code = (
        f"import mmap, time; file = open({str(tmp_path / 'file')!r}, 'rb')\n"
        "held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "sum(held[::4096]); time.sleep(0.4)"
    )
    cost = memory.peak_memory([sys.executable, "-c", code], tmp_path / "log")
    assert cost.run.peak > 60 << 20 > cost.anonymous > 1 << 20


def test_a_process_that_ran_before_is_not_counted(tmp_path: Path) -> None:
    code = f"{HOLD.format(size=60 << 20, seconds=0)}; print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        cost = memory.peak_memory(
            [sys.executable, "-c", HOLD.format(size=1, seconds=0.2)], tmp_path / "log"
        )
        other.kill()
    assert 1 << 20 < cost.anonymous < 60 << 20


def test_an_ended_process_has_no_memory(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert memory.anonymous_bytes(process.pid) == 0
    assert memory.descendants(process.pid) == []
    with pytest.raises(BenchError, match="exit status 3"):
        memory.peak_memory([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "log")


def test_the_report_has_a_row_per_command() -> None:
    def cost(mib: int) -> memory.MemoryCost:
        return memory.MemoryCost(CommandCost(1.5, 1.0, mib << 20), (mib - 1) << 20)

    costs = {times: dict.fromkeys(memory.STEPS, cost(10 * times)) for times in (1, 50)}
    lines = memory.report(costs, {"peer": {"train": cost(7)}}).splitlines()
    assert len(lines) == 2 + len(memory.STEPS) + 1
    assert "| nmtkit shortlist | 1.5 | 10 | 9 | 1.5 | 500 | 499 |" in lines
    assert lines[-1] == "| peer: train | 1.5 | 7 | 6 |  |  |  |"
