"""Time limits of what clients wait for, which all end when the server stops."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from nmtkit.serve.errors import RequestError, stopping


class TimeLimits:
    """Limits the time of tasks, until the server stops."""

    def __init__(self) -> None:
        self._timers: set[asyncio.Timeout] = set()
        self._is_stopping = False

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self._timers)

    @contextlib.asynccontextmanager
    async def limit(self, seconds: float, too_slow: str) -> AsyncGenerator[None, None]:
        """Limit the time of the block.

        :param too_slow: message if it takes longer.
        :raises RequestError: it takes longer, or the server stops.
        """
        timer = asyncio.timeout(0 if self._is_stopping else seconds)
        self._timers.add(timer)
        try:
            async with timer:
                yield
        except TimeoutError as error:
            if self._is_stopping:
                raise stopping() from error
            raise RequestError(408, too_slow) from error
        finally:
            self._timers.discard(timer)

    def stop(self) -> None:
        """End all tasks: the server stops."""
        self._is_stopping = True
        now = asyncio.get_running_loop().time()
        for timer in self._timers:
            if not timer.expired():
                timer.reschedule(now)
