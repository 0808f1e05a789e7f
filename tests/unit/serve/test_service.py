"""What all endpoints share: limits of a request."""

import json
from pathlib import Path

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
