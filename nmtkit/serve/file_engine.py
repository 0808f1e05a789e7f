"""Translation of files: processes for those of each request, within limits of number and time."""

import base64
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nmtkit.serve.errors import RequestError
from nmtkit.serve.journal import Journal
from nmtkit.serve.metrics import Metrics
from nmtkit.serve.model_pool import Generation, ServedModel
from nmtkit.serve.model_process import Worker, WorkerEnded
from nmtkit.serve.task import Task
from nmtkit.serve.time_limits import TimeLimits
from nmtkit.serve.turns import ClientTurns

MAX_REQUESTS = 100
"""Requests with files at work or waiting; as many are at work as there are cores."""

MAX_OF_CLIENT = 50
"""Those of one client, so that others find room."""


class FileEngine:
    """Lets workers of their own translate files.

    :param cores: requests that are at work at a time. seconds: time limit of each.
    """

    def __init__(self, cores: int, seconds: float, journal: Journal, metrics: Metrics) -> None:
        self._seconds, self._journal, self._metrics = seconds, journal, metrics
        self._places = ClientTurns(cores)
        self._clients: Counter[str] = Counter()
        self._time_limits = TimeLimits()

    @property
    def requests(self) -> int:
        """Requests at work or waiting."""
        return len(self._time_limits)

    async def translate(
        self,
        models: Sequence[ServedModel],
        name: str,
        contents: Sequence[bytes],
        task: Task,
        client: str,
    ) -> list[bytes]:
        """Translate files, with each model in one process, one after the other.

        :param models: those that translate in turn. name: of the files; only its ending counts.
            client: who sent them; clients take turns.
        :raises RequestError: one cannot be read, they take too long, or too many are at work.
        """
        if self.requests >= MAX_REQUESTS or self._clients[client] >= MAX_OF_CLIENT:
            self._metrics.rejected.add("files")
            raise RequestError(503, "too many files are being translated; try again later", 30)
        too_slow = (
            f"the file was not translated within {self._seconds:g} seconds, with the time that it"
            " waited for others; try again later, or send a part of it"
        )
        limit = self._time_limits.limit(self._seconds, too_slow)
        files = _message(models, name, contents)
        for model in models:
            model.jobs += 1
        self._clients[client] += 1
        try:
            async with limit, self._places.place(client):
                for model in models:  # so that none works in vain
                    await model.ready()
                for model in models:
                    await model.ready()  # its host may have ended meanwhile
                    step = {**files, "is_last": model is models[-1]}
                    files = {**files, **self._checked(await self._answer(model, step, task))}
        except WorkerEnded as error:
            raise RequestError(413, "the file needs too much memory; send a part of it") from error
        finally:
            self._clients -= Counter([client])
            for model in models:
                model.jobs -= 1
                model.last_used = time.monotonic()
        return [base64.b64decode(content) for content in files["contents"]]

    def stop(self) -> None:
        """End all work: the server stops."""
        self._time_limits.stop()

    async def _answer(
        self, model: ServedModel, files: Mapping[str, Any], task: Task
    ) -> dict[str, Any]:
        """Let a worker of its own translate; it is killed when it is done or not needed."""
        generation = model.current
        if generation is None:
            raise RequestError(503, "the model is being loaded; try again later", 5)
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

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer that is no error.

        :raises RequestError: it is one.
        """
        if "error" not in answer:
            return answer
        if answer["is_bug"]:
            self._journal.write(
                "worker_error", reason=answer["error"], traceback=answer["traceback"]
            )
            raise RequestError(422, "the file could not be translated; is it damaged?")
        raise RequestError(400, answer["error"])


def _message(models: Sequence[ServedModel], name: str, contents: Sequence[bytes]) -> dict[str, Any]:
    """Return files as the first worker reads them; see `document.translate_files`."""
    encoded = [base64.b64encode(content).decode("ascii") for content in contents]
    languages = models[0].pair[0], models[-1].pair[1]
    return {"name": name[-100:], "contents": encoded, "languages": languages, "texts": None}
