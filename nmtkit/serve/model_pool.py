"""The models of all pairs: loading, replacing without a pause, unloading when idle."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmtkit.errors import ModelError
from nmtkit.io.fast_record import FAST_FILE
from nmtkit.io.folder_files import CALIBRATION_FILE
from nmtkit.serve.errors import RequestError
from nmtkit.serve.journal import Journal
from nmtkit.serve.model_process import ModelProcess, Worker, WorkerEnded
from nmtkit.serve.routes import Pair
from nmtkit.serve.settings import ModelSettings

RETRY_SECONDS = 5.0
"""Time after which loading is tried again, when it has failed and no older model is there."""

RELOADING_FILES = (
    "config.toml",
    "params.best.safetensors",
    "params.last.safetensors",
    FAST_FILE,
    CALIBRATION_FILE,
)
"""Files by which a folder is seen to be another one."""


class Generation:
    """One loading of a model: its process, and the workers that are idle.

    :param settings: by which the process has loaded the model; see `model_host.ModelHost`.
    """

    def __init__(self, process: ModelProcess, settings: Mapping[str, Any]) -> None:
        self.process, self._settings = process, settings
        self._on_cpu: ModelProcess | None = None
        self._starting = asyncio.Lock()
        self.pieces = 0
        self.is_old = False
        self._idle: list[Worker] = []

    async def take_worker(self) -> Worker:
        """Return an idle worker that was not killed meanwhile, or a new one.

        :raises WorkerEnded: the host has ended.
        """
        self.pieces += 1
        while self._idle:
            worker = self._idle.pop()
            if not worker.has_ended:
                return worker
            worker.writer.close()
        try:
            return await self.process.new_worker()
        except BaseException:
            self.pieces -= 1
            raise

    async def new_file_worker(self) -> Worker:
        """Return a new worker that is a process: what it parses came from a client.

        :raises WorkerEnded: none can be started.
        """
        self.pieces += 1
        try:
            return await (await self._forking_process()).new_worker()
        except BaseException:
            self.pieces -= 1
            raise

    async def _forking_process(self) -> ModelProcess:
        """Return the model's process, or one with the same model on the CPU if that cannot fork.

        It is loaded for the first file. A fork of a process that uses a GPU cannot use it, and a
        thread cannot be limited or killed.
        """
        if self.process.forks:
            return self.process
        async with self._starting:
            if self._on_cpu is None or not self._on_cpu.is_running:
                try:
                    self._on_cpu = await ModelProcess.start({**self._settings, "device": "cpu"})
                except (ModelError, OSError) as error:
                    raise WorkerEnded from error
            return self._on_cpu

    def give_back(self, worker: Worker | None) -> None:
        """Take back a worker after a piece; None if it has ended."""
        self.pieces -= 1
        if worker is not None:
            self._idle.append(worker)

    async def end(self) -> None:
        """End all processes."""
        for worker in self._idle:
            worker.writer.close()
        self._idle.clear()
        await self.process.end()
        if self._on_cpu is not None:
            await self._on_cpu.end()


class ServedModel:
    """The model of a pair, whether it is loaded or not.

    pair: source and target language. folders: its folder, or those of an ensemble.

    :param settings: of all models. journal: for what happens.
    """

    def __init__(self, pair: Pair, settings: ModelSettings, journal: Journal) -> None:
        self.pair = pair
        self.folders = settings.folders[pair]
        self.current: Generation | None = None
        self.jobs = 0
        self.last_used = time.monotonic()
        self.loads = 0
        self.failure: str | None = None
        self._failed = 0.0
        self._settings, self._journal = settings, journal
        self._loading: asyncio.Task[None] | None = None
        self._seen: object = None
        self._languages: object = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The pair as in options and metrics: `en-fr`."""
        return "-".join(self.pair)

    @property
    def is_loaded(self) -> bool:
        """Whether pieces can be translated now."""
        return self.current is not None

    @property
    def is_ready(self) -> bool:
        """Whether the model has translated a line, and is loaded or can be loaded."""
        return self.loads > 0 and (self.is_loaded or self.failure is None)

    async def ready(self) -> None:
        """Wait until the model is loaded.

        :raises RequestError: it cannot be loaded.
        """
        if self.current is not None:
            return
        try:
            await asyncio.shield(self.load())
        except ModelError as error:
            sentence = f"the model of {self.name} cannot be loaded now"
            raise RequestError(503, sentence, int(RETRY_SECONDS)) from error

    def load(self) -> "asyncio.Task[None]":
        """Load the model, or another one in its place; requests go on meanwhile.

        :return: the loading, which is shared by all who wait for it. It raises ModelError if the
            model cannot be loaded; an earlier one then stays.
        """
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load())
            self._loading.add_done_callback(_look_at)
        return self._loading

    async def reload(self) -> None:
        """Load the model again if it is loaded; a loading that has begun may have old files.

        :raises ModelError: see `load`.
        """
        if self._loading is not None:
            await asyncio.wait([self._loading])
        if self.is_loaded:
            await self.load()

    async def retry(self) -> None:
        """Load a model that could not be loaded when it was needed, so that it is ready again.

        :raises ModelError: see `load`.
        """
        is_due = time.monotonic() - self._failed >= RETRY_SECONDS
        if self.failure is not None and not self.is_loaded and is_due:
            await self.load()

    async def _load(self) -> None:
        self._seen = self._look()
        settings = self._for_host()
        try:
            process = await ModelProcess.start(settings)
        except (ModelError, OSError) as error:
            self.failure, self._failed = str(error), time.monotonic()
            self._journal.write("model_failed", model=self.name, reason=str(error))
            raise ModelError(str(error)) from error
        self.failure = None
        self.loads += 1
        self._languages = process.facts["languages"]
        old, self.current = self.current, Generation(process, settings)
        self._journal.write("model_loaded", model=self.name, load=self.loads, **process.facts)
        watch = asyncio.create_task(self._watch_host(self.current))
        self._ending.add(watch)
        watch.add_done_callback(self._ending.discard)
        if old is not None:
            self._retire(old)

    def _for_host(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "folders": [str(folder) for folder in self.folders],
            "languages": self._languages,
            "glossaries": {name: str(file) for name, file in settings.glossaries.items()},
            "device": settings.device,
            "params": settings.params,
            "search": dict(settings.search),
            "fast": settings.fast,
            "batch_size": settings.batch_size,
        }

    async def _watch_host(self, generation: Generation) -> None:
        """Load the model again when its host ends by itself."""
        await generation.process.ended()
        if self.current is generation:
            self.current = None
            self._journal.write("host_ended", model=self.name)
            self._retire(generation)
            with contextlib.suppress(ModelError):
                await self.load()

    def _retire(self, generation: Generation) -> None:
        generation.is_old = True
        self.release(generation)

    def release(self, generation: Generation) -> None:
        """End a generation that was replaced, once its last piece is translated."""
        if generation.is_old and not generation.pieces:
            task = asyncio.create_task(generation.end())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def unload(self) -> None:
        """End the model's processes, to be loaded again when it is needed."""
        old, self.current = self.current, None
        if old is not None:
            self._journal.write("model_unloaded", model=self.name)
            self._retire(old)

    def changed_look(self) -> list[object] | None:
        """Return how the files look if another model, which is complete, is there; else None."""
        look = self._look()
        return look if look != self._seen and any(look) else None

    def _look(self) -> list[object]:
        return [_identity(folder / name) for folder in self.folders for name in RELOADING_FILES]

    async def end(self) -> None:
        """End everything."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)
        old, self.current = self.current, None
        if old is not None:
            await old.end()
        await asyncio.gather(*self._ending, return_exceptions=True)


class ModelPool:
    """The models of all pairs.

    :param settings: of the models. journal: for what happens.
    """

    def __init__(self, settings: ModelSettings, journal: Journal) -> None:
        self._settings = settings
        self.models = {pair: ServedModel(pair, settings, journal) for pair in settings.folders}
        self._tending: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load all models, one after another.

        :raises ModelError: one cannot be loaded.
        """
        for model in self.models.values():
            await model.load()
        self._tending = asyncio.create_task(self._tend())

    async def _tend(self) -> None:
        """Replace and unload models as their folders and their use say."""
        periods = (self._settings.watch, self._settings.unload_idle / 2, RETRY_SECONDS)
        interval = min(seconds for seconds in periods if seconds > 0)
        looks: dict[Pair, list[object]] = {}
        while True:
            await asyncio.sleep(interval)
            for pair, model in self.models.items():
                self._unload_if_idle(model)
                await asyncio.gather(model.retry(), return_exceptions=True)
                if not self._settings.watch or not model.is_loaded:
                    continue
                if (look := model.changed_look()) is not None:
                    if looks.get(pair) == look:  # nothing is being copied any more
                        await asyncio.gather(model.load(), return_exceptions=True)
                    looks[pair] = look

    def _unload_if_idle(self, model: ServedModel) -> None:
        limit = self._settings.unload_idle
        idle = time.monotonic() - model.last_used
        if limit and model.is_loaded and not model.jobs and idle > limit:
            model.unload()

    async def reload(self) -> None:
        """Load all models again that are loaded now; those that fail stay as they are."""
        for model in self.models.values():
            await asyncio.gather(model.reload(), return_exceptions=True)

    async def end(self) -> None:
        """End all processes."""
        if self._tending is not None:
            self._tending.cancel()
            await asyncio.gather(self._tending, return_exceptions=True)
        await asyncio.gather(*(model.end() for model in self.models.values()))


def _identity(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


def _look_at(task: "asyncio.Task[None]") -> None:
    """Take note of a loading's error, which was written to the log."""
    if not task.cancelled():
        task.exception()
