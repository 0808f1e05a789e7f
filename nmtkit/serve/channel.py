"""A WebSocket whose messages are read ahead, so that its end is noticed while work goes on."""

import asyncio
from collections.abc import AsyncIterator

from starlette.websockets import WebSocket, WebSocketDisconnect

from nmtkit.serve.errors import RequestError

READ_AHEAD = 32
"""Messages that are read before those before them are answered."""

CLOSE_CODES = {413: 1009, 429: 1013, 503: 1013}
"""Codes with which a WebSocket is closed, by the status that HTTP would have; else 1008."""

MAX_REASON = 120
"""Bytes of the reason in a closing message; the protocol allows 123."""


class Channel:
    """An accepted WebSocket.

    :param socket: it.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._messages: asyncio.Queue[str] = asyncio.Queue(READ_AHEAD)
        self._sending = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self.is_open = True
        self.ended = asyncio.Event()

    async def __aenter__(self) -> "Channel":
        await self._socket.accept()
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                text = message.get("text")
                if text is None:
                    text = (message.get("bytes") or b"").decode("utf-8", "replace")
                await self._messages.put(text)
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            self.is_open = False
            self.ended.set()

    async def messages(self) -> AsyncIterator[str]:
        """Yield the messages until the client leaves."""
        ended = asyncio.create_task(self.ended.wait())
        try:
            while True:
                reading = asyncio.create_task(self._messages.get())
                await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    reading.cancel()
                    return
                yield reading.result()
        finally:
            ended.cancel()

    async def send(self, text: str) -> None:
        """Send a message; nothing happens if the client has left."""
        async with self._sending:
            if self.is_open:
                try:
                    await self._socket.send_text(text)
                except (WebSocketDisconnect, RuntimeError, OSError):
                    self.is_open = False
                    self.ended.set()

    async def refuse(self, error: RequestError) -> None:
        """Close the connection with the reason."""
        if self.is_open:
            self.is_open = False
            reason = error.message.encode("utf-8")[:MAX_REASON].decode("utf-8", "ignore")
            await self._socket.close(CLOSE_CODES.get(error.status, 1008), reason)
