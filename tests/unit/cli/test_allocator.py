"""Freed memory is reused instead of being requested from the system again."""

import ctypes
import os
import subprocess
import sys

import pytest

from nmtkit.cli.allocator import keep_freed_memory

FAULTS = """
import resource, sys
import torch
from nmtkit.cli.allocator import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "keep":
    assert keep_freed_memory()
counts = []
for _ in range(8):
    before = faults()
    tensors = [torch.ones(1_000_000) for _ in range(40)]
    while tensors:
        tensors.pop()
    counts.append(faults() - before)
print(counts[1], counts[-1])
"""


def works_here() -> bool:
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt")


@pytest.mark.skipif(not works_here(), reason="for glibc")
def test_freed_memory_is_reused_without_page_faults():
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    environment.pop("GLIBC_TUNABLES", None)

    def faults(how: str) -> tuple[int, int]:
        """Return the page faults of the second and the last allocation of 39,063 pages of 4 KiB."""
        command = [sys.executable, "-c", FAULTS, how]
        second, last = subprocess.check_output(command, text=True, env=environment).split()
        return int(second), int(last)

    second, last = faults("keep")
    assert second < 10_000 and last < 100
    assert faults("leave")[0] > 30_000  # the last depends on what lies at the heap's end


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MALLOC_TRIM_THRESHOLD_", "1000000"),
        ("MALLOC_MMAP_THRESHOLD_", "1000000"),
        ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=1000000"),
    ],
)
def test_the_environment_takes_precedence(monkeypatch, name, value):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: pytest.fail("was told to the C library"))
    monkeypatch.setenv(name, value)
    assert not keep_freed_memory()


def test_other_c_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not keep_freed_memory()
