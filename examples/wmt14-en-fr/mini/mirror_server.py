"""Serve a mirror locally: `mirror_server.py mirror --port 8014`, then WMT_MIRROR=http://127.0.0.1:8014

Byte ranges are supported, so that downloads can resume. To test recovery, faults can be requested;
each happens once:

    --cut training-parallel-un.tgz=20000     break the connection after this many bytes
    --damage training-giga-fren.tar          change one byte
"""

import argparse
import re
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

_BLOCK = 1 << 16

HOLD = 0.5
"""Seconds of silence before a connection breaks, as when a cable is pulled."""


@dataclass
class Faults:
    """Faults by file name; each is removed once it has happened.

    cut: bytes after which the connection breaks. damage: files in which a byte is changed. moved:
    files that are redirected, permanently, and where to.
    """

    cut: dict[str, int] = field(default_factory=dict)
    damage: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)


class Mirror(ThreadingHTTPServer):
    """A server of one folder for this machine.

    :param port: 0 means any free port; see `url`.
    :param ranges: Support byte ranges.
    """

    daemon_threads = True

    def __init__(
        self, folder: Path, port: int = 0, faults: Faults | None = None, ranges: bool = True
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.folder = folder.resolve()
        self.faults = faults or Faults()
        self.ranges = ranges
        self.requests: list[tuple[str, str]] = []
        """Name and byte range of each requested file, in order."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Mirror

    def do_GET(self) -> None:
        url_path = unquote(urlsplit(self.path).path)
        path = (self.server.folder / url_path.lstrip("/")).resolve()
        self.server.requests.append((path.name, self.headers.get("Range", "")))
        faults = self.server.faults
        if path.name in faults.moved and url_path != urlsplit(faults.moved[path.name]).path:
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", faults.moved[path.name])
            self.end_headers()
        elif not path.is_relative_to(self.server.folder) or not path.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self._send(path.name, path.read_bytes())

    def _send(self, name: str, content: bytes) -> None:
        start = self._start()
        if start > len(content) or (start and start == len(content)):
            self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(HTTPStatus.PARTIAL_CONTENT if start else HTTPStatus.OK)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self._send_body(name, content[start:])

    def _start(self) -> int:
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(match[1]) if match and self.server.ranges else 0

    def _send_body(self, name: str, body: bytes) -> None:
        faults = self.server.faults
        if name in faults.damage:
            faults.damage.remove(name)
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
        cut = name in faults.cut
        body = body[: faults.cut.pop(name, len(body))]
        with suppress(ConnectionError):  # the client may have been killed
            for first in range(0, len(body), _BLOCK):
                self.wfile.write(body[first : first + _BLOCK])
        if cut:
            time.sleep(HOLD)

    def log_message(self, format: str, *arguments: object) -> None:
        print(f"{self.command} {self.path} {self.headers.get('Range', '')}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a mirror made by build.py")
    parser.add_argument("--port", type=int, default=8014, help="0 means any free port [8014]")
    parser.add_argument("--cut", action="append", default=[], metavar="NAME=BYTES")
    parser.add_argument("--damage", action="append", default=[], metavar="NAME")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        print(f"serve: {options.folder}: no such folder; make it with build.py", file=sys.stderr)
        return 1
    cuts = dict(fault.split("=") for fault in options.cut)
    faults = Faults({name: int(size) for name, size in cuts.items()}, set(options.damage))
    with Mirror(options.folder, options.port, faults) as mirror:
        print(mirror.url, flush=True)
        try:
            mirror.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
