"""Random requests to every endpoint of `nmtkit serve`."""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from typing import Any

from serve_load import Client, server

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
