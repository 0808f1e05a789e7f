"""The engine: takes lines, lets workers translate them, and gives back the results.

It has nothing to do with HTTP. Each core has one worker at work, whatever the model; when a worker
is free, the scheduler says which lines it gets.
"""

import asyncio
import contextlib
import functools
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from nmtkit.serve.errors import RequestError, stopping
from nmtkit.serve.file_engine import FileEngine
from nmtkit.serve.job import Job, Key
from nmtkit.serve.journal import Journal
from nmtkit.serve.metrics import Metrics
from nmtkit.serve.model_pool import ModelPool, ServedModel
from nmtkit.serve.model_process import Worker, WorkerEnded
from nmtkit.serve.results import LineResult, empty_result
from nmtkit.serve.routes import Pair, Route
from nmtkit.serve.scheduler import MAX_LINES, Piece, Rates, Scheduler, Waiting
from nmtkit.serve.settings import Limits, ModelSettings
from nmtkit.serve.task import Task

LINE_SIZE = 8
"""Characters by which a line costs more than those it has."""

MAX_ATTEMPTS = 2
"""How often a line is given to a worker."""

GATHER_SECONDS, GATHER_SHARE, GATHER_STEP = 0.05, 0.2, 0.001
"""Time to wait for the next lines of clients who were answered at the same moment: so many seconds,
and this share of the time of their piece, at most."""

ABANDONED_SECONDS = 1.0
"""Time that a worker has to finish a piece that nobody waits for; then it is killed."""

ThePiece = Piece[Key, Job]


@dataclass(eq=False)
class PieceInProgress:
    """A piece that is being translated, by which worker, and the task that waits for it.

    is_abandoned: its worker was killed, as nobody waits for it.
    """

    piece: ThePiece
    worker: Worker | None = None
    task: "asyncio.Task[None] | None" = None
    is_abandoned: bool = False


