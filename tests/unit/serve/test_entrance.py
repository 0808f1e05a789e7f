"""How requests name the server."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.integration.serving import Running, running
from tests.unit.serve.fake_hosts import FakeHosts

LOCAL = "host: localhost\r\n"


def ask(server: Running, head: str) -> tuple[int, Any]:
    """Return the status and the content of the answer to a request without a body."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(f"{head}connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("address", ["http://localhost:5000", "HTTP://localhost", "https://[::1]"])
def test_a_request_may_name_a_whole_address(hosts: FakeHosts, tmp_path: Path, address: str) -> None:
    with running(tmp_path) as server:
        get = f"GET {address}/health?x=/ HTTP/1.1\r\n"
        assert ask(server, get + LOCAL) == (200, {"status": "ok"})
        assert ask(server, get + "host: evil.example\r\n") == (200, {"status": "ok"})
        assert ask(server, f"GET {address}/n%6fthing HTTP/1.1\r\n{LOCAL}")[0] == 404
        assert ask(server, f"POST {address} HTTP/1.1\r\n{LOCAL}")[0] == 405
        post = f"POST {address}/translate?q=a&source=en&target=fr HTTP/1.1\r\n{LOCAL}"
        assert ask(server, post) == (200, {"translatedText": "A"})
        assert server.events("request")[-1]["endpoint"] == "/translate"


@pytest.mark.parametrize("address", ["http://evil.example", "http://a@localhost", "http://"])
def test_the_host_of_an_address_counts(hosts: FakeHosts, tmp_path: Path, address: str) -> None:
    with running(tmp_path) as server:
        assert ask(server, f"GET {address}/health HTTP/1.1\r\n{LOCAL}")[0] == 403


def test_a_request_without_a_host_is_refused_where_names_count(
    hosts: FakeHosts, tmp_path: Path
) -> None:
    head = "GET /health HTTP/1.0\r\n"
    with running(tmp_path) as server:
        status, answer = ask(server, head)
        assert status == 403 and "names no host" in answer["error"]
        assert ask(server, head + LOCAL)[0] == 200
    with running(tmp_path, host="0.0.0.0") as server:  # noqa: S104
        assert ask(server, head)[0] == 200


@pytest.mark.parametrize("length", ["9999999", "9" * 20])
def test_a_length_beyond_all_limits_is_too_large(
    hosts: FakeHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: str
) -> None:
    monkeypatch.setattr("nmtkit.serve.exchange.DISCARD_SECONDS", 0.1)
    with running(tmp_path) as server:
        head = f"POST /translate HTTP/1.1\r\n{LOCAL}content-length: {length}\r\n"
        assert ask(server, head)[0] == 413
