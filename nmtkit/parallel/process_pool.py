"""A pool of local worker processes that returns results in the order of the items."""

import itertools
import multiprocessing
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self, TypeAlias, TypeVar

from nmtkit.errors import worker_killed
from nmtkit.parallel.background import BackgroundWorker
from nmtkit.parallel.environment import may_fork
from nmtkit.parallel.fork_start import TERMINAL_SIGNALS, begin_fork, stop_signals_held

Item = TypeVar("Item")
Result = TypeVar("Result")

Call: TypeAlias = tuple[Callable[[Any], Any], Any]
"""A function at the top level of a module, and its argument."""

_ITEMS_PER_PROCESS = 4
"""Items in progress, or finished and not yet read, per process; it bounds the memory used."""


class ProcessPool:
    """Worker processes that start when they are first needed and end with the block.

    :param count: number of processes; with 1 all work is done in the calling process.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | _NewProcesses | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def imap(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield the results of `map(function, items)` in order, computed by all processes.

        A single item is processed in the calling process if no worker has started yet.

        :param function: defined at the top level of a module, because it is pickled.
        :param items: read as they are needed, never all at once.
        :raises NmtkitError: a process was killed; errors of `function` are raised unchanged.
        """
        items = iter(items)
        head = list(itertools.islice(items, 2))
        items = itertools.chain(head, items)
        if self._count < 2 or (len(head) < 2 and self._pool is None):
            yield from map(function, items)
            return
        waiting: deque[Future[Result]] = deque()
        pool = self._started()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > _ITEMS_PER_PROCESS * self._count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise worker_killed("try again with fewer --workers") from error
        finally:
            for future in waiting:
                future.cancel()

    def imap_with_items(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[tuple[Item, Result], None, None]:
        """Yield each item with its result, as `imap`."""
        waiting: deque[Item] = deque()

        def remember() -> Generator[Item, None, None]:
            for item in items:
                waiting.append(item)
                yield item

        for result in self.imap(function, remember()):
            yield waiting.popleft(), result

    def _started(self) -> "ProcessPoolExecutor | _NewProcesses":
        """Return the workers: forks, which have at once all that this process has loaded.

        A fork of a process that has run torch or threads can hang.
        """
        if self._pool is None and may_fork() and "torch" not in sys.modules:
            context = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(self._count, context, begin_fork, (TERMINAL_SIGNALS,))
            with stop_signals_held():
                self._pool.submit(int)  # forks all workers
        elif self._pool is None:
            self._pool = _NewProcesses(self._count)
        return self._pool


class _NewProcesses:
    """Worker processes that import only what they need, each behind a thread of this process.

    Workers of `multiprocessing` that are not forks would run the caller's script again.

    :param count: number of processes, which start when they are first needed.
    """

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count)
        self._own = threading.local()

    def submit(self, function: Callable[[Item], Result], item: Item) -> Future[Result]:
        """Let a worker call a function."""
        return self._threads.submit(self._call, function, item)

    def _call(self, function: Callable[[Item], Result], item: Item) -> Result:
        if not hasattr(self._own, "worker"):
            self._own.worker = BackgroundWorker(caller)
        worker: BackgroundWorker[Call, Result] = self._own.worker
        worker.submit((function, item))
        return worker.result()

    def shutdown(self, cancel_futures: bool) -> None:
        """End the workers after what they are doing.

        :param cancel_futures: leave out what they have not begun.
        """
        self._threads.shutdown(cancel_futures=cancel_futures)


def caller() -> Callable[[Call], Any]:
    """Return a function that calls a function, for the worker."""
    return lambda call: call[0](call[1])
