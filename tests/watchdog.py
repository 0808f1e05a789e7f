"""The watchdog: every test ends within a stated time, and one SIGTERM ends what it has started.

A test may take TIME_LIMIT seconds, a slow one SLOW_TIME_LIMIT, or what its mark says:

    @pytest.mark.time_limit(20)

Setting up fixtures and tearing them down may take as long each. A test whose time is over fails
with the stacks of all threads. Each process that it has started then gets one SIGTERM, and has
GRACE seconds to end; the failure says whether it did. A test that does not come back to Python,
so that it cannot fail, ends the run with its stacks FINAL_GRACE seconds after the time for its
fixtures, itself and their end would be over.

`finish` waits for one process in the same way, for a time that the test states.
"""

import contextlib
import faulthandler
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

TIME_LIMIT = 180.0
SLOW_TIME_LIMIT = 7200.0

GRACE = 10.0
"""Seconds within which one SIGTERM must end a process."""

FINAL_GRACE = 60.0
"""Seconds after all its limits that a test has until faulthandler ends the run."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "time_limit(seconds): time after which the test fails")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Arm the end of the run once for all three parts of a test, since each time is a thread."""
    stderr = item.config.stash.get(fault_handler_stderr_fd_key, 2)
    seconds = 3 * limit_of(item) + FINAL_GRACE
    faulthandler.dump_traceback_later(seconds, exit=True, file=stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with time_limit(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with time_limit(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    with time_limit(item):
        return (yield)


def limit_of(item: pytest.Item) -> float:
    """Return the seconds that a test may take."""
    mark = item.get_closest_marker("time_limit")
    if mark is not None:
        return float(mark.args[0])
    return SLOW_TIME_LIMIT if item.get_closest_marker("slow") else TIME_LIMIT


@contextlib.contextmanager
def time_limit(item: pytest.Item) -> Iterator[None]:
    """Fail the test if the block takes longer than its limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seconds, before = limit_of(item), children()

    def fail(_: int, __: FrameType | None) -> None:
        stacks = stacks_of_all_threads()
        endings = [end(process) for process in sorted(children() - before)]
        message = "\n".join([f"not over after {seconds:g} seconds", *endings, stacks])
        pytest.fail(message, pytrace=False)

    previous = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def stacks_of_all_threads() -> str:
    """Return the stacks of this process's threads, the current one first."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read().decode(errors="replace")


def children() -> set[int]:
    """Return the processes that this one has started and that still exist."""
    numbers: list[str] = []
    for thread in os.listdir("/proc/self/task"):
        with (
            contextlib.suppress(OSError),  # the thread has ended
            open(f"/proc/self/task/{thread}/children", encoding="ascii") as listing,
        ):
            numbers += listing.read().split()
    return set(map(int, numbers))


def end(process: int) -> str:
    """Send one SIGTERM to a process, and kill it if it goes on; say what happened."""
    name = f"process {process} ({command_line(process)})"
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline:
        if not is_running(process):
            return f"{name} was ended by one SIGTERM"
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    return f"{name} went on for {GRACE:g} seconds after a SIGTERM, and was killed"


def command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return "ended"


def is_running(process: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def finish(
    process: "subprocess.Popen[str]", seconds: float, input: str | None = None
) -> tuple[str, str]:
    """Wait for a process that must end within some seconds, and return its stdout and stderr.

    If it does not, it gets one SIGTERM, and the test fails whether that ends it or not.
    """
    try:
        return process.communicate(input, timeout=seconds)
    except subprocess.TimeoutExpired:
        ending = end(process.pid)
        _, stderr = process.communicate()
    raise AssertionError(f"not over after {seconds:g} seconds; {ending}\n{stderr}")
