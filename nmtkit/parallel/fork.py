"""Several CPU cores for work that falls into independent parts.

Torch divides single operations between cores, which gains little where they are as small as those
of search. Where there are parts enough, each core gets parts of its own instead: in a process, as
threads would take turns at running Python. A process is a fork of this one, which has everything
that the work needs and costs milliseconds; only results travel, pickled, through a pipe of its own.
A fork has but the thread that asked for it, so that a lock which another thread held would stay
locked; where there are other threads, as in one of several ranks (`ranks.py`), or the system does
not fork safely, threads do the work.
"""

import contextlib
import multiprocessing
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import torch

from nmtkit.errors import NmtkitError

Result = TypeVar("Result")


def run_parallel(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Do tasks at the same time, each on one core; one alone has them all.

    :param tasks: their results, and the errors that they raise, are such as can be pickled; what
        else they change is changed in their own process or in this one: nobody may rely on it.
    :return: in the order of the tasks.
    :raises NmtkitError: a process was ended from outside. Of the errors of tasks that of the first
        which has one is raised, after all have ended.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    with _one_core_each():
        return in_processes(tasks) if can_fork() else in_threads(tasks)


def can_fork() -> bool:
    """Whether a copy of this process can work on: see the top of this file."""
    joined = torch.distributed.is_available() and torch.distributed.is_initialized()
    return sys.platform == "linux" and threading.active_count() == 1 and not joined


def in_processes(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Do the first task here and each other in a fork of this process; see `run_parallel`."""
    others = [_Forked(task) for task in tasks[1:]]
    try:
        outcomes = [_outcome(tasks[0]), *(other.outcome() for other in others)]
    finally:
        for other in others:
            other.end()
    return _results(outcomes)


def in_threads(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Do the first task here and each other in a thread; see `run_parallel`."""
    outcomes: dict[int, tuple[bool, Any]] = {}

    def do(number: int) -> None:
        torch.set_num_threads(1)  # holds for the thread that says so
        outcomes[number] = _outcome(tasks[number])

    others = [
        threading.Thread(target=do, args=(number,), daemon=True) for number in range(1, len(tasks))
    ]
    for thread in others:
        thread.start()
    do(0)  # in the thread that hears Ctrl-C
    for thread in others:
        thread.join()
    return _results([outcomes[number] for number in range(len(tasks))])


class _Forked:
    """A fork of this process at work on a task."""

    def __init__(self, task: Callable[[], Any]) -> None:
        context = multiprocessing.get_context("fork")
        self._results, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_send_outcome, args=(task, sender), daemon=True)
        with warnings.catch_warnings():
            # Python counts OpenMP's threads among those that could hold a lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        sender.close()

    def outcome(self) -> tuple[bool, Any]:
        """Wait for what `_outcome` gave there."""
        try:
            outcome: tuple[bool, Any] = pickle.loads(self._results.recv_bytes())
        except EOFError:
            return False, NmtkitError(
                "a worker process was ended from outside, for want of memory perhaps;"
                " try again with --threads 1"
            )
        return outcome

    def end(self) -> None:
        """End it, if it is still at work, and forget it."""
        self._process.terminate()
        self._process.join()
        self._results.close()


def _send_outcome(task: Callable[[], Any], sender: Connection) -> None:
    """The whole life of a fork."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the first process's affair
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with contextlib.suppress(BrokenPipeError):  # it is gone
        sender.send_bytes(pickle.dumps(_outcome(task)))


def _outcome(task: Callable[[], Result]) -> tuple[bool, Any]:
    """Whether the task ended well; its result or its error."""
    try:
        return True, task()
    except Exception as error:
        return False, error


def _results(outcomes: Sequence[tuple[bool, Any]]) -> list[Any]:
    for well, value in outcomes:
        if not well:
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
