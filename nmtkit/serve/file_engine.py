"""Translation of files: a process for those of each request, within limits of number and time."""

import asyncio
import base64
import time
from collections.abc import Sequence
from typing import Any

from nmtkit.serve.errors import RequestError
from nmtkit.serve.journal import Journal
from nmtkit.serve.metrics import Metrics
from nmtkit.serve.model_pool import Generation, ServedModel
from nmtkit.serve.model_process import Worker, WorkerEnded
from nmtkit.serve.task import Task
from nmtkit.serve.time_limits import TimeLimits

MAX_REQUESTS = 100
"""Requests with files at work or waiting; as many are at work as there are cores."""


class FileEngine:
    """Lets workers of their own translate files.

    :param cores: requests that are at work at a time. seconds: time limit of each.
    """

    def __init__(self, cores: int, seconds: float, journal: Journal, metrics: Metrics) -> None:
        self._seconds, self._journal, self._metrics = seconds, journal, metrics
        self._places = asyncio.Semaphore(cores)
        self._time_limits = TimeLimits()

    @property
    def requests(self) -> int:
        """Requests at work or waiting."""
        return len(self._time_limits)

    async def translate(
        self, model: ServedModel, name: str, contents: Sequence[bytes], task: Task
    ) -> list[bytes]:
        """Translate files in one process.

        :param name: of the files; only its ending counts.
        :raises RequestError: one cannot be read, they take too long, or too many are at work.
        """
        if self.requests >= MAX_REQUESTS:
            self._metrics.rejected.add("files")
            raise RequestError(503, "too many files are being translated; try again later", 30)
        too_slow = (
            f"the file was not translated within {self._seconds:g} seconds, with the time that it"
            " waited for others; try again later, or send a part of it"
        )
        limit = self._time_limits.limit(self._seconds, too_slow)
        model.jobs += 1
        try:
            async with limit, self._places:
                await model.ready()
                answer = await self._answer(model, name, contents, task)
        except WorkerEnded as error:
            raise RequestError(413, "the file needs too much memory; send a part of it") from error
        finally:
            model.jobs -= 1
            model.last_used = time.monotonic()
        return self._contents_of(answer)

    def stop(self) -> None:
        """End all work: the server stops."""
        self._time_limits.stop()

    async def _answer(
        self, model: ServedModel, name: str, contents: Sequence[bytes], task: Task
    ) -> dict[str, Any]:
        """Let a worker of its own translate; it is killed when it is done or not needed."""
        generation = model.current
        if generation is None:
            raise RequestError(503, "the model is being loaded; try again later", 5)
        encoded = [base64.b64encode(content).decode("ascii") for content in contents]
        files = {"name": name[-100:], "contents": encoded}
        try:
            worker = await self._new_worker(generation)
            try:
                return await worker.answer({"files": files, "task": task.as_message()})
            finally:
                worker.kill()
                worker.writer.close()
                generation.give_back(None)
        finally:
            model.release(generation)

    async def _new_worker(self, generation: Generation) -> Worker:
        try:
            return await generation.new_file_worker()
        except WorkerEnded as error:
            raise RequestError(503, "no file can be translated now; try again later", 5) from error

    def _contents_of(self, answer: dict[str, Any]) -> list[bytes]:
        if "contents" in answer:
            return [base64.b64decode(content) for content in answer["contents"]]
        if answer["is_bug"]:
            self._journal.write(
                "worker_error", reason=answer["error"], traceback=answer["traceback"]
            )
            raise RequestError(422, "the file could not be translated; is it damaged?")
        raise RequestError(400, answer["error"])
