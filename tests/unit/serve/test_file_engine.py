"""Files whose clients leave, whatever happens to the model meanwhile."""

import asyncio
import io
from pathlib import Path

import pytest

from nmtkit.serve.errors import RequestError
from nmtkit.serve.file_engine import MAX_OF_CLIENT, FileEngine
from nmtkit.serve.journal import Journal
from nmtkit.serve.metrics import Metrics
from nmtkit.serve.model_pool import ServedModel
from nmtkit.serve.settings import ModelSettings
from nmtkit.serve.task import Task
from tests.unit.serve.fake_hosts import FakeHosts


def test_a_replaced_model_ends_when_the_client_of_its_last_file_leaves(
    hosts: FakeHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def replace_and_leave() -> None:
        journal, pair = Journal(stream=io.StringIO()), ("en", "fr")
        model = ServedModel(pair, ModelSettings({pair: (tmp_path,)}), journal)
        await model.load()
        old = hosts.hosts[0]
        monkeypatch.setattr(old, "new_worker", asyncio.Event().wait)
        engine = FileEngine(1, 60.0, journal, Metrics())
        work = asyncio.create_task(engine.translate([model], "a.txt", [b"a"], Task(), "a client"))
        await asyncio.sleep(0.01)
        await model.load()
        assert old.is_running
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await asyncio.sleep(0.01)
        assert not old.is_running and hosts.hosts[1].is_running
        await model.end()

    asyncio.run(replace_and_leave())


def test_a_small_file_that_waits_for_others_is_not_called_too_large(
    hosts: FakeHosts, tmp_path: Path
) -> None:
    async def wait_for_another() -> None:
        journal, pair = Journal(stream=io.StringIO()), ("en", "fr")
        model = ServedModel(pair, ModelSettings({pair: (tmp_path,)}), journal)
        engine = FileEngine(1, 0.05, journal, Metrics())
        async with engine._places.place("another"):
            with pytest.raises(RequestError, match="waited for others; try again later") as error:
                await engine.translate([model], "a.txt", [b"a"], Task(), "a client")
        assert error.value.status == 408

    asyncio.run(wait_for_another())


def test_a_client_with_many_files_leaves_room_for_others(hosts: FakeHosts, tmp_path: Path) -> None:
    async def fill() -> None:
        journal, pair = Journal(stream=io.StringIO()), ("en", "fr")
        model = ServedModel(pair, ModelSettings({pair: (tmp_path,)}), journal)
        engine = FileEngine(1, 60.0, journal, Metrics())

        async def send(client: str) -> None:
            await engine.translate([model], "a.txt", [b"a"], Task(), client)

        async with engine._places.place("another"), asyncio.TaskGroup() as group:
            waiting = [group.create_task(send("many")) for _ in range(MAX_OF_CLIENT)]
            await asyncio.sleep(0)
            with pytest.raises(RequestError, match="too many files") as error:
                await send("many")
            assert error.value.status == 503
            waiting.append(group.create_task(send("few")))
            await asyncio.sleep(0)
            assert engine.requests == MAX_OF_CLIENT + 1
            for work in waiting:
                work.cancel()
        assert not engine.requests and not engine._clients

    asyncio.run(fill())


def test_no_model_works_before_all_are_loaded(hosts: FakeHosts, tmp_path: Path) -> None:
    async def translate_with_a_broken_model() -> None:
        journal, pairs = Journal(stream=io.StringIO()), [("fr", "en"), ("en", "de")]
        settings = ModelSettings({pair: (tmp_path,) for pair in pairs})
        first, second = (ServedModel(pair, settings, journal) for pair in pairs)
        await first.load()
        hosts.failure = "broken"
        engine = FileEngine(1, 60.0, journal, Metrics())
        with pytest.raises(RequestError, match="the model of en-de cannot be loaded"):
            await engine.translate([first, second], "a.txt", [b"a"], Task(), "a client")
        assert not hosts.messages
        await first.end()

    asyncio.run(translate_with_a_broken_model())
