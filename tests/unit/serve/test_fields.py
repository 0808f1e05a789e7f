"""Bodies of requests: what they say, and how long they are waited for."""

import socket
from pathlib import Path

import pytest

from nmtkit.serve.settings import Limits
from tests.integration.serving import running
from tests.unit.serve.fake_hosts import FakeHosts


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x"])
def test_the_rest_of_a_body_is_not_waited_for_when_the_server_stops(
    hosts: FakeHosts, tmp_path: Path, kind: str
) -> None:
    head = f"POST /translate HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
    with (
        running(tmp_path, Limits(seconds=10**6), drain=10**6) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow,
    ):
        slow.sendall(head.encode() + b"content-length: 500\r\n\r\n-")
        server.wait_until(lambda: server.service.answering)
        server.call(server.server.stop)
        assert slow.recv(4096).startswith(b"HTTP/1.1 503 ")
        server.wait_until(lambda: server.server.should_exit)
        assert [event["status"] for event in server.events("request")] == [503]


def test_json_may_begin_with_a_byte_order_mark(hosts: FakeHosts, tmp_path: Path) -> None:
    body = '\ufeff{"q": "a", "source": "en", "target": "fr"}'.encode()
    with running(tmp_path) as server:
        assert server.http.post("/translate", content=body).json() == {"translatedText": "A"}
