"""Time of a line that comes alone."""

import os
import shutil
import sys

import latency
import pytest
from timing import BenchError

ECHO = "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)"


def test_each_line_waits_for_the_one_before() -> None:
    slow = ECHO.replace("print", "__import__('time').sleep(0.01); print")
    seconds = latency.seconds_of_lines([sys.executable, "-c", slow], ["a"] * 13, threads=1)
    assert len(seconds) == 13 - latency.FIRST
    assert min(seconds) >= 0.01


def test_a_command_that_ends_is_an_error() -> None:
    two = "import sys\nfor _ in range(2):\n    print(sys.stdin.readline(), end='', flush=True)"
    with pytest.raises(BenchError, match="ended after 2 lines"):
        latency.seconds_of_lines([sys.executable, "-c", two], ["a"] * 13, threads=1)


def test_a_command_is_bound_to_a_core_that_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 4})
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert latency.on_one_core() == ["taskset", "-c", "4"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert latency.on_one_core() == []
