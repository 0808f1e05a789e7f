"""A server of `nmtkit serve` in a thread of the tests, and clients of its sockets."""

import asyncio
import contextlib
import io
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

from nmtkit.serve.routes import Pair
from nmtkit.serve.server import Server, listen
from nmtkit.serve.service import Service
from nmtkit.serve.settings import Limits, ModelSettings, ServerSettings

EN_FR = ("en", "fr")

DEFAULT = Limits()


class Running:
    """A server that runs. log: its events so far."""

    def __init__(self, service: Service, server: Server, port: int, log: io.StringIO) -> None:
        self.service, self.server, self.port = service, server, port
        self._log = log
        self.loop: asyncio.AbstractEventLoop
        self.http = self.client(timeout=30)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, timeout: float = 5) -> httpx.Client:
        """Return a client that loads no certificates, which would take a tenth of a second."""
        return httpx.Client(base_url=self.url, timeout=timeout, verify=False)

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.getvalue().splitlines()]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.log if event["event"] == name]

    def translate(self, **fields: Any) -> httpx.Response:
        fields = {"source": "en", "target": "fr", **fields}
        return self.http.post("/translate", json=fields)

    def text(self, q: Any, **fields: Any) -> Any:
        answer = self.translate(q=q, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()["translatedText"]

    def socket(self, path: str, **settings: Any) -> ClientConnection:
        return connect(f"ws://127.0.0.1:{self.port}{path}", **settings)

    def call(self, function: Any, *arguments: Any) -> None:
        """Call a function in the server's thread."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def call_async(self, function: Any, *arguments: Any) -> None:
        """Call a coroutine function in the server's thread, and wait for its end."""
        asyncio.run_coroutine_threadsafe(function(*arguments), self.loop).result(20)

    def clear_events(self, name: str) -> None:
        """Forget events that a test has expected."""
        kept = [json.dumps(event) for event in self.log if event["event"] != name]
        self._log.seek(0)
        self._log.truncate()
        self._log.write("".join(f"{line}\n" for line in kept))

    def wait_until(self, condition: Any, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.01)


@contextlib.contextmanager
def running(
    model: Path | Mapping[Pair, tuple[Path, ...]],
    limits: Limits = DEFAULT,
    cores: int = 2,
    **settings: Any,  # noqa: B008
) -> Iterator[Running]:
    """Run a server of a model, or of those of several pairs, for the length of the block."""
    model_settings = ModelSettings(
        {EN_FR: (model,)} if isinstance(model, Path) else model,
        pivots=settings.pop("pivots", ()),
        device=settings.pop("device", "cpu"),
        cores=cores,
        watch=0.05,
        glossaries=settings.pop("glossaries", {}),
        unload_idle=settings.pop("unload_idle", 0.0),
        search=settings.pop("search", {}),
    )
    given = ServerSettings(model_settings, limits, port=0)
    log = io.StringIO()
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        service = Service(replace(given, **settings))
        service.journal._stream = log
        server = Server(service, listener)
        found = Running(service, server, listener.getsockname()[1], log)

        async def run() -> None:
            found.loop = asyncio.get_running_loop()
            await server.run_here()

        thread = threading.Thread(target=asyncio.run, args=(run(),))
        thread.start()
        try:
            found.wait_until(lambda: found.events("ready") or not thread.is_alive())
            yield found
        finally:
            found.http.close()
            if thread.is_alive():
                found.call(setattr, server, "should_exit", True)
            thread.join(30)
            assert not thread.is_alive()
    assert not found.events("bug"), found.events("bug")
    assert not found.events("engine_error"), found.events("engine_error")
