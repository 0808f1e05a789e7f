"""Tasks end when their time is over, or when the server stops."""

import asyncio

import pytest

from nmtkit.serve.errors import RequestError
from nmtkit.serve.time_limits import TimeLimits


def test_a_task_that_is_too_slow_is_refused() -> None:
    async def wait() -> None:
        async with TimeLimits().limit(0, "too slow"):
            await asyncio.Event().wait()

    with pytest.raises(RequestError, match="too slow") as error:
        asyncio.run(wait())
    assert error.value.status == 408


def test_all_tasks_end_when_the_server_stops() -> None:
    async def statuses() -> list[int]:
        limits, found = TimeLimits(), []

        async def wait() -> None:
            try:
                async with limits.limit(1000, "too slow"):
                    await asyncio.Event().wait()
            except RequestError as error:
                found.append(error.status)

        first = asyncio.create_task(wait())
        await asyncio.sleep(0)
        assert len(limits) == 1
        limits.stop()
        await first
        await wait()  # one that begins afterwards
        assert len(limits) == 0
        return found

    assert asyncio.run(statuses()) == [503, 503]
