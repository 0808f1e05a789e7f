"""A worker in a fork: shared memory, results, errors, and its end."""

import os
import signal
import subprocess
import sys

import pytest

from nmtkit.errors import NmtkitError
from nmtkit.parallel.forked_worker import ALIGNMENT, ForkedWorker, shared_tensors
from tests.unit.parallel.worker_ends import assert_worker_ends_with, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")

HOLDER = """
import time
from nmtkit.parallel.forked_worker import ForkedWorker
worker = ForkedWorker(str)
worker.submit(0)
worker.result()
print(worker._process.pid, flush=True)
time.sleep(60)
"""

ENDING = """
import tempfile
folder = tempfile.TemporaryDirectory()  # it has something to do at exit before torch is imported
from nmtkit.parallel.forked_worker import ForkedWorker
worker = ForkedWorker(str)
"""


def divide_twelve(number: int) -> float:
    return 12 / number


def test_tensors_are_shared_with_forks_and_apart_from_each_other() -> None:
    tensors = shared_tensors([(2, 3), (), (5,)])
    assert [tuple(tensor.shape) for tensor in tensors] == [(2, 3), (), (5,)]
    first, *others = (tensor.data_ptr() for tensor in tensors)
    assert [(address - first) % (4 * ALIGNMENT) for address in others] == [0, 0]

    def add(number: int) -> list[float]:
        for tensor in tensors:
            tensor.add_(number)
        return [float(tensor.sum()) for tensor in tensors]

    worker = ForkedWorker(add)
    tensors[1].fill_(0.5)  # after the fork
    worker.submit(2)
    assert worker.result() == [12, 2.5, 10]
    assert [float(tensor.sum()) for tensor in tensors] == [12, 2.5, 10]


def test_results_and_errors_come_in_the_order_of_the_requests() -> None:
    worker = ForkedWorker(divide_twelve)
    worker.submit(1)
    assert worker.result() == 12
    worker.submit(0)
    with pytest.raises(ZeroDivisionError):
        worker.result()
    worker.submit(4)
    assert worker.result() == 3


def test_a_killed_worker_is_reported() -> None:
    worker = ForkedWorker(divide_twelve)
    assert worker._process.pid is not None
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(NmtkitError, match=r"a worker process \(\d+\) was killed"):
        for _ in range(2):
            worker.submit(1)
            worker.result()


def test_signals_that_stop_a_training_leave_it_to_finish_its_update() -> None:
    worker = ForkedWorker(divide_twelve)
    worker.submit(2)
    assert worker.result() == 6
    assert worker._process.pid is not None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # Ctrl-C reaches the whole group
        os.kill(worker._process.pid, number)
    worker.submit(3)
    assert worker.result() == 4


def test_it_ends_with_the_process_that_started_it() -> None:
    assert_worker_ends_with(HOLDER)


def test_a_program_that_imports_nmtkit_late_ends_with_its_workers() -> None:
    subprocess.run([sys.executable, "-c", ENDING], check=True, timeout=120)


def test_it_ends_with_its_object() -> None:
    worker = ForkedWorker(divide_twelve)
    pid = worker._process.pid
    assert pid is not None and not gone(pid)
    del worker
    assert gone(pid)
