"""Connections: how many there are, and clients that do not read or do not speak HTTP."""

import contextlib
import json
import socket
import time

import pytest
from websockets.exceptions import InvalidStatus

from nmtkit.serve import connection
from nmtkit.serve.settings import Limits
from tests.integration.serving import Running, running
from tests.unit.serve.fake_hosts import FakeHosts, result_of

HEAD = b"host: localhost\r\n\r\n"


def test_exactly_as_many_connections_as_allowed_are_served(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path, Limits(connections=3)) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(5)]
        with server.socket("/stream"):
            statuses = [client.get("/languages").status_code for client in clients]
            assert statuses == [200, 200, 503, 503, 503]  # the WebSocket has the first place
            for client in clients:
                for path in ("/health", "/ready", "/metrics"):
                    assert client.get(path).status_code == 200
            # those that have a place keep it, whoever else comes
            assert [client.get("/languages").status_code for client in clients] == statuses
            with pytest.raises(InvalidStatus) as caught:
                server.socket("/stream")
            assert caught.value.response.status_code == 503
        server.wait_until(lambda: clients[2].get("/languages").status_code == 200)
        assert clients[3].get("/languages").status_code == 503
        clients[0].close()
        server.wait_until(lambda: clients[3].get("/languages").status_code == 200)


HANDSHAKE = (
    b"GET /translate HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: " + b"x" * 22 + b"==\r\n"
)


@pytest.mark.parametrize(
    "header",
    [b"content-length: 3", b"transfer-encoding: chunked", b"cookie: " + b"x" * 9_000],
)
def test_a_websocket_whose_handshake_is_not_valid_is_closed(
    hosts: FakeHosts, tmp_path, header: bytes
) -> None:
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(HANDSHAKE + header + b"\r\n" + HEAD)
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 4")
        server.wait_until(lambda: not connections(server))


def slow_client(port: int, kept: int = 4096) -> socket.socket:
    """Return a connection whose system keeps few bytes that the client does not read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, kept)
    client.connect(("127.0.0.1", port))
    return client


def request_of(text: str) -> bytes:
    body = json.dumps({"q": text, "source": "en", "target": "fr"}).encode()
    return b"POST /translate HTTP/1.1\r\ncontent-length: %d\r\n%s%s" % (len(body), HEAD, body)


def connections(server: Running) -> int:
    return len(server.server.server_state.connections)


def test_a_client_that_never_reads_is_disconnected(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.5)
    hosts.answer = lambda message: {"results": [result_of("x" * (20 << 20))], "seconds": 0.1}
    with running(tmp_path) as server, slow_client(server.port) as client:
        client.sendall(request_of("one"))
        server.wait_until(lambda: hosts.messages)
        server.wait_until(lambda: not connections(server), 20)
        with slow_client(server.port) as client:
            client.sendall(HANDSHAKE + HEAD)
            assert client.recv(12) == b"HTTP/1.1 101"
            client.sendall(b"\x81\x83\0\0\0\0one")
            server.wait_until(lambda: len(hosts.messages) == 2)
            server.wait_until(lambda: not connections(server), 20)


def test_a_client_that_reads_slowly_gets_everything(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WRITE_SECONDS", 1.0)
    size = 12 << 20
    hosts.answer = lambda message: {"results": [result_of("x" * size)], "seconds": 0.1}
    with running(tmp_path) as server, slow_client(server.port, 1 << 16) as client:
        client.settimeout(20)
        client.sendall(request_of("one"))
        received, started = 0, time.monotonic()
        while received < size:
            part = client.recv(1 << 20)
            assert part, "the connection was closed"
            received += len(part)
            if time.monotonic() - started < 3:  # longer than the time without reading
                time.sleep(0.1)


def test_a_client_that_closes_its_half_of_the_connection_is_answered(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PROBE_SECONDS", 0.05)
    hosts.hold_answer = 0.3
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(request_of("one"))
            client.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        *probes, head, body = answer.split(b"\r\n\r\n")
        assert set(probes) == {b"HTTP/1.1 100 Continue"}
        assert head.startswith(b"HTTP/1.1 200 ") and json.loads(body) == {"translatedText": "ONE"}
        server.wait_until(lambda: not connections(server))


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_the_work_of_a_client_that_has_left_ends(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch, version: bytes
) -> None:
    monkeypatch.setattr(connection, "PROBE_SECONDS", 0.05)
    hosts.hold_answer = 30.0
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(request_of("one").replace(b"HTTP/1.1", version))
            server.wait_until(lambda: hosts.messages)
        server.wait_until(lambda: not server.service.engine.jobs)
        assert [event["status"] for event in server.events("request")] == [499]


def test_half_a_request_of_a_client_that_sends_no_more_ends(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(request_of("one")[:-1])
            client.shutdown(socket.SHUT_WR)
            assert client.recv(4096) == b""


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\r\n\r\n", b"GET / HTTP/9.9.9\r\n\r\n", b"x\r\n\r\n"]
)
def test_what_is_not_http_has_an_error_in_json(hosts: FakeHosts, tmp_path, garbage: bytes) -> None:
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(garbage)
            answer = b"".join(iter(lambda: client.recv(4096), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ") and b"application/json" in head.lower()
        assert list(json.loads(body)) == ["error"]


def test_what_is_not_http_after_an_answer_has_begun_ends_the_connection(
    hosts: FakeHosts, tmp_path
) -> None:
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(b"POST /nothing HTTP/1.1\r\ntransfer-encoding: chunked\r\n" + HEAD)
            assert client.recv(12) == b"HTTP/1.1 404"
            client.sendall(b"no chunk\r\n")
            while client.recv(4096):
                continue
        server.wait_until(lambda: not connections(server))
