"""A connection of HTTP whose client must send its request in time."""

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEADER_SECONDS = 10.0
"""Time for the header of a request, from the connection or from the first byte after an answer."""


class TimedConnection(H11Protocol):
    """Uvicorn's connection, closed if it does nothing while no request of it is being answered.

    Without it a client that sends nothing, or half a header, holds its connection for ever; so does
    one that sends on the body of a request that was refused. The time for the body of another
    request is a limit of its endpoint.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, or hand the connection over to a WebSocket."""
        super().data_received(data)
        self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._set_timer()

    def _set_timer(self) -> None:
        """Let the timer run as long as a request is awaited; it does not begin anew meanwhile."""
        is_open = self in self.connections  # neither lost nor a WebSocket
        is_waiting = is_open and (self.cycle is None or self.cycle.response_complete)
        if self._timer is not None and not is_waiting:
            self._timer.cancel()
            self._timer = None
        elif self._timer is None and is_waiting:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.timeout_keep_alive_handler)
