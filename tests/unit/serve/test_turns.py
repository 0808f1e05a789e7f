"""Clients take turns at places."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.serve.turns import ClientTurns


async def work(turns: ClientTurns, client: str, done: list[str]) -> None:
    async with turns.place(client):
        await asyncio.sleep(0)
        done.append(client)


def order(places: int, clients: str) -> str:
    """Return the clients of `clients`, whose work is sent in this order, as their work is done."""
    done: list[str] = []

    async def run() -> None:
        turns = ClientTurns(places)
        await asyncio.gather(*(work(turns, client, done) for client in clients))

    asyncio.run(run())
    return "".join(done)


def test_a_client_who_comes_later_waits_for_one_piece_of_each_client_before() -> None:
    assert order(1, "aaaaabbc") == "aabcabaa"


@given(st.integers(1, 4), st.text("abc", max_size=20))
def test_all_work_is_done_within_the_places(places: int, clients: str) -> None:
    running, most = 0, 0
    done: list[str] = []

    async def counted(turns: ClientTurns, client: str) -> None:
        nonlocal running, most
        async with turns.place(client):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            done.append(client)

    async def run() -> None:
        turns = ClientTurns(places)
        await asyncio.gather(*(counted(turns, client) for client in clients))

    asyncio.run(run())
    assert sorted(done) == sorted(clients) and most == min(places, len(clients))


@pytest.mark.parametrize("has_turn", [False, True])
def test_work_that_is_cancelled_keeps_no_place(has_turn: bool) -> None:
    async def run() -> None:
        turns = ClientTurns(1)
        async with turns.place("a"):
            waiting = asyncio.create_task(work(turns, "b", []))
            await asyncio.sleep(0)
            if not has_turn:
                waiting.cancel()
        waiting.cancel()  # now its turn has come, but it has not yet been told
        await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(5), turns.place("c"):
            pass

    asyncio.run(run())
