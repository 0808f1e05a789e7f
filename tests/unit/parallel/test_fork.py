"""Parallel tasks in processes or threads: results in order, one core each, errors raised."""

import array
import fcntl
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from nmtkit.errors import DataError, NmtkitError
from nmtkit.parallel import fork
from nmtkit.parallel.fork import can_fork, in_processes, in_threads, run_parallel
from tests.unit.parallel.worker_ends import assert_worker_ends_with

HOLDER = """
import os, time
from nmtkit.parallel.fork import in_processes
def long_task():
    print(os.getpid(), flush=True)
    time.sleep(60)
in_processes([lambda: time.sleep(60), long_task])
"""

WAYS = [
    pytest.param(
        in_processes,
        marks=pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux"),
    ),
    in_threads,
]


@pytest.fixture
def three_cores():
    torch.set_num_threads(3)


def squares(count):
    return [functools.partial(pow, n, 2) for n in range(count)]


@pytest.mark.parametrize("way", [*WAYS, run_parallel])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_are_in_the_order_of_tasks(way, count):
    assert way(squares(count)) == [n * n for n in range(count)]


def test_large_results_are_returned_whole():
    tensors = run_parallel([functools.partial(torch.full, (1000, 300), float(n)) for n in range(3)])
    assert [tensor.sum().item() for tensor in tensors] == [0, 300_000, 600_000]


def test_each_task_has_one_core(three_cores):
    assert run_parallel([torch.get_num_threads] * 3) == [1, 1, 1]
    assert torch.get_num_threads() == 3


def test_one_task_has_all_cores(three_cores):
    assert run_parallel([torch.get_num_threads]) == [3]


@pytest.fixture
def forks(monkeypatch):
    """Let `run_parallel` fork, although another test may have left a sleeping thread."""
    if sys.platform != "linux":
        pytest.skip("forks are for Linux")
    monkeypatch.setattr(fork, "can_fork", lambda: True)


def test_processes_compute_at_the_same_time(forks):
    """Before, torch uses threads in this process, which forks do not have."""
    torch.randn(500, 500) @ torch.randn(500, 500)
    ours, theirs = multiprocessing.Pipe()

    def ask():
        ours.send(os.getpid())
        assert ours.poll(30)
        return os.getpid(), ours.recv()

    def answer():
        assert theirs.poll(30)
        asked = theirs.recv()
        theirs.send(torch.ones(300, 300).mm(torch.ones(300, 300))[0, 0].item())
        return os.getpid(), asked

    (first, product), (second, asked) = run_parallel([ask, answer])
    assert first == asked == os.getpid() != second
    assert product == 300


def test_threads_run_the_tasks_if_there_are_other_threads():
    end = threading.Event()
    other = threading.Thread(target=end.wait, daemon=True)
    other.start()
    try:
        assert not can_fork()
        assert run_parallel([os.getpid, os.getpid]) == [os.getpid()] * 2
    finally:
        end.set()
        other.join()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bad", [0, 1])
def test_the_first_error_is_raised(way, bad):
    def task(number):
        if number >= bad:
            raise DataError(f"task {number}")
        return number

    with pytest.raises(DataError, match=f"^task {bad}$"):
        way([functools.partial(task, n) for n in range(3)])
    assert not multiprocessing.active_children()


def test_a_killed_fork_is_reported(forks):
    own = os.getpid()

    def ended():
        assert os.getpid() != own
        os.kill(os.getpid(), signal.SIGKILL)

    tasks: list[Callable[[], Any]] = [int, ended]
    with pytest.raises(NmtkitError, match="was killed"):
        run_parallel(tasks)
    assert not multiprocessing.active_children()


def test_a_fork_killed_while_it_sends_its_result_is_reported(forks):
    child = fork._Fork(functools.partial(bytes, 10_000_000))
    sent = array.array("i", [0])
    while sent[0] < 1000:  # more than the length of the result, and the pipe is full
        fcntl.ioctl(child._results.fileno(), termios.FIONREAD, sent)
    assert child._process.pid is not None
    os.kill(child._process.pid, signal.SIGKILL)
    succeeded, error = child.outcome()
    child.end()
    assert not succeeded and "was killed" in str(error)


@pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")
def test_a_fork_ends_with_the_process_that_started_it():
    assert_worker_ends_with(HOLDER)


STOPPED = """
import os, signal, time
from nmtkit.cli.termination import raise_on_termination
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.{name}))
with raise_on_termination():
    {work}
"""

WORK = {
    "fork": "from nmtkit.parallel.fork import in_processes; print(in_processes([int, int]))",
    "worker": "from nmtkit.parallel.forked_worker import ForkedWorker; w = ForkedWorker(int);"
    " w.submit(0); print(w.result())",
    "pool": "from nmtkit.parallel.process_pool import ProcessPool\n"
    "    with ProcessPool(2) as pool: print(list(pool.imap(abs, [0, 0])))",
}


@pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_stop_signal_to_a_new_fork_raises_nothing_in_it(preloaded, work, name):
    """Those that `timeout` or a terminal sends to the whole group reach forks at any moment."""
    code = STOPPED.format(name=name, work=WORK[work])
    # Where torch is loaded, a pool has other processes than forks.
    command = [sys.executable if work == "pool" else preloaded / "python", "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if name == "SIGTERM" and work != "worker":  # ends the fork, as the calling process wants
        assert "was killed" in ended.stderr and "Terminated: " not in ended.stderr
    else:
        assert (ended.stderr, "0" in ended.stdout) == ("", True)


def test_an_interrupt_ends_the_others(forks):
    def interrupted():
        raise KeyboardInterrupt

    tasks: list[Callable[[], Any]] = [interrupted, functools.partial(time.sleep, 60)]
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_parallel(tasks)
    assert time.monotonic() - begun < 30
    assert not multiprocessing.active_children()
