"""A request and its answer, whose end waits for the rest of the request."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

DISCARD_SECONDS = 10.0
"""Time for a client to send the rest of a request that is answered already."""


class Exchange:
    """A request and its answer.

    If the answer comes before the whole body was read, as for one that is too large, the connection
    must not be closed yet: the system would answer the rest of the body by a reset, and many
    clients then lose the answer. All of the answer is sent, but it ends when the rest is read.

    :param scope, receive, send: of the request, by ASGI.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        headers = Headers(scope=scope)
        self._is_read = "content-length" not in headers and "transfer-encoding" not in headers
        self._is_held = False

    async def receive(self) -> Message:
        """Return the next part of the body."""
        message = await self._receive()
        self._is_read = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._is_held = not self._is_read
            message = {**message, "more_body": self._is_held}
        await self._send(message)

    async def end(self) -> None:
        """Read and discard the rest of the body, and end the answer."""
        if not self._is_held:
            return
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while not self._is_read:
                    await self.receive()
        except TimeoutError:
            return  # uvicorn closes a connection whose answer has no end
        await self._send({"type": "http.response.body"})
