"""A worker in another process: results, errors, and its end."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nmtkit.errors import DataError, NmtkitError
from nmtkit.parallel.background import BackgroundWorker
from tests.unit.parallel.worker_ends import assert_worker_ends_with, gone

HOLDER = """
import time
from nmtkit.parallel.background import BackgroundWorker
from tests.unit.parallel.test_background import divider
worker = BackgroundWorker(divider, 12)
worker.submit(0)
print(worker._process.pid, flush=True)
time.sleep(60)
"""


def divider(number: int) -> Callable[[int], float]:
    if number < 0:
        raise DataError("a negative number")
    print("a library's message, which is no result")
    return lambda request: number / request


def test_results_come_in_the_order_of_the_requests() -> None:
    worker = BackgroundWorker(divider, 12)
    for request in (1, 4):
        worker.submit(request)
        assert worker.result() == 12 / request


def test_a_path_that_is_no_text_is_left_out_of_the_path_of_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("modules")])
    worker = BackgroundWorker(divider, 12)
    worker.submit(3)
    assert worker.result() == 4


def test_errors_are_raised_where_the_result_is_read() -> None:
    worker = BackgroundWorker(divider, 12)
    worker.submit(0)
    with pytest.raises(ZeroDivisionError):
        worker.result()
    worker.submit(3)
    assert worker.result() == 4
    broken = BackgroundWorker(divider, -1)
    broken.submit(3)
    with pytest.raises(DataError, match="negative"):
        broken.result()


def test_a_killed_worker_is_reported() -> None:
    worker = BackgroundWorker(divider, 12)
    worker.submit(1)
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(NmtkitError, match=r"a worker process \(\d+\) was killed"):
        for _ in range(2):
            worker.result()
            worker.submit(1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_it_ends_with_the_process_that_started_it() -> None:
    assert_worker_ends_with(HOLDER)


def test_it_ends_with_its_object() -> None:
    worker = BackgroundWorker(divider, 12)
    pid = worker._process.pid
    assert not gone(pid) and os.getsid(pid) == pid  # the terminal's Ctrl-C does not reach it
    del worker
    assert gone(pid)
