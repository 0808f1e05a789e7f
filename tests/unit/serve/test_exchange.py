"""Answers to requests whose body is not read."""

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from nmtkit.serve import exchange
from tests.integration.serving import running
from tests.unit.serve.fake_hosts import FakeHosts

LARGE = b"x" * (30 << 20)


def parts(size: int, number: int) -> list[bytes]:
    return [b"x" * size] * number


@pytest.mark.parametrize("in_chunks", [False, True])
def test_pythons_client_reads_why_a_body_is_too_large(
    hosts: FakeHosts, tmp_path: Path, in_chunks: bool
) -> None:
    """This client sends everything before it reads, and wants the connection to be closed."""
    with running(tmp_path) as server:
        data = iter(parts(1 << 20, 30)) if in_chunks else LARGE
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{server.url}/translate", data, headers)  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=30)  # noqa: S310
        assert caught.value.code == 413
        assert "bytes" in json.loads(caught.value.read())["error"]
        server.wait_until(lambda: not server.server.server_state.connections)


def test_a_client_that_does_not_send_its_body_has_its_answer_and_is_disconnected(
    hosts: FakeHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "DISCARD_SECONDS", 0.1)
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            client.sendall(
                b"POST /translate HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
                b"content-length: 9999999\r\n\r\nx"
            )
            answer = b"".join(iter(lambda: client.recv(4096), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ") and json.loads(body)["error"]


def test_a_connection_is_used_again_after_an_answer_without_its_body(
    hosts: FakeHosts, tmp_path: Path
) -> None:
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            head = b"host: localhost\r\n"
            client.sendall(b"POST /nothing HTTP/1.1\r\n" + head + b"content-length: 9\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                answer += client.recv(4096)
            assert answer.startswith(b"HTTP/1.1 404 ")
            client.sendall(b"x" * 9 + b"GET /health HTTP/1.1\r\n" + head + b"\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
