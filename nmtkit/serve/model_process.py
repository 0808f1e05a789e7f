"""A loaded model as the server sees it: the process of its host, and connections to its workers."""

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from nmtkit.errors import ModelError
from nmtkit.parallel.background import import_path
from nmtkit.serve.messages import exchange_message, read_message

CODE = (
    "import sys; sys.path[:] = {path!r}; from nmtkit.serve.model_host import main; main({number})"
)
"""What the Python of a host runs."""

PYTHON = sys.executable
"""The Python of a host."""

START_SECONDS = 30.0
"""Time for a worker to start, which usually takes milliseconds."""

END_SECONDS = 5.0
"""Time for a host to end its workers and itself; then it is killed."""


class WorkerEnded(Exception):
    """A worker ended before it answered."""


class Worker(NamedTuple):
    """A connection to a worker, the id of its process, and its host."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    pid: int
    host: "ModelProcess"

    @property
    def has_ended(self) -> bool:
        """Whether the worker, which has nothing to do, is known to have ended."""
        return self.reader.at_eof()

    def kill(self) -> None:
        """Let the host kill the worker, whatever it does; a thread goes on to its answer."""
        self.host.kill_worker(self)

    async def answer(self, message: object) -> dict[str, Any]:
        """Return the worker's answer to a piece.

        :raises WorkerEnded: it ended before.
        """
        try:
            answer: dict[str, Any] = await exchange_message(self.reader, self.writer, message)
        except EOFError as error:
            raise WorkerEnded from error
        return answer


class ModelProcess:
    """The process of a model's host.

    facts: on the model, from its host.

    :param process: it. commands: the socket to it.
    """

    def __init__(self, process: asyncio.subprocess.Process, commands: socket.socket) -> None:
        self._process = process
        self._commands = commands
        self.facts: dict[str, Any] = {}

    @classmethod
    async def start(cls, settings: Mapping[str, Any]) -> "ModelProcess":
        """Start a process that loads a model, and wait until it is ready.

        :param settings: see `model_host.ModelHost`.
        :raises ModelError: the model cannot be loaded.
        """
        mine, theirs = socket.socketpair()
        code = CODE.format(path=import_path(), number=theirs.fileno())
        process = await asyncio.create_subprocess_exec(
            PYTHON,
            "-c",
            code,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for the server
        )
        theirs.close()
        model = cls(process, mine)
        try:
            mine.sendall(json.dumps(settings).encode() + b"\n")
            model.facts = await model._wait_until_ready()
        except BaseException:
            await model.end()
            raise
        return model

    async def _wait_until_ready(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # what a library prints
                message = json.loads(line)
                if isinstance(message, dict) and "error" in message:
                    raise ModelError(message["error"])
                if isinstance(message, dict) and "ready" in message:
                    facts: dict[str, Any] = message["ready"]
                    return facts
        raise ModelError("the process that loads the model was killed; is there enough memory?")

    @property
    def is_running(self) -> bool:
        """Whether the host is there to start workers."""
        return self._process.returncode is None

    @property
    def forks(self) -> bool:
        """Whether workers are processes; on a device that forks cannot share they are threads."""
        return bool(self.facts["forks"])

    async def new_worker(self) -> Worker:
        """Let the host start a worker, and connect to it.

        :raises WorkerEnded: the host has ended.
        """
        try:
            mine, theirs = socket.socketpair()
        except OSError as error:  # too many open files
            raise WorkerEnded from error
        try:
            socket.send_fds(self._commands, [b'{"start": true}\n'], [theirs.fileno()])
        except OSError as error:
            mine.close()
            raise WorkerEnded from error
        finally:
            theirs.close()
        reader, writer = await asyncio.open_unix_connection(sock=mine)
        try:
            hello = await asyncio.wait_for(read_message(reader), START_SECONDS)
        except (EOFError, TimeoutError) as error:
            writer.close()
            raise WorkerEnded from error
        except asyncio.CancelledError:
            writer.close()
            raise
        return Worker(reader, writer, hello["pid"], self)

    def kill_worker(self, worker: Worker) -> None:
        """Let the host kill a worker, whatever it does."""
        with contextlib.suppress(OSError):
            self._commands.sendall(f'{{"kill": {worker.pid}}}\n'.encode())

    async def ended(self) -> None:
        """Wait until the host has ended."""
        await self._process.wait()

    async def end(self) -> None:
        """End the host and its workers."""
        self._commands.close()
        try:
            await asyncio.wait_for(self._process.wait(), END_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
