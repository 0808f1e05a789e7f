"""The watchdog of the tests itself, in a run of pytest of its own."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.watchdog import finish

HANGING = '''
import subprocess, sys, threading, time
import pytest

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: None)
print(1, flush=True)
while True:
    time.sleep(1)
"""

@pytest.fixture
def slow_fixture():
    time.sleep(60)

@pytest.mark.time_limit(0.1)
def test_waits_for_ever():
    threading.Thread(target=time.sleep, args=(1,), name="other").start()
    time.sleep(60)

@pytest.mark.time_limit(0.1)
def test_catches_everything():
    while True:
        try:
            time.sleep(60)
        except Exception:
            pass

@pytest.mark.time_limit(0.1)
def test_waits_in_a_fixture(slow_fixture):
    pass

@pytest.mark.time_limit(0.6)
def test_waits_for_processes():
    stubborn = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN], stdout=subprocess.PIPE)
    assert stubborn.stdout.readline()
    subprocess.run(["sleep", "60"])

def test_is_quick():
    pass
'''


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder with the watchdog."""
    options = ["-p", "tests.watchdog", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    options += ["-q", "-rN"]  # a summary repeats messages, whole where the environment says CI
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(folder)],
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.time_limit(60)
def test_a_test_whose_time_is_over_fails_with_its_stacks(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING)
    (tmp_path / "conftest.py").write_text("import tests.watchdog\ntests.watchdog.GRACE = 0.3\n")
    done = run_pytest(tmp_path)
    assert "3 failed, 1 passed, 1 error" in done.stdout, done.stdout
    assert done.stdout.count("not over after 0.1 seconds") == 3
    assert done.stdout.count("in test_waits_for_ever") == 1 and "Thread" in done.stdout
    assert "(sleep 60) was ended by one SIGTERM" in done.stdout
    assert "went on for 0.3 seconds after a SIGTERM, and was killed" in done.stdout


def test_a_process_that_does_not_end_in_time_is_ended_and_fails():
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; print('started', flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started = time.monotonic()
    with pytest.raises(AssertionError, match=r"not over after 0\.1 seconds; .* one SIGTERM"):
        finish(process, 0.1)
    assert time.monotonic() - started < 10


def test_a_process_that_ends_in_time_gives_its_output():
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert finish(process, 10, "text")[0] == "text"


HANGING_IN_C = """
import pytest

@pytest.mark.time_limit(0.1)
def test_holds_the_interpreter():
    sum(range(10**13))  # hours in which no handler of a signal runs
"""


@pytest.mark.time_limit(60)
def test_a_test_that_does_not_come_back_ends_the_run_with_its_stacks(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING_IN_C)
    (tmp_path / "conftest.py").write_text("import tests.watchdog\ntests.watchdog.FINAL_GRACE = 1\n")
    done = run_pytest(tmp_path)
    assert done.returncode == 1 and "passed" not in done.stdout
    assert "in test_holds_the_interpreter" in done.stderr
