"""What all endpoints share: limits of a request."""

import io
import json
from pathlib import Path

from nmtkit.serve.keys import add_key
from nmtkit.serve.settings import Limits
from tests.integration.serving import running
from tests.unit.serve.fake_hosts import FakeHosts


def test_a_line_feed_at_the_end_does_not_begin_another_line(
    hosts: FakeHosts, tmp_path: Path
) -> None:
    with running(tmp_path, Limits(lines=3)) as server:
        for text, status in (("\n\n\n", 200), ("\n\n\n\n", 413), ("\n\n\na", 413)):
            assert server.translate(q=text).status_code == status
        assert server.translate(q=["a\n", "b\r\n", "c"]).status_code == 200
        assert server.text("a\n" * 3) == "A\n" * 3
        with server.socket("/translate") as socket:
            socket.send("a\nb\nc\n")
            assert socket.recv() == "A\nB\nC\n"
        with server.socket("/stream") as socket:
            message = {"id": 1, "source": "en", "target": "fr", "text": "a\nb\nc\n"}
            socket.send(json.dumps(message))
            answers = [json.loads(socket.recv()) for _ in range(5)]
            assert answers[-1] == {"id": 1, "done": True}
            socket.send(json.dumps({**message, "text": "a\nb\nc\nd"}))
            assert json.loads(socket.recv())["error"]["status"] == 413


def test_requests_without_a_key_that_come_too_often_are_counted(
    hosts: FakeHosts, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.txt"
    add_key(keys, "me", io.StringIO())
    with running(tmp_path, Limits(rate=1), keys=keys) as server:
        assert server.translate(q="one").status_code == 403
        assert server.translate(q="one", api_key="wrong").status_code == 429
        assert 'nmtkit_rejected_total{limit="rate"} 1' in server.http.get("/metrics").text
