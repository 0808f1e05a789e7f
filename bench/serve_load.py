"""Load on a server of `nmtkit serve`: clients, and the server as a process that is measured."""

import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from timing import BenchError

CLIENTS = 32
PAIR = {"source": "en", "target": "fr"}
"""Languages of the requests; --pair changes them."""

HOST = "127.0.0.1"


class Answer(NamedTuple):
    """Status and body of an answer, and the seconds until it came."""

    status: int
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """A connection that is kept: HTTP/1.1 with Content-Length, as cheap as can be."""

    def __init__(self, port: int, host: str = HOST) -> None:
        self._host, self._port = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, fields: object) -> Answer:
        body = json.dumps(fields).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
        return await self.send(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    async def send(self, data: bytes) -> Answer:
        started = time.perf_counter()
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        assert self._reader is not None
        self._writer.write(data)
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").lower().split("\r\n")
            fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
            length = 0 if data.startswith(b"HEAD ") else int(fields.get("content-length", "0"))
            body = await self._reader.readexactly(length)
        except BaseException:
            self.close()
            raise
        if fields.get("connection") == "close":
            self.close()
        return Answer(int(lines[0].split()[1]), body, time.perf_counter() - started)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


class ServerUnderTest(NamedTuple):
    """A server of `nmtkit serve`: its process and its port."""

    process: subprocess.Popen[str]
    port: int

    def processor_seconds(self) -> float:
        """Return the processor time of the server, its hosts and their workers."""
        hosts = children(self.process.pid)
        everyone = [self.process.pid, *hosts, *(w for host in hosts for w in children(host))]
        return sum(processor_seconds(pid) for pid in everyone)

    def memory(self) -> float:
        """Return the resident memory of the server, without its workers, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextlib.contextmanager
def server(model: str, *options: str) -> Iterator[ServerUnderTest]:
    """Run a server; at its end count its events other than requests, and print its errors."""
    command = [sys.executable, "-m", "nmtkit", "serve", model, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    log: list[str] = []
    port = 0
    for line in process.stderr:
        log.append(line)
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if event["event"] == "ready":
                port = event["port"]
                break
    if not port:
        raise BenchError(f"nmtkit serve does not start: {''.join(log[-1:]).strip()}")
    troubles: list[str] = []

    def drain() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            if '"event": "request"' not in line and '"event": "websocket' not in line:
                troubles.append(line)

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    try:
        yield ServerUnderTest(process, port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        reader.join(5)
        kinds = Counter(json.loads(t)["event"] if t.startswith("{") else "text" for t in troubles)
        print("events:", dict(kinds), file=sys.stderr)
        for line in troubles:
            if not line.startswith("{") or json.loads(line)["event"] in ("bug", "engine_error"):
                print(line, end="", file=sys.stderr)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(path.parent.name))
    return found


def workers_of(pid: int) -> list[int]:
    """Return the forks of the hosts of a server."""
    return [worker for host in children(pid) for worker in children(host)]


async def translated(client: Client, line: str) -> Answer:
    """Ask for a translation; return the answer.

    :raises BenchError: the server refuses, or is not there.
    """
    try:
        answer = await client.post("/translate", {"q": line, **PAIR})
    except (OSError, asyncio.IncompleteReadError) as error:
        raise BenchError(f"the server does not answer: {error}") from error
    if answer.status != 200:
        body = answer.body.decode("utf-8", errors="replace")[:200]
        raise BenchError(f"the server answers {answer.status} to '{line[:40]}': {body}")
    return answer


async def closed_loop(port: int, lines: Sequence[str], clients: int) -> dict[str, Any]:
    """Let clients send one sentence a request, each after its last answer."""
    waiting = iter(enumerate(lines))
    found: dict[int, str] = {}
    times: list[float] = []

    async def work() -> None:
        client = Client(port)
        for number, line in waiting:
            answer = await translated(client, line)
            found[number] = answer.json["translatedText"]
            times.append(answer.seconds)
        client.close()

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "texts": [found[n] for n in range(len(lines))], **quantiles(times)}


def quantiles(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 99th percentile of durations, in milliseconds."""
    ordered = sorted(times)
    return {
        "median_ms": round(1000 * statistics.median(ordered), 2),
        "p99_ms": round(1000 * ordered[int(0.99 * (len(ordered) - 1))], 2),
    }


async def open_loop(port: int, lines: Sequence[str], per_second: float) -> dict[str, float]:
    """Send sentences at random moments, so many a second on average, whatever the answers."""
    drawn = random.Random(1)
    times: list[float] = []
    free: deque[Client] = deque()  # the longest unused first, before the server closes it

    async def ask(line: str) -> None:
        client = free.popleft() if free else Client(port)
        answer = await translated(client, line)
        times.append(answer.seconds)
        free.append(client)

    tasks = []
    for line in lines:
        tasks.append(asyncio.create_task(ask(line)))
        await asyncio.sleep(drawn.expovariate(per_second))
    await asyncio.gather(*tasks)
    for client in free:
        client.close()
    return quantiles(times)
