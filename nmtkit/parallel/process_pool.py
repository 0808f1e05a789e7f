"""A pool of local worker processes that returns results in the order of the items."""

import itertools
import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Self, TypeVar

from nmtkit.errors import worker_killed
from nmtkit.parallel.environment import is_single_threaded

Item = TypeVar("Item")
Result = TypeVar("Result")

_ITEMS_PER_PROCESS = 4
"""Items in progress, or finished and not yet read, per process; it bounds the memory used."""


class ProcessPool:
    """Worker processes that start when they are first needed and end with the block.

    :param count: number of processes; with 1 all work is done in the calling process.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

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

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("fork" if _can_fork() else "spawn")
            self._pool = ProcessPoolExecutor(self._count, context, _ignore_signals_of_terminal)
        return self._pool


def _can_fork() -> bool:
    """Return whether workers can be forks, which have at once all that this process has loaded.

    A fork of a process that has run torch or threads can hang.
    """
    alone = is_single_threaded() and "torch" not in sys.modules
    return sys.platform == "linux" and alone


def _ignore_signals_of_terminal() -> None:
    """Ignore Ctrl-C and a closed terminal in a worker; the main process then ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
