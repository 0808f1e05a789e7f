"""Turns of clients at a few places, where work of all of them waits."""

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Hashable


class ClientTurns:
    """Places for work; a free one is given to the client who has waited longest for a turn.

    So a client with many pieces of work has each client who comes later served after one of them.

    :param places: pieces of work at a time.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()

    @contextlib.asynccontextmanager
    async def place(self, client: Hashable) -> AsyncGenerator[None, None]:
        """Wait for a place, and keep it for the block."""
        if self._free:
            self._free -= 1
        else:
            await self._turn(client)
        try:
            yield
        finally:
            self._give_back()

    async def _turn(self, client: Hashable) -> None:
        """Wait until a place is given to this work."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back()
            raise

    def _give_back(self) -> None:
        """Give a place to the next work that still waits for one."""
        while self._waiting:
            client, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
