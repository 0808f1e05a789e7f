"""Work shared among processes, its results in the order of the work."""

import itertools
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from nmtkit.errors import NmtkitError

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 4
"""Items in work or done and waiting, per process: all that is held in memory at a time."""


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """`map(function, items)` in several processes: the same results in the same order.

    A single item, or a single worker, is served in this process.

    :param function: at the top level of a module, as it travels to other processes.
    :param items: read as they are needed, never all at once.
    :raises NmtkitError: a process was ended from outside; else what `function` raises.
    """
    items = iter(items)
    head = list(itertools.islice(items, 2))
    if workers < 2 or len(head) < 2:
        yield from map(function, itertools.chain(head, items))
        return
    # Fresh processes: a copy of one that has run torch or threads can hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _ignore_interrupt)
    try:
        waiting: deque[Future[Result]] = deque()
        for item in itertools.chain(head, items):
            waiting.append(pool.submit(function, item))
            if len(waiting) > _AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise NmtkitError(
            "a worker process was ended from outside, for want of memory perhaps;"
            " try again with fewer --workers"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupt() -> None:
    """Ctrl-C is the main process's affair; it ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