class Engine:
    """Translates lines of many clients with the models of many pairs.

    :param settings: of the models. limits: of the queue and of time. journal, metrics: for what
        happens.
    """

    def __init__(
        self, settings: ModelSettings, limits: Limits, journal: Journal, metrics: Metrics
    ) -> None:
        self.pool = ModelPool(settings, journal)
        self._routes = settings.routes
        self._limits, self._journal, self._metrics = limits, journal, metrics
        for model in self.pool.models.values():
            metrics.worker_ends.add(model.name, amount=0)  # an alert needs a value to begin with
        self._scheduler: Scheduler[Key, Job] = Scheduler()
        self._rates: Rates[Key] = Rates()
        self._free = self._cores = settings.cores
        self._files = FileEngine(settings.cores, limits.file_seconds, journal, metrics)
        self._changed = asyncio.Event()
        self._jobs: set[Job] = set()
        self._running: set[PieceInProgress] = set()
        self._loads: dict[asyncio.Task[None], Job] = {}
        self._dispatcher: asyncio.Task[None] | None = None
        self._gathered = 0
        self._gather_until = 0.0

    async def start(self) -> None:
        """Load the models and begin to serve.

        :raises ModelError: one cannot be loaded.
        """
        await self.pool.start()
        self._dispatcher = asyncio.create_task(self._dispatch())

    def refuse_all(self) -> None:
        """End all requests that are not answered yet, because the server stops."""
        for job in list(self._jobs):
            job.fail(stopping())
        self._files.stop()

    async def end(self) -> None:
        """End all work and all processes."""
        self.refuse_all()
        if self._dispatcher is not None:
            self._dispatcher.cancel()
            await asyncio.gather(self._dispatcher, return_exceptions=True)
        tasks = [work.task for work in self._running if work.task is not None]
        tasks += self._loads
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.pool.end()

    @property
    def is_ready(self) -> bool:
        """Whether every model has translated a line, and can do so again if it is not loaded."""
        return all(model.is_ready for model in self.pool.models.values())

    @property
    def jobs(self) -> int:
        """Texts and files at work or waiting; a request may have many texts."""
        return len(self._jobs) + self._files.requests

    @property
    def waiting_lines(self) -> int:
        """Lines that wait for a worker, or for their model."""
        return self._scheduler.lines + sum(len(job.lines) for job in self._unloaded_jobs())

    def submit(
        self,
        pair: Pair,
        lines: Sequence[str],
        task: Task,
        client: Hashable,
        prefixes: Sequence[str] | None = None,
    ) -> Job:
        """Begin to translate lines, within the time limit, which includes the model's loading.

        :param pair: of one model or of two in turn, or a language twice: lines stay as they are.
        :param lines: of text; those without words have an empty translation.
        :param client: who asks; clients are served in turns.
        :param prefixes: the beginning of each translation.
        :return: the job, whose results can be read; it ends when its reader stops reading.
        :raises RequestError: the queue is full, or the task has terms that cannot be applied.
        """
        route = self._route(pair, task)
        job = Job(route, task, lines, prefixes, client)
        if not route:
            for index, line in enumerate(lines):
                job.answer(index, empty_result(task, line))
            return job
        self._check_queue(job)
        seconds = self._limits.seconds
        timer = asyncio.get_running_loop().call_later(seconds, job.expire, seconds)
        self._jobs.add(job)
        models = self._models(route)
        for model in models:
            model.jobs += 1
        job.on_close = lambda: self._close(job, models, timer)
        if all(model.is_loaded for model in models):
            self._put(job)
        else:
            load = asyncio.create_task(self._put_when_loaded(job, models))
            self._loads[load] = job
            load.add_done_callback(self._loads.pop)
        return job

    def _unloaded_jobs(self) -> list[Job]:
        """Return the jobs whose model is being loaded."""
        return [job for job in self._loads.values() if not job.is_closed]

    async def _put_when_loaded(self, job: Job, models: Sequence[ServedModel]) -> None:
        try:
            for model in models:
                await model.ready()
        except Exception as error:
            job.fail(error)
        else:
            self._put(job)

    async def translate_files(
        self, pair: Pair, name: str, contents: Sequence[bytes], task: Task, client: str
    ) -> list[bytes]:
        """Translate files, with each model in one process of its own; see `FileEngine.translate`.

        :param pair: of one model or of two in turn, or a language twice: files stay as they are.
        """
        route = self._route(pair, task)
        if not route:
            return list(contents)
        return await self._files.translate(self._models(route), name, contents, task, client)

    def _route(self, pair: Pair, task: Task) -> Route:
        """Return the pairs of the models that translate a pair in turn, none for a language twice.

        :raises RequestError: the task has terms, and the models translate through a third language.
        """
        route = self._routes.get(pair, ())
        assert route or pair[0] == pair[1], pair
        if len(route) > 1 and (task.terms or task.glossary is not None):
            raise RequestError(
                400,
                f"{'-'.join(pair)} is translated through {route[0][1]}, where terms cannot be"
                " applied; leave out terms and glossary, or use a server with a model of the pair",
            )
        return route

    def _models(self, route: Route) -> list[ServedModel]:
        return [self.pool.models[pair] for pair in route]

    def _check_queue(self, job: Job) -> None:
        waiting = self._scheduler.size + sum(job.characters for job in self._unloaded_jobs())
        if waiting and waiting + job.characters > self._limits.queue:
            self._metrics.rejected.add("queue")
            seconds = 1 + int(self._rates.seconds((job.keys[0][0], Task()), waiting) / self._cores)
            raise RequestError(503, "the server has too much to do; try again later", seconds)

    def _put(self, job: Job) -> None:
        for index in range(len(job.lines)):
            self._put_line(job, index)
        self._changed.set()

    def _put_line(self, job: Job, index: int) -> None:
        """Let a line wait for its model; one without words needs none."""
        if job.is_closed:
            return
        text, key = job.text(index), job.key(index)
        if text.strip():
            self._scheduler.put(key, Waiting(job, index, len(text) + LINE_SIZE))
        else:
            self._take(job, index, empty_result(key[1], job.prefix(index)))

    def _take(self, job: Job, index: int, result: LineResult) -> None:
        """Give a line the result of its model, and let it wait for the next one if there is one."""
        if job.take(index, result):
            self._put_line(job, index)

    def _close(self, job: Job, models: Sequence[ServedModel], timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        self._jobs.discard(job)
        for model in models:
            model.jobs -= 1
            model.last_used = time.monotonic()
        for key in job.keys:
            self._scheduler.remove(key, job)
        for work in self._running:
            if all(line.request.is_closed for line in work.piece.lines):
                asyncio.get_running_loop().call_later(ABANDONED_SECONDS, self._abandon, work)

    def _abandon(self, work: PieceInProgress) -> None:
        """Kill a worker that still translates what nobody waits for."""
        if work in self._running and work.worker is not None:
            work.is_abandoned = True
            work.worker.kill()

    async def _dispatch(self) -> None:
        """Give pieces to free workers."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._free and self._scheduler.lines:
                await self._gather()
                piece = self._scheduler.take(self._rates, self._free)
                if piece is None:
                    break
                self._free -= 1
                work = PieceInProgress(piece)
                self._running.add(work)
                work.task = asyncio.create_task(self._run(work))
                work.task.add_done_callback(functools.partial(self._finish, work))

    async def _gather(self) -> None:
        """Wait a moment for the next lines of those who were answered together.

        Programs send their next sentence when they have the answer to the last; searched together,
        all are answered sooner.
        """
        while self._scheduler.lines < self._gathered and time.monotonic() < self._gather_until:
            await asyncio.sleep(GATHER_STEP)
        self._gathered = 0

    def _finish(self, work: PieceInProgress, task: "asyncio.Task[None]") -> None:
        self._running.discard(work)
        self._free += 1
        self._changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._journal.write("engine_error", reason=repr(error))
            self._retry(work.piece, "the server made an error")

    async def _run(self, work: PieceInProgress) -> None:
        """Translate a piece, and give its lines their results."""
        piece, model = work.piece, self.pool.models[work.piece.key[0]]
        generation = model.current
        if generation is None:  # its host has just ended
            return await self._run_when_loaded(piece, model)
        try:
            work.worker = await generation.take_worker()
        except WorkerEnded:
            model.release(generation)
            return self._retry(piece, "its worker could not be started")
        is_alive = False
        try:
            answer = await work.worker.answer(_message(piece))
            is_alive = True
        except WorkerEnded:
            if not work.is_abandoned:
                self._journal.write("worker_ended", model=model.name, pid=work.worker.pid)
                self._metrics.worker_ends.add(model.name)
            return self._retry(piece, "its worker ended")
        finally:
            if not is_alive:
                work.worker.writer.close()
            generation.give_back(work.worker if is_alive else None)
            model.release(generation)
        self._answer(piece, answer)

    async def _run_when_loaded(self, piece: ThePiece, model: ServedModel) -> None:
        with contextlib.suppress(RequestError):
            await model.ready()
        self._retry(piece, "its model was being loaded")

    def _learn(self, piece: ThePiece, texts: Sequence[str], seconds: float) -> None:
        self._rates.add(piece, seconds)
        self._metrics.translated(piece.key[0], texts, seconds)
        requests = len({id(line.request) for line in piece.lines})
        if requests > 1:
            self._gathered = min(requests, MAX_LINES)
            self._gather_until = time.monotonic() + min(GATHER_SECONDS, GATHER_SHARE * seconds)

    def _answer(self, piece: ThePiece, answer: dict[str, Any]) -> None:
        if "results" in answer:
            results: list[LineResult] = answer["results"]
            texts, seconds = _texts(piece), answer["seconds"]
            pairs = list(zip(piece.lines, results, strict=True))  # all or none is answered
            for line, result in pairs:
                self._take(line.request, line.position, result)
            self._learn(piece, texts, seconds)
        elif not answer["is_bug"]:
            self._refuse(piece, answer["error"])
        else:
            reason = answer["error"]
            self._journal.write("worker_error", reason=reason, traceback=answer["traceback"])
            self._retry(piece, "it could not be translated")

    def _refuse(self, piece: ThePiece, reason: str) -> None:
        """Fail a request that cannot be translated; of several, find it by trying lines alone."""
        requests = {line.request for line in piece.lines}
        if len(requests) > 1:
            return self._retry(piece, reason)
        requests.pop().fail(RequestError(400, reason))

    def _retry(self, piece: ThePiece, reason: str) -> None:
        """Let the lines of a piece wait again, each alone, or fail those that have failed twice."""
        for line in reversed(piece.lines):
            job = line.request
            job.attempts[line.position] += 1
            if job.is_closed:
                continue
            if job.attempts[line.position] >= MAX_ATTEMPTS:
                sentence = f"line {line.position + 1} was not translated: {reason}"
                job.fail(RequestError(503, sentence, 5))
            else:
                self._scheduler.put(piece.key, line._replace(alone=True), first=True)
        self._changed.set()


def _message(piece: ThePiece) -> dict[str, object]:
    """Return a piece as workers read it."""
    prefixes = [line.request.prefix(line.position) for line in piece.lines]
    return {
        "lines": _texts(piece),
        "prefixes": prefixes if any(prefixes) else None,
        "task": piece.key[1].as_message(),
    }


def _texts(piece: ThePiece) -> list[str]:
    return [line.request.text(line.position) for line in piece.lines]
