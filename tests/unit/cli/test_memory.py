"""A training's process takes again what it has freed, instead of asking the system anew."""

import ctypes
import os
import subprocess
import sys

import pytest

from nmtkit.cli.memory import keep_freed_memory

FAULTS = """
import resource, sys
import torch
from nmtkit.cli.memory import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "keep":
    assert keep_freed_memory()
for number in range(3):
    before = faults()
    tensors = [torch.ones(4_000_000) for _ in range(10)]
    del tensors
print(faults() - before)
"""


def works_here() -> bool:
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt")


@pytest.mark.skipif(not works_here(), reason="for glibc")
def test_what_was_freed_is_taken_without_asking_the_system():
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    environment.pop("GLIBC_TUNABLES", None)

    def faults(how: str) -> int:
        command = [sys.executable, "-c", FAULTS, how]
        return int(subprocess.check_output(command, text=True, env=environment))

    assert faults("keep") < 100
    assert faults("leave") > 10_000  # of 39,063 pages of 4 KiB


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MALLOC_TRIM_THRESHOLD_", "1000000"),
        ("MALLOC_MMAP_THRESHOLD_", "1000000"),
        ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=1000000"),
    ],
)
def test_the_environment_goes_first(monkeypatch, name, value):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: pytest.fail("was told to the C library"))
    monkeypatch.setenv(name, value)
    assert not keep_freed_memory()


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not keep_freed_memory()
