"""Hosts of models that translate nothing: their workers answer what a test wants."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from nmtkit.errors import ModelError
from nmtkit.serve import model_pool
from nmtkit.serve.model_process import WorkerEnded

Answer = dict[str, Any]


def upper(message: dict[str, Any]) -> Answer:
    """Return lines and files in capitals."""
    if "files" in message:
        return {"contents": message["files"]["contents"]}
    return {"results": [result_of(line.upper()) for line in message["lines"]], "seconds": 0.01}


def result_of(text: str) -> dict[str, Any]:
    """Return the result of a line."""
    result = {"text": text, "alternatives": [], "missing_terms": [], "finished": True, "score": 0.0}
    return {**result, "ranking_scores": [0.0]}


class FakeHosts:
    """Takes the place of `ModelProcess`.

    answer: what a worker answers to a message. failure: why loading fails. starts: settings of all
    loadings. messages: those that workers got. hold_load, hold_answer: seconds.
    """

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], Answer] = upper
        self.failure: str | None = None
        self.forks = True
        self.starts: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.hosts: list[FakeHost] = []
        self.hold_load = self.hold_answer = 0.0

    async def start(self, settings: dict[str, Any]) -> "FakeHost":
        """Load a model."""
        self.starts.append(settings)
        if self.hold_load:
            await asyncio.sleep(self.hold_load)
        if self.failure is not None:
            raise ModelError(self.failure)
        self.hosts.append(FakeHost(self, settings))
        return self.hosts[-1]


class FakeHost:
    """A host. device: of its model."""

    def __init__(self, hosts: FakeHosts, settings: dict[str, Any]) -> None:
        self.all, self.device = hosts, settings["device"]
        self.forks = hosts.forks or self.device == "cpu"
        self.facts: dict[str, Any] = {"forks": self.forks, "languages": [["en", "fr"]]}
        self.is_running = True
        self._gone = asyncio.Event()

    async def new_worker(self) -> "FakeWorker":
        """Start a worker."""
        if not self.is_running:
            raise WorkerEnded
        return FakeWorker(self)

    async def ended(self) -> None:
        """Wait for the end."""
        await self._gone.wait()

    async def end(self) -> None:
        """End; a test calls it, too, for a host that is killed."""
        self.is_running = False
        self._gone.set()


class FakeWorker:
    """A worker of a host. has_ended: a test says that it was killed."""

    def __init__(self, host: FakeHost) -> None:
        self.host, self.pid = host, os.getpid()
        self.has_ended = False
        self.writer = self

    async def answer(self, message: dict[str, Any]) -> Answer:
        """Answer a message."""
        if self.has_ended:
            raise WorkerEnded
        hosts = self.host.all
        hosts.messages.append({**message, "device": self.host.device})
        await asyncio.sleep(hosts.hold_answer)
        return hosts.answer(message)

    def kill(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> FakeHosts:
    """Return the hosts of all servers of a test."""
    fake = FakeHosts()
    monkeypatch.setattr(model_pool, "ModelProcess", fake)
    return fake
