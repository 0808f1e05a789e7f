"""Connections whose client must send its request, and read its answer, in time."""

import asyncio
import json
from http import HTTPStatus
from operator import itemgetter
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

HEADER_SECONDS = 10.0
"""Time for the header of a request, from the connection or from the first byte after an answer."""

PROBE_SECONDS = 0.5
"""Time after which a client that sends no more is asked whether it waits for its answer."""

WRITE_SECONDS = 30.0
"""Time in which a client must read something of what waits for it."""

INVALID = {"error": "the request is not valid HTTP"}
"""Answer to a client that does not speak HTTP."""


class WriteTimer:
    """Ends a connection whose client reads nothing of what waits for it.

    :param transport: of the connection. It tells its protocol whenever something waits.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to wait until the client has read something."""
        loop, waiting = asyncio.get_running_loop(), self._transport.get_write_buffer_size()
        self._handle = loop.call_later(WRITE_SECONDS, self._check, waiting)

    def stop(self) -> None:
        """Stop waiting: the client has read everything, or is gone."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _check(self, before: int) -> None:
        if self._transport.get_write_buffer_size() < before:
            self.start()
        else:
            self._transport.abort()


class LimitsWriting(asyncio.Protocol):
    """A protocol that ends if its client reads nothing of what waits for it.

    Its class calls `watch_writing` when the connection is made.
    """

    _writing: WriteTimer

    def watch_writing(self, transport: asyncio.Transport) -> None:
        """Begin to watch a connection."""
        self._writing = WriteTimer(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._writing.stop()

    def pause_writing(self) -> None:
        """Let the client read."""
        super().pause_writing()
        self._writing.start()

    def resume_writing(self) -> None:
        """Go on, as the client has read everything."""
        super().resume_writing()
        self._writing.stop()


class ConnectionState(ServerState):
    """What uvicorn's connections share.

    :param room: connections that can be open.
    """

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room


class TimedConnection(LimitsWriting, H11Protocol):
    """Uvicorn's connection, closed if it does nothing while no request of it is being answered.

    Without it a client that sends nothing, or half a header, holds its connection for ever; so do
    one that sends on the body of a request that was refused, and one that does not read its answer.
    The time for the body of another request is a limit of its endpoint.

    If there is no room for more connections, a new one replaces the next that would be closed
    without a request, so that `/health` is answered however many connections do nothing.
    """

    def __init__(
        self,
        config: Config,
        server_state: ConnectionState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._room = server_state.room
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self._room:
            self._close_one_that_waits()
        transport.set_write_buffer_limits(high=0)  # `pause_writing` as soon as something waits
        self.watch_writing(transport)
        self.app_state = {**self.app_state, "transport": transport}
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, or hand the connection over to a WebSocket."""
        super().data_received(data)
        self._set_timer()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether the client, which sends no more, may wait for the answer to a request.

        It may have closed only its own half of the connection, as HTTP allows.
        """
        cycle = self.cycle
        if cycle is None or cycle.more_body or cycle.response_complete:
            return False
        if self.scope["http_version"] == "1.0":  # it does not know the probe
            return False
        cycle.keep_alive = False
        self.loop.call_later(PROBE_SECONDS, self._probe)
        return True

    def _probe(self) -> None:
        """Find out whether the client is still there, again and again until its answer begins.

        A client that waits skips this interim answer; the system of one that has left replies with
        a reset, which ends the connection at the next write.
        """
        if self.conn.our_state is h11.SEND_RESPONSE and not self.transport.is_closing():
            probe = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            self.transport.write(self.conn.send(probe) or b"")
            self.loop.call_later(PROBE_SECONDS, self._probe)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._set_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless an answer has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(INVALID).encode()
            headers = [("content-type", "application/json"), ("connection", "close"),
                       ("content-length", str(len(body)))]  # fmt: skip
            for event in (h11.Response(status_code=400, headers=headers, reason="Bad Request"),
                          h11.Data(data=body), h11.EndOfMessage()):  # fmt: skip
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _close_one_that_waits(self) -> None:
        waiting: list[tuple[float, TimedConnection]] = []
        for one in self.connections:
            if isinstance(one, TimedConnection) and not one.transport.is_closing():
                timer = one._timer or one.timeout_keep_alive_task
                if timer is not None:
                    waiting.append((timer.when(), one))
        if waiting:
            min(waiting, key=itemgetter(0))[1].timeout_keep_alive_handler()

    def _set_timer(self) -> None:
        """Let the timer run as long as a request is awaited; it does not begin anew meanwhile."""
        is_open = self in self.connections  # neither lost nor a WebSocket
        is_waiting = is_open and (self.cycle is None or self.cycle.response_complete)
        if self._timer is not None and not is_waiting:
            self._timer.cancel()
            self._timer = None
        elif self._timer is None and is_waiting:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.timeout_keep_alive_handler)


class TimedWebSocket(LimitsWriting, WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket, closed if its handshake is not valid, or its client does not read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over a connection of HTTP, whose transport says when something waits."""
        super().connection_made(transport)
        self.watch_writing(self.transport)

    def data_received(self, data: bytes) -> None:
        """Read the handshake, which is in the first data, or messages.

        Uvicorn neither answers nor closes a connection whose handshake is not valid for the library
        `websockets`: one with a body, or with a header of more than 8 KiB.
        """
        super().data_received(data)
        if not self.handshake_initiated:
            invalid = self.conn.reject(HTTPStatus.BAD_REQUEST, "The handshake is not valid.\n")
            self.transport.write(b"".join(self.conn.data_to_send()) or invalid.serialize())
            self.transport.close()
