"""Running the server: the socket, signals, and an end that loses no request."""

import asyncio
import contextlib
import signal
import socket
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import uvicorn

from nmtkit.errors import ConfigError, NmtkitError
from nmtkit.parallel import environment
from nmtkit.serve.app import make_app
from nmtkit.serve.connection import ConnectionState, TimedConnection, TimedWebSocket
from nmtkit.serve.service import Service
from nmtkit.serve.settings import ServerSettings

BACKLOG = 1024
"""Connections that the system keeps until they are accepted."""

ACCEPTED_AT_ONCE = 4
"""Connections that are accepted before those that have to give way are closed."""

SEND_BUFFER_BYTES = 1 << 17
"""Bytes of an answer that the system keeps. With more the server would not see for a long time that
a client reads, though slowly."""

KEEP_ALIVE_SECONDS = 15
"""Time that a connection without a request is kept."""

REFUSE_SECONDS = 5.0
"""Time to tell clients that their requests are not answered, as the server stops."""

REPEAT_SECONDS = 60.0
"""Time until an error of the event loop that comes again is written to the log again."""

MAX_HEADER_BYTES = 16_384
"""Size of the headers of a request."""


def serve(settings: ServerSettings) -> None:
    """Serve until a signal ends it: SIGTERM or Ctrl-C; requests at work are answered before.

    SIGHUP loads the models, their glossaries and the keys again.

    :raises NmtkitError: a model or a file cannot be loaded, or the address cannot be used.
    """
    service = Service(settings)
    listener = listen(settings.host, settings.port)
    with contextlib.closing(listener):
        asyncio.run(Server(service, listener).run())


def check_models(settings: ServerSettings) -> None:
    """Load all that the server would serve, and end.

    :raises NmtkitError: see `serve`.
    """

    async def load() -> None:
        engine = Service(settings).engine
        try:
            await engine.start()
        finally:
            await engine.end()

    asyncio.run(load())


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    :raises ConfigError: the address is not one of this machine, or the port is taken.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{host} port {port}: cannot listen there ({reason}); give another --host or --port"
        ) from error
    # Connections inherit it. Otherwise the end of an answer waits for the client to acknowledge its
    # beginning, 40 ms; asyncio sets it only for sockets that say which protocol they have.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    listener.setblocking(False)
    return listener


class Server(uvicorn.Server):
    """A uvicorn that leaves signals to nmtkit.

    :param service: of the server. listener: the socket.
    """

    def __init__(self, service: Service, listener: socket.socket) -> None:
        limits = service.limits
        super().__init__(
            uvicorn.Config(
                make_app(service),
                log_config=None,
                log_level="critical",
                access_log=False,
                lifespan="off",
                http=TimedConnection,
                ws=TimedWebSocket,
                ws_max_size=limits.body,
                proxy_headers=False,
                server_header=False,
                backlog=ACCEPTED_AT_ONCE,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=5,
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            )
        )
        self.server_state = ConnectionState(service.room)
        self._service, self._listener = service, listener
        self._loop_errors: dict[str, float] = {}
        self._failure: NmtkitError | None = None
        self._draining: asyncio.Task[None] | None = None
        self._stop_echo: environment.SignalEcho | None = None
        self._reloading: asyncio.Task[None] | None = None
        self._must_reload = False

    async def run_here(self) -> None:
        """Serve until `stop` is called.

        Models are loaded meanwhile: requests wait for them, and `/ready` says when they are there.

        :raises ModelError: a model cannot be loaded.
        """
        engine = self._service.engine
        asyncio.get_running_loop().set_exception_handler(self._note_loop_error)
        starting = asyncio.create_task(self._start())
        try:
            await self._serve([self._listener])
        finally:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await engine.end()
        if self._failure is not None:
            raise self._failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections; asyncio has one number for those at once and for the queue.

        :param sockets: that listen.
        """
        await super().startup(sockets)
        self._listener.listen(BACKLOG)

    async def _start(self) -> None:
        try:
            await self._service.engine.start()
        except NmtkitError as error:
            self._failure = error
            self.should_exit = True
            return
        address = self._listener.getsockname()
        self._service.journal.write("ready", host=address[0], port=address[1])

    def _note_loop_error(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        """Write an error of the event loop to the log, but not each time if it comes often."""
        now, message, error = loop.time(), context["message"], context.get("exception")
        if now >= self._loop_errors.get(message, now):
            self._loop_errors[message] = now + REPEAT_SECONDS
            lines = traceback.format_exception(error) if error is not None else []
            self._service.journal.write(
                "loop_error", reason=f"{message}: {error!r}", traceback="".join(lines)
            )

    async def run(self) -> None:  # type: ignore[override]
        """Serve until a signal."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        loop.add_signal_handler(signal.SIGINT, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self.reload)
        await self.run_here()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `run`."""
        yield

    def stop(self) -> None:
        """Refuse new requests, finish those at work, and end; at the second time, end at once.

        A second signal that comes at once is the first one, sent once more.
        """
        if self._stop_echo is None:
            self._stop_echo = environment.SignalEcho()
            self._service.journal.write("stopping", requests=self._service.answering)
            self._service.drain()
            self._draining = asyncio.create_task(self._drain())
        elif not self._stop_echo.lasts():
            self.should_exit = self.force_exit = True

    async def _drain(self) -> None:
        """Wait until all requests are answered; refuse those that take too long."""
        await self._wait_for_answers(self._service.settings.drain)
        self._service.engine.refuse_all()
        await self._wait_for_answers(REFUSE_SECONDS)
        self.should_exit = True

    async def _wait_for_answers(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._service.answering:
                    await asyncio.sleep(0.05)

    def reload(self) -> None:
        """Load models, glossaries and keys again, after a loading of them that has begun."""
        self._must_reload = True
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.create_task(self._reload())

    async def _reload(self) -> None:
        while self._must_reload:
            self._must_reload = False
            await self._reload_once()

    async def _reload_once(self) -> None:
        try:
            self._service.read_keys()
        except NmtkitError as error:
            self._service.journal.write("keys_failed", reason=str(error))
        await self._service.engine.pool.reload()
