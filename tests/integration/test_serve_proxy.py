"""The server behind nginx, with the configuration that `docs/how-to/serve.md` gives."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import xmlrpc.client
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from nmtkit.serve.public_url import parse_public_url
from tests.integration.serving import Running, running
from tests.unit.serve.fake_hosts import FakeHosts
from tests.unit.serve.fake_hosts import hosts as hosts

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"

FRAME = """
{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}} worker_processes 1;
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
{inner} }}
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def configuration(folder: Path, port: int, upstream: int) -> str:
    """Return the guide's configuration on a port of this machine, without TLS."""
    (inner,) = re.findall(r"```nginx\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    inner = re.sub(r"ssl_certificate.*;", "", inner)
    inner = inner.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    inner = inner.replace("127.0.0.1:5000", f"127.0.0.1:{upstream}")
    user = "user root;" if os.geteuid() == 0 else ""  # who may write to the folder
    return FRAME.format(folder=folder, inner=inner, user=user)


@pytest.fixture
def proxied(hosts: FakeHosts, tmp_path: Path) -> Iterator[tuple[Running, str]]:
    """Return a server, and the address of nginx before it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/translator"
    with running(tmp_path, public_url=parse_public_url(url)) as server:
        path = tmp_path / "nginx.conf"
        path.write_text(configuration(tmp_path, port, server.port), encoding="utf-8")
        with subprocess.Popen(["nginx", "-c", path, "-p", tmp_path]) as nginx:
            try:
                server.wait_until(lambda: answers(port))
                yield server, url
            finally:
                nginx.terminate()


def answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_every_interface_works_through_the_proxy(proxied: tuple[Running, str]) -> None:
    server, url = proxied
    own = {"origin": url.removesuffix("/translator")}
    fields = {"q": "one", "source": "en", "target": "fr"}
    with httpx.Client(base_url=url, headers=own, timeout=20) as client:
        assert client.post("/translate", json=fields).json() == {"translatedText": "ONE"}
        assert "<title>" in client.get("/").text
        assert client.get("/openapi.json").json()["servers"] == [{"url": url}]
        data = b"<p>one</p>" * 800_000  # eight megabytes
        answer = client.post("/translate_file", data=fields, files={"file": ("a.html", data)})
        address = answer.json()["translatedFileUrl"]
        assert address.startswith(f"{url}/download_file/")
        assert client.get(address).content == data
        for _ in range(20):  # answered before nginx has sent it all
            answer = client.post("/translate", content=b" " * (3 << 20))
            assert answer.status_code == 413 and answer.json()["error"]
        assert client.get("/nothing").json() == {"error": "Not Found"}
    with xmlrpc.client.ServerProxy(f"{url}/RPC2") as moses:
        assert moses.translate({"text": "one"})["text"] == "ONE"  # type: ignore[index, call-overload]


def test_websockets_work_through_the_proxy(proxied: tuple[Running, str]) -> None:
    server, url = proxied
    origin = Origin(url.removesuffix("/translator"))
    address = url.replace("http:", "ws:")
    with connect(f"{address}/translate", origin=origin) as marian:
        for text in ("one\ntwo\n", "three\n"):
            marian.send(text)
            assert marian.recv(timeout=20) == text.upper()
    with connect(f"{address}/stream", origin=origin) as stream:
        stream.send(json.dumps({"id": 1, "text": "one", "source": "en", "target": "fr"}))
        assert json.loads(stream.recv(timeout=20))["text"] == "ONE"
        assert json.loads(stream.recv(timeout=20)) == {"id": 1, "done": True}
        started = time.monotonic()
    server.wait_until(lambda: len(server.events("websocket_closed")) == 2)
    assert time.monotonic() - started < 20
