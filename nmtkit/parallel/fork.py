"""Independent tasks in parallel, one on each CPU core.

Torch divides single operations between cores, which gains little if they are as small as those of
search. With enough independent tasks it is faster to run one task on each core, in a process of its
own, because Python runs only one thread at a time. The processes are forks of the calling process:
they share all its data and start within milliseconds; only results are pickled and sent back.

A fork has only the thread that called it, so a lock held by another thread would stay locked.
Therefore threads run the tasks if the calling process has other threads, as in a process group
(`process_group.py`), if the system does not fork safely, or in a worker of `multiprocessing.Pool`.
"""

import contextlib
import multiprocessing
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import torch

from nmtkit.errors import worker_killed
from nmtkit.parallel.environment import may_fork
from nmtkit.parallel.fork_start import (
    STOP_SIGNALS,
    TERMINAL_SIGNALS,
    begin_fork,
    stop_signals_held,
)

Result = TypeVar("Result")


def run_parallel(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run tasks in parallel, each on one core; a single task may use all cores.

    :param tasks: their results and errors must be picklable. Side effects of a task may be lost.
    :return: the results in the order of the tasks.
    :raises NmtkitError: a process was killed. If tasks fail, the error of the first one that failed
        is raised after all have ended.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    with _one_core_each():
        return in_processes(tasks) if can_fork() else in_threads(tasks)


def can_fork() -> bool:
    """Return True if forks of this process can run tasks; see the top of this file."""
    in_process_group = torch.distributed.is_available() and torch.distributed.is_initialized()
    return may_fork() and not in_process_group


def in_processes(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run the first task in this process and each other task in a fork; see `run_parallel`."""
    forks = [_Fork(task) for task in tasks[1:]]
    try:
        outcomes = [outcome_of(tasks[0]), *(fork.outcome() for fork in forks)]
    finally:
        for fork in forks:
            fork.end()
    return _results(outcomes)


def in_threads(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run the first task in this thread and each other task in another; see `run_parallel`."""
    outcomes: dict[int, tuple[bool, Any]] = {}

    def run(number: int) -> None:
        torch.set_num_threads(1)  # applies to the calling thread only
        outcomes[number] = outcome_of(tasks[number])

    threads = [
        threading.Thread(target=run, args=(number,), daemon=True) for number in range(1, len(tasks))
    ]
    for thread in threads:
        thread.start()
    run(0)  # in the main thread, which receives Ctrl-C
    for thread in threads:
        thread.join()
    return _results([outcomes[number] for number in range(len(tasks))])


def start_fork(
    function: Callable[..., None],
    *arguments: Any,
    ignored: Collection[signal.Signals] = STOP_SIGNALS,
) -> BaseProcess:
    """Start a fork of this process that calls a function; it ends when this process does.

    :param ignored: stop signals that do nothing there; the others end it at once.
    """
    process = multiprocessing.get_context("fork").Process(
        target=_run_fork, args=(ignored, function, *arguments), daemon=True
    )
    with stop_signals_held(), warnings.catch_warnings():
        # Python warns about OpenMP's threads, too, which hold no lock here.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


def _run_fork(
    ignored: Collection[signal.Signals], function: Callable[..., None], *arguments: Any
) -> None:
    begin_fork(ignored)
    function(*arguments)


class _Fork:
    """A fork of this process that runs a task."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self._results, sender = multiprocessing.Pipe(duplex=False)
        # `end` sends a SIGTERM
        self._process = start_fork(_send_outcome, task, sender, ignored=TERMINAL_SIGNALS)
        sender.close()

    def outcome(self) -> tuple[bool, Any]:
        """Wait for the task to end and return its outcome; see `outcome_of`."""
        try:
            outcome: tuple[bool, Any] = pickle.loads(self._results.recv_bytes())
        except (EOFError, OSError):  # before its outcome was sent, or in the middle
            return False, worker_killed("try again with --threads 1")
        return outcome

    def end(self) -> None:
        """Terminate the process if it still runs, and release it."""
        self._process.terminate()
        self._process.join()
        self._results.close()


def _send_outcome(task: Callable[[], Any], sender: Connection) -> None:
    """Run a task in a fork and send its outcome."""
    with contextlib.suppress(BrokenPipeError):  # the main process has ended
        sender.send_bytes(pickle.dumps(outcome_of(task)))


def outcome_of(task: Callable[[], Result]) -> tuple[bool, Any]:
    """Run a task; return True and its result, or False and its error."""
    try:
        return True, task()
    except Exception as error:
        return False, error


def _results(outcomes: Sequence[tuple[bool, Any]]) -> list[Any]:
    for succeeded, value in outcomes:
        if not succeeded:
            raise value
    return [result for _, result in outcomes]


@contextlib.contextmanager
def _one_core_each() -> Iterator[None]:
    cores = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(cores)
