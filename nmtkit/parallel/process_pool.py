"""Work shared among processes, its results in the order of the work."""

import itertools
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Self, TypeVar

from nmtkit.errors import NmtkitError

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 4
"""Items in work, or done and waiting, per process: all that is held in memory at a time."""


class ProcessPool:
    """Processes that share work; they start when there is something to share, and end with it.

    :param count: of processes; with 1 the work is done in this one.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def in_order(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """`map(function, items)` by all processes: the same results in the same order.

        A single item is worked on in this process.

        :param function: at the top level of a module, as it travels to other processes.
        :param items: read as they are needed, never all at once.
        :raises NmtkitError: a process was ended from outside; else what `function` raises.
        """
        items = iter(items)
        head = list(itertools.islice(items, 2))
        items = itertools.chain(head, items)
        if self._count < 2 or len(head) < 2:
            yield from map(function, items)
            return
        waiting: deque[Future[Result]] = deque()
        pool = self._started()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > _AHEAD * self._count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise NmtkitError(
                "a worker process was ended from outside, for want of memory perhaps;"
                " try again with fewer --workers"
            ) from error
        finally:
            for future in waiting:
                future.cancel()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Fresh processes: a copy of one that has run torch or threads can hang.
            fresh = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._count, fresh, _ignore_interrupt)
        return self._pool


def _ignore_interrupt() -> None:
    """Ctrl-C is the main process's affair; it ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
