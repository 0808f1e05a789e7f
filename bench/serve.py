"""Load on `nmtkit serve`: throughput, latency, a long run with everything that goes wrong, fuzzing.

    python bench/serve.py throughput MODEL TEXT            32 clients, and `nmtkit translate`
    python bench/serve.py latency MODEL TEXT               a sentence at a time, and at half load
    python bench/serve.py soak MODEL TEXT --minutes 10     64 clients, kills, reloads
    python bench/serve.py fuzz MODEL --minutes 30          random requests to every endpoint
    python bench/serve.py beside URL TEXT                  another server with LibreTranslate's API,
                                                           at http://localhost:PORT

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
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serve_fuzz import fuzz
from serve_load import (
    CLIENTS,
    HOST,
    PAIR,
    Answer,
    Client,
    ServerUnderTest,
    closed_loop,
    open_loop,
    quantiles,
    server,
    workers_of,
)
from timing import BenchError, exit_with, positive

RELOAD_SECONDS = 20.0


def expected(model: str, lines: Sequence[str], *options: str) -> tuple[list[str], float, float]:
    """Return what `nmtkit translate` makes of lines, its seconds and its processor time.

    Both are without those of starting.

    :raises BenchError: it fails.
    """
    command = [sys.executable, "-m", "nmtkit", "translate", "-m", model, *options]
    seconds, processor = [], []
    output: list[str] = []
    for text in ("".join(f"{line}\n" for line in lines), "a\n"):
        started = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if result.returncode:
            raise BenchError(result.stderr.strip().split("\n")[-1])
        seconds.append(time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        processor.append(used)
        output = output or result.stdout.split("\n")[:-1]
    return output, seconds[0] - seconds[1], processor[0] - processor[1]


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


def beside(url: str, lines: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Measure another server with LibreTranslate's API on this machine."""
    port = local_port(url)
    result = asyncio.run(closed_loop(port, lines, options.clients))
    words = sum(len(line.split()) for line in lines)
    return {
        "words_per_s": round(words / result["seconds"]),
        "lines_per_s": round(len(lines) / result["seconds"], 1),
        "p99_ms": result["p99_ms"],
    }


def local_port(url: str) -> int:
    """Return the port of a URL such as http://localhost:5000.

    :raises BenchError: it has none, or is of another machine.
    """
    parts = urlsplit(url if "//" in url else f"//{url}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.hostname not in ("localhost", HOST) or port is None:
        raise BenchError(f"{url}: expected http://localhost:PORT, a server on this machine")
    return port


KINDS = {"throughput": throughput, "latency": latency, "soak": soak, "fuzz": fuzz, "beside": beside}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("model")
    parser.add_argument("text", nargs="?")
    parser.add_argument("--lines", type=positive, default=1000)
    parser.add_argument("--clients", type=positive, default=CLIENTS)
    parser.add_argument("--threads", type=positive, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--pair", nargs=2, default=("en", "fr"), metavar=("SRC", "TGT"))
    options = parser.parse_args(arguments)
    if options.text is None and options.kind != "fuzz":
        parser.error(f"{options.kind} needs TEXT, a file of source sentences")
    if options.minutes <= 0:
        parser.error("--minutes must be more than 0")
    PAIR.update(zip(PAIR, options.pair, strict=True))
    lines = []
    if options.text:
        lines = Path(options.text).read_text(encoding="utf-8").split("\n")[: options.lines]
        lines = [line for line in lines if line.strip()]
        if not lines:
            raise BenchError(f"{options.text}: there are no sentences")
    print(json.dumps(KINDS[options.kind](options.model, lines, options), indent=1))
    return 0


if __name__ == "__main__":
    exit_with(main)
