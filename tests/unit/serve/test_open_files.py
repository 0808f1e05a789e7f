"""The limit of open files, and connections that need more."""

import contextlib
import json
import resource
import socket
from pathlib import Path

import pytest

from nmtkit.serve import server as server_module
from nmtkit.serve import service
from nmtkit.serve.open_files import room_for_connections
from nmtkit.serve.settings import Limits, ModelSettings
from tests.integration.serving import running
from tests.unit.serve.fake_hosts import FakeHosts

MODELS = ModelSettings({("en", "fr"): (Path("model"),)}, cores=2)

OWN = 44
"""Open files of a server with these models."""


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "room"),
    [
        (1024, 4096, 2000 + OWN, 2000),
        (1024, resource.RLIM_INFINITY, 2000 + OWN, 2000),
        (1024, 1500, 1500, 1500 - OWN),
        (1024, 1024, 1024, 1024 - OWN),
        (5000, 5000, None, 5000 - OWN),
        (20, 20, 20, 2),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, 1 << 20),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_needed(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int | None, room: int
) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limit: limits.append(limit))
    assert room_for_connections(2000, MODELS) == room
    assert limits == ([] if raised is None else [(raised, hard)])


def test_a_limit_that_cannot_be_raised_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: int, limit: tuple[int, int]) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert room_for_connections(2000, MODELS) == 256 - OWN


def test_connections_that_do_nothing_give_way(
    hosts: FakeHosts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(service, "room_for_connections", lambda wanted, models: 6)
    with running(tmp_path, Limits(connections=10)) as server, contextlib.ExitStack() as stack:
        event = json.loads(capsys.readouterr().err)
        assert event["connections"] == 3 and "--max-connections" in event["reason"]
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 10))
            for _ in range(20)
        ]
        for _ in range(20):
            client = stack.enter_context(server.client())
            assert client.get("/health").status_code == 200
        clients = [stack.enter_context(server.client()) for _ in range(5)]
        statuses = [client.get("/languages").status_code for client in clients]
        assert statuses == [200, 200, 200, 503, 503]
        assert clients[3].get("/health").status_code == 200
        assert idle[0].recv(1) == b""
        assert len(server.server.server_state.connections) <= 7


def test_an_error_of_the_loop_is_written_once(hosts: FakeHosts, tmp_path: Path) -> None:
    with running(tmp_path) as server:
        error = OSError(24, "Too many open files")
        for _ in range(1000):
            server.call(
                server.loop.call_exception_handler, {"message": "accept()", "exception": error}
            )
        server.call(server.loop.call_exception_handler, {"message": "last"})
        server.wait_until(lambda: len(server.events("loop_error")) == 2)
        first, _ = server.events("loop_error")
        assert "accept()" in first["reason"] and "Too many open files" in first["traceback"]


def test_an_error_of_the_loop_that_goes_on_is_written_again(
    hosts: FakeHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "REPEAT_SECONDS", 0.0)
    with running(tmp_path) as server:
        for _ in range(2):
            server.call(server.loop.call_exception_handler, {"message": "accept()"})
        server.wait_until(lambda: len(server.events("loop_error")) == 2)
