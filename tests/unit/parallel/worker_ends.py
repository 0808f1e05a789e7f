"""Processes that end with the process that started them."""

import subprocess
import sys
import time
from pathlib import Path


def gone(pid: int) -> bool:
    """Return whether a process has ended, perhaps unnoticed by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def assert_worker_ends_with(holder_code: str) -> None:
    """Kill a process that prints its worker's id, and wait for the worker's end."""
    holder = subprocess.Popen([sys.executable, "-c", holder_code], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    pid = int(holder.stdout.readline())
    assert not gone(pid)
    holder.kill()
    holder.communicate()
    deadline = time.monotonic() + 20
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone(pid)
