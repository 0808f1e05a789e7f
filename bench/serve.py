"""Load on `nmtkit serve`: throughput, latency, a long run with everything that goes wrong, fuzzing.

    python bench/serve.py throughput MODEL TEXT            32 clients, and `nmtkit translate`
    python bench/serve.py latency MODEL TEXT               a sentence at a time, and at half load
    python bench/serve.py soak MODEL TEXT --minutes 10     64 clients, kills, reloads
    python bench/serve.py fuzz MODEL --minutes 30          random requests to every endpoint
    python bench/serve.py beside URL TEXT                  another server with LibreTranslate's API

Each prints a JSON object. The clients are one process with asyncio; they take about a tenth of a
core. In the soak each answer is compared with what `nmtkit translate` makes of the lines.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

CLIENTS = 32
PAIR = {"source": "en", "target": "fr"}
"""Languages of the requests; --pair changes them."""

RELOAD_SECONDS = 20.0
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
    """Run a server; its log goes to serve.log beside the current folder's files."""
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
        sys.exit("".join(log))
    import threading

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


def expected(model: str, lines: Sequence[str], *options: str) -> tuple[list[str], float, float]:
    """Return what `nmtkit translate` makes of lines, its seconds and its processor time.

    Both are without those of starting.
    """
    command = [sys.executable, "-m", "nmtkit", "translate", "-m", model, *options]
    seconds, processor = [], []
    output: list[str] = []
    for text in ("".join(f"{line}\n" for line in lines), "a\n"):
        started = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        seconds.append(time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        processor.append(used)
        output = output or result.stdout.split("\n")[:-1]
    return output, seconds[0] - seconds[1], processor[0] - processor[1]


async def closed_loop(port: int, lines: Sequence[str], clients: int) -> dict[str, Any]:
    """Let clients send one sentence a request, each after its last answer."""
    waiting = iter(enumerate(lines))
    found: dict[int, str] = {}
    times: list[float] = []

    async def work() -> None:
        client = Client(port)
        for number, line in waiting:
            answer = await client.post("/translate", {"q": line, **PAIR})
            assert answer.status == 200, answer
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


def throughput(model: str, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Compare 32 clients with `nmtkit translate`, in turns."""
    threads = ("--threads", str(options.threads))
    served, translated = [], []
    cost: list[float] = []
    translate_cost: list[float] = []
    same = 0
    with server(model, *threads) as one:
        for _ in range(options.rounds):
            before = one.processor_seconds()
            result = asyncio.run(closed_loop(one.port, lines, options.clients))
            cost.append(1000 * (one.processor_seconds() - before) / len(lines))
            served.append(len(lines) / result["seconds"])
            texts, seconds, processor = expected(model, lines, *threads)
            translated.append(len(lines) / seconds)
            translate_cost.append(1000 * processor / len(lines))
            same = sum(a == b for a, b in zip(texts, result["texts"], strict=True))
    share = statistics.median(s / t for s, t in zip(served, translated, strict=True))
    return {
        "lines": len(lines),
        "clients": options.clients,
        "served_lines_per_s": [round(x, 1) for x in served],
        "translate_lines_per_s": [round(x, 1) for x in translated],
        "served_processor_ms_per_line": [round(x, 2) for x in cost],
        "translate_processor_ms_per_line": [round(x, 2) for x in translate_cost],
        "share": round(share, 3),
        "same_texts": same,
        "p99_ms": result["p99_ms"],
    }


async def open_loop(port: int, lines: Sequence[str], per_second: float) -> dict[str, float]:
    """Send sentences at random moments, so many a second on average, whatever the answers."""
    drawn = random.Random(1)
    times: list[float] = []
    free: deque[Client] = deque()  # the longest unused first, before the server closes it

    async def ask(line: str) -> None:
        client = free.popleft() if free else Client(port)
        answer = await client.post("/translate", {"q": line, **PAIR})
        assert answer.status == 200, answer
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


def latency(model: str, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Measure one sentence at a time, and at half of the load that the server can bear."""
    with server(model, "--threads", str(options.threads), "--beam", "5") as one:
        asyncio.run(closed_loop(one.port, lines[:50], 1))
        idle = asyncio.run(closed_loop(one.port, lines, 1))
        full = asyncio.run(closed_loop(one.port, lines, options.clients))
        rate = len(lines) / full["seconds"] / 2
        half = asyncio.run(open_loop(one.port, lines, rate))
    ratio = half["p99_ms"] / half["median_ms"]
    idle = {name: idle[name] for name in ("median_ms", "p99_ms")}
    return {
        "idle": idle,
        "half_load": half,
        "requests_per_s": round(rate, 1),
        "p99_by_median": ratio,
    }


class Soak:
    """Clients that do what clients do, and a count of all that went wrong."""

    def __init__(self, port: int, lines: list[str], texts: list[str], seconds: float) -> None:
        self.port, self.lines, self.texts = port, lines, texts
        self.end = time.monotonic() + seconds
        self.counts: Counter[str] = Counter()
        self.times: list[float] = []

    async def client(self, number: int) -> None:
        """Send requests of mixed lengths; every tenth is left before its answer."""
        drawn = random.Random(number)
        client = Client(self.port)
        while time.monotonic() < self.end:
            count = drawn.choice([1, 1, 1, 1, 3, 10, 40])
            chosen = [drawn.randrange(len(self.lines)) for _ in range(count)]
            fields: dict[str, object] = {
                "q": "\n".join(self.lines[n] for n in chosen),
                "source": drawn.choice([PAIR["source"], PAIR["source"], "auto"]),
                "target": PAIR["target"],
            }
            if drawn.random() < 0.1:
                fields["terms"] = [["zzz", "zzz"]]
            try:
                seconds = drawn.random() * 0.2 if drawn.random() < 0.1 else 120.0
                async with asyncio.timeout(seconds):
                    answer = await client.post("/translate", fields)
            except TimeoutError:
                self.counts["left" if seconds < 1 else "LOST"] += 1
                continue
            except (OSError, asyncio.IncompleteReadError):
                self.counts["LOST"] += 1
                client.close()
                continue
            self.check(answer, chosen)
        client.close()

    def check(self, answer: Answer, chosen: Sequence[int]) -> None:
        if answer.status != 200:
            self.counts[f"status {answer.status}"] += 1
            return
        right = "\n".join(self.texts[n] for n in chosen)
        self.counts["right" if answer.json["translatedText"] == right else "WRONG"] += 1
        self.times.append(answer.seconds)

    async def disturb(self, one: ServerUnderTest) -> list[float]:
        """Reload every 20 s, kill a worker now and then; return the memory of the server."""
        drawn = random.Random(0)
        memory = []
        last = time.monotonic()
        while time.monotonic() < self.end:
            await asyncio.sleep(2)
            memory.append(one.memory())
            if time.monotonic() - last > RELOAD_SECONDS:
                one.process.send_signal(signal.SIGHUP)
                last = time.monotonic()
            elif drawn.random() < 0.1 and (workers := workers_of(one.process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(drawn.choice(workers), signal.SIGKILL)
                    self.counts["workers killed"] += 1
        return memory


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


def soak(model: str, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Run 64 clients for minutes; nothing may be lost or wrong, and memory stays."""
    texts, _, _ = expected(model, lines)
    with server(model, "--threads", str(options.threads)) as one:
        run = Soak(one.port, lines, texts, 60 * options.minutes)

        async def all_clients() -> list[float]:
            disturbing = asyncio.create_task(run.disturb(one))
            await asyncio.gather(*(run.client(n) for n in range(2 * options.clients)))
            return await disturbing

        memory = asyncio.run(all_clients())
    middle = memory[len(memory) // 4] if memory else 0.0
    return {
        "counts": dict(run.counts),
        **quantiles(run.times),
        "memory_MiB": {"quarter": round(middle, 1), "end": round(memory[-1], 1)},
    }


PATHS = ("/translate", "/detect", "/translate_file", "/languages", "/frontend/settings", "/RPC2",
         "/docs", "/spec", "/glossaries", "/metrics", "/ready", "/download_file/x", "/", "/%00",
         "/../etc/passwd", "/stream")  # fmt: skip


def random_value(drawn: random.Random, depth: int = 0) -> Any:
    kinds = "text number list object word null float flag".split()
    kind = drawn.choice(kinds if depth < 3 else ["text", "null"])
    if kind == "text":
        return "".join(chr(drawn.choice([drawn.randrange(128), drawn.randrange(0xD7FF)]))
                       for _ in range(drawn.randrange(40)))  # fmt: skip
    if kind == "list":
        return [random_value(drawn, depth + 1) for _ in range(drawn.randrange(4))]
    if kind == "object":
        return {drawn.choice(FIELDS): random_value(drawn, depth + 1) for _ in range(3)}
    others = {"number": drawn.randrange(-(10**20), 10**20), "null": None, "flag": True}
    return {**others, "float": drawn.random() * 1e300, "word": drawn.choice(WORDS)}[kind]


FIELDS = "q source target format alternatives glossary terms confidence api_key".split()
WORDS = ["en", "fr", "auto", "html", "text", "<b>x</b> &", "one two", "", "-1", "9" * 30]
GOOD = {"q": "one <b>two</b>", "source": "en", "target": "fr"}


def random_request(drawn: random.Random) -> bytes:
    """Return the bytes of a request: often nearly right, sometimes nothing of the kind."""
    fields = {**GOOD, drawn.choice(FIELDS): random_value(drawn)}
    body = json.dumps(drawn.choice([fields, fields, random_value(drawn)])).encode()
    if drawn.random() < 0.3:
        broken = bytearray(body or b"x")
        for _ in range(drawn.randrange(1, 5)):
            broken[drawn.randrange(len(broken))] = drawn.randrange(256)
        body = bytes(broken)
    kind = drawn.choice(
        ["application/json"] * 3
        + [
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "multipart/form-data",
            "text/xml",
            "\xff",
        ]
    )
    if "boundary" in kind:
        body = (
            b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + body
        )
        body += drawn.choice([b"\r\n--x--\r\n", b"", b"\r\n--x"])
    if kind == "text/xml":
        call = b"<methodCall><methodName>translate</methodName><params><param><value><struct>"
        body = call + drawn.choice([b"<member>", b"<!DOCTYPE x>", b"&a;"]) + body
    method = drawn.choice(["POST", "POST", "POST", "GET", "OPTIONS", "PUT", "HEAD"])
    head = f"{method} {drawn.choice(PATHS)} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
    length = len(body) if drawn.random() < 0.97 else drawn.choice(["-1", "x", "9" * 40])
    return f"{head}content-length: {length}\r\n\r\n".encode("latin-1") + body


def fuzz(model: str, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Send random requests; no 500, no traceback, no hang."""
    counts: Counter[str] = Counter()

    async def client(port: int, seed: int, end: float) -> None:
        drawn = random.Random(seed)
        while time.monotonic() < end:
            connection = Client(port)
            request = random_request(drawn)
            try:
                async with asyncio.timeout(60):
                    answer = await connection.send(request)
                counts[f"status {answer.status}"] += 1
                if answer.status == 500:
                    print(request, answer.body, file=sys.stderr)
            except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
                is_hang = isinstance(error, TimeoutError)
                counts["HANG" if is_hang else "closed"] += 1
                if is_hang:
                    print(request, file=sys.stderr)
            connection.close()

    with server(model, "--threads", str(options.threads)) as one:
        end = time.monotonic() + 60 * options.minutes

        async def all_clients() -> None:
            await asyncio.gather(*(client(one.port, seed, end) for seed in range(4)))

        asyncio.run(all_clients())
        final = asyncio.run(Client(one.port).post("/translate", GOOD))
    return {"counts": dict(counts), "final": final.status}


def beside(url: str, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Measure another server with LibreTranslate's API at localhost:PORT, given as `url`."""
    port = int(url.rpartition(":")[2].strip("/"))
    result = asyncio.run(closed_loop(port, lines, options.clients))
    words = sum(len(line.split()) for line in lines)
    return {
        "words_per_s": round(words / result["seconds"]),
        "lines_per_s": round(len(lines) / result["seconds"], 1),
        "p99_ms": result["p99_ms"],
    }


KINDS = {"throughput": throughput, "latency": latency, "soak": soak, "fuzz": fuzz, "beside": beside}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("model")
    parser.add_argument("text", nargs="?")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--pair", nargs=2, default=("en", "fr"), metavar=("SRC", "TGT"))
    options = parser.parse_args()
    PAIR.update(zip(PAIR, options.pair, strict=True))
    lines = []
    if options.text:
        lines = Path(options.text).read_text(encoding="utf-8").split("\n")[: options.lines]
        lines = [line for line in lines if line.strip()]
    print(json.dumps(KINDS[options.kind](options.model, lines, options), indent=1))


if __name__ == "__main__":
    main()
