"""A worker in another process, which computes one result ahead of its use.

The worker is a new Python that imports only what it needs, so neither the threads of torch nor the
script that called nmtkit matter. Requests and results travel pickled through its stdin and stdout.
It ends when its stdin ends, thus also when the calling process is killed.
"""

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any, BinaryIO, Generic, TypeVar

from nmtkit.errors import NmtkitError, worker_killed

Request = TypeVar("Request")
Result = TypeVar("Result")

_CODE = "import sys; sys.path[:] = {path!r}; from nmtkit.parallel.background import serve; serve()"


class BackgroundWorker(Generic[Request, Result]):
    """Calls a function in another process, one request at a time.

    :param make: called in the worker with `arguments`; returns the function for all requests. It is
        defined at the top level of a module.
    """

    def __init__(self, make: Callable[..., Callable[[Request], Result]], *arguments: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path=import_path())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for the calling process
        )
        weakref.finalize(self, _end, self._process)
        self._send((make.__module__, make.__qualname__, arguments))

    def submit(self, request: Request) -> None:
        """Let the worker begin with a request; the result of the one before must have been read.

        :raises NmtkitError: the worker was killed.
        """
        self._send(request)

    def result(self) -> Result:
        """Wait for the result of the last request.

        :raises NmtkitError: the worker was killed, or an error that the function raised.
        """
        assert self._process.stdout is not None
        try:
            succeeded, value = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            raise self._killed() from error
        if not succeeded:
            raise value
        result: Result = value
        return result

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
        except OSError as error:
            raise self._killed() from error

    def _killed(self) -> NmtkitError:
        return worker_killed("start again with more memory", self._process.pid)


def import_path() -> list[str]:
    """Return the path of imports for a new Python, without entries that import skips."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the worker, whatever it does."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()


def serve() -> None:
    """Answer requests from stdin until it ends; the worker's main function."""
    requests, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no result
    with contextlib.suppress(EOFError, BrokenPipeError):
        module, name, arguments = pickle.load(requests)
        try:
            function = getattr(importlib.import_module(module), name)(*arguments)
        except Exception as error:
            pickle.load(requests)
            _answer(results, (False, error))
            return
        while True:
            request = pickle.load(requests)
            try:
                answer = True, function(request)
            except Exception as error:
                answer = False, error
            _answer(results, answer)


def _answer(results: BinaryIO, answer: tuple[bool, Any]) -> None:
    pickle.dump(answer, results)
    results.flush()
