"""Which connections are served, when there are more than allowed."""

import asyncio
from weakref import WeakSet


class Places:
    """A number of places, one for each connection that is served; the first ones have them.

    A connection takes its place with its first request and keeps it until it closes.

    :param number: of places.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken: WeakSet[asyncio.BaseTransport] = WeakSet()

    def take(self, connection: asyncio.BaseTransport) -> bool:
        """Return whether a connection has a place, after giving it one if there is one."""
        if connection in self._taken:
            return True
        if len(self._taken) >= self._number:
            self._taken = WeakSet(one for one in self._taken if not one.is_closing())
        if len(self._taken) < self._number:
            self._taken.add(connection)
        return connection in self._taken
