"""A worker in a fork of this process, which shares the memory that it was given.

It is for work that must start within milliseconds and needs what this process has in memory, such
as a model whose parameters both share. Requests and results travel pickled through a pipe. The
worker ends when its pipe ends, and when the calling process is killed. `fork.py` says when a
process can be forked; `background.py` has the worker for all other cases.
"""

import contextlib
import functools
import math
import mmap
import multiprocessing
import pickle
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from nmtkit.errors import NmtkitError, worker_killed
from nmtkit.parallel.fork import outcome_of, start_fork

Request = TypeVar("Request")
Result = TypeVar("Result")

ALIGNMENT = 16
"""Float32 numbers at whose multiples a shared tensor starts: 64 bytes, a cache line."""


def shared_tensors(shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return zero tensors in one block of memory that this process shares with its later forks.

    The block is anonymous, so that it may exceed the space of /dev/shm.

    :return: float32 tensors, one for each shape.
    """
    sizes = [math.prod(shape) for shape in shapes]
    rooms = [-(-size // ALIGNMENT) * ALIGNMENT for size in sizes]
    block = torch.frombuffer(mmap.mmap(-1, max(4 * sum(rooms), 4)), dtype=torch.float32)
    parts = torch.split(block[: sum(rooms)], rooms)
    return [
        part[:size].view(tuple(shape))
        for part, size, shape in zip(parts, sizes, shapes, strict=True)
    ]


class ForkedWorker(Generic[Request, Result]):
    """Calls a function in a fork of this process, one request at a time.

    It sees all objects as they are now; only what is in shared memory changes for both.
    """

    def __init__(self, function: Callable[[Request], Result]) -> None:
        self._connection, other = multiprocessing.Pipe()
        # It ignores stop signals: the calling process may need a last result.
        self._process = start_fork(_serve, function, other, self._connection)
        other.close()
        # at exit before `multiprocessing` waits for its processes; in no other fork
        Finalize(self, _end, (self._process, self._connection), exitpriority=0)

    def submit(self, request: Request) -> None:
        """Let the worker begin with a request; the result of the one before must have been read.

        :raises NmtkitError: the worker was killed.
        """
        try:
            self._connection.send_bytes(pickle.dumps(request))
        except OSError as error:
            raise self._killed() from error

    def result(self) -> Result:
        """Wait for the result of the last request.

        :raises NmtkitError: the worker was killed; or an error that the function raised.
        """
        try:
            succeeded, value = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise self._killed() from error
        if not succeeded:
            raise value
        result: Result = value
        return result

    def _killed(self) -> NmtkitError:
        return worker_killed("start again with more memory", self._process.pid)


def _end(process: BaseProcess, connection: Connection) -> None:
    """End the worker, whatever it does."""
    connection.close()
    process.kill()
    process.join()


def _serve(function: Callable[[Any], Any], connection: Connection, other_end: Connection) -> None:
    """Answer requests until the pipe ends; the fork's main function."""
    other_end.close()
    with contextlib.suppress(EOFError, OSError):
        while True:
            request = pickle.loads(connection.recv_bytes())
            answer = outcome_of(functools.partial(function, request))
            connection.send_bytes(pickle.dumps(answer))
