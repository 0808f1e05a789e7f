"""`nmtkit serve` beside LibreTranslate: the same requests from the same clients, in turns.

    python bench/serve_peers.py MODEL TEXT --peers build/bench/peers --argos WORK/packages --beam 4
        [--references TEXT]

WORK is that of `bench/argos.py`, and `bench/peers/build.sh` installs LibreTranslate. Prints a JSON
object. Both servers run all the time, with as many threads; one waits while the other is measured.
LibreTranslate's settings are its own apart from `settings_of`; ARGOS_* in the environment, such as
ARGOS_COMPUTE_TYPE=int8 or ARGOS_INTRA_THREADS=2, come before these.
"""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring import scores_of_lines
from serve_load import CLIENTS, HOST, PAIR, ServerUnderTest, closed_loop, open_loop, server
from timing import BenchError, exit_with, positive, report_progress

START_SECONDS = 120.0
WARM_UP = 64
"""Lines that each server translates before it is measured."""

Figures = dict[str, float]


def settings_of(packages: Path, folder: Path, threads: int, beam: int) -> dict[str, str]:
    """Return LibreTranslate's environment: one search a thread, and no files but the packages.

    onnxruntime, which splits sentences, sends statistics from version 1.29 on unless told not to.

    :param folder: for all that it writes.
    """
    homes = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    settings = {
        "ARGOS_PACKAGES_DIR": str(packages.absolute()),
        "ARGOS_INTER_THREADS": str(threads),
        "ARGOS_INTRA_THREADS": "1",
        "ARGOS_BEAM_SIZE": str(beam),
    }
    fixed = {name: str(folder / name) for name in homes} | {"ORT_DISABLE_TELEMETRY": "1"}
    return {**settings, **os.environ, **fixed}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server((HOST, 0)) as one:
        port: int = one.getsockname()[1]
        return port


def wait_for(process: subprocess.Popen[str], port: int, log: Path) -> None:
    """Return when the server listens.

    :raises BenchError: it ended, or took too long.
    """
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
            return
        time.sleep(0.2)
    raise BenchError(f"LibreTranslate does not start: {log.read_text(encoding='utf-8')[-500:]}")


@contextlib.contextmanager
def libretranslate(
    program: Path, packages: Path, threads: int, beam: int
) -> Iterator[ServerUnderTest]:
    """Run LibreTranslate with the packages of a folder.

    With fewer than two packages it would try to download all that there are.
    """
    if len(list(packages.glob("*/metadata.json"))) < 2:
        raise BenchError(f"{packages}: has no two packages; bench/argos.py writes them")
    port = free_port()
    fixed = [
        "--disable-files-translation",
        "--disable-web-ui",
        "--load-only",
        ",".join(PAIR.values()),
    ]
    command = [str(program.absolute()), "--host", HOST, "--port", str(port), *fixed]
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w+") as log:
        settings = settings_of(packages, Path(folder), threads, beam)
        process = subprocess.Popen(
            command, env=settings, cwd=folder, stdout=log, stderr=log, text=True
        )
        try:
            wait_for(process, port, Path(log.name))
            yield ServerUnderTest(process, port)
        finally:
            process.terminate()
            process.wait(60)


def at_full_load(
    one: ServerUnderTest, lines: Sequence[str], clients: int, references: Sequence[str] = ()
) -> Figures:
    """Let clients send one sentence a request, each after its last answer.

    :param references: of all lines; if given, translations are scored by sacreBLEU.
    """
    before = one.processor_seconds()
    result = asyncio.run(closed_loop(one.port, lines, clients))
    processor = one.processor_seconds() - before
    words, seconds = sum(len(text.split()) for text in result["texts"]), result["seconds"]
    quality = {}
    if references:
        _, bleu = scores_of_lines(result["texts"], references, PAIR["target"])
        quality = {"bleu": round(bleu, 1)}
    return quality | {
        "lines_per_s": round(len(lines) / seconds, 1),
        "words_per_s": round(words / seconds),
        "words_per_line": round(words / len(lines), 2),
        "median_ms": result["median_ms"],
        "p99_ms": result["p99_ms"],
        "processor_ms_per_line": round(1000 * processor / len(lines), 2),
    }


def idle(one: ServerUnderTest, lines: Sequence[str]) -> Figures:
    """Send one sentence at a time."""
    result = asyncio.run(closed_loop(one.port, lines, 1))
    return {name: result[name] for name in ("median_ms", "p99_ms")}


def at_rate(one: ServerUnderTest, lines: Sequence[str], rate: float) -> Figures:
    """Send sentences at random moments, so many a second."""
    latencies = asyncio.run(open_loop(one.port, lines, rate))
    return {"requests_per_s": round(rate, 1), **latencies}


def median_of(rounds: Sequence[Figures]) -> Figures:
    """Return the median of each figure."""
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def compare(
    servers: Mapping[str, ServerUnderTest],
    lines: Sequence[str],
    options: argparse.Namespace,
    references: Sequence[str] = (),
) -> dict[str, Any]:
    """Measure servers in turns: full load, idle, half of their own and of the lower full load.

    :param references: of all lines, for BLEU.
    """
    for one in servers.values():
        asyncio.run(closed_loop(one.port, lines[:WARM_UP], options.clients))
    found: dict[str, dict[str, list[Figures]]] = {name: {} for name in servers}

    def note(kind: str, name: str, figures: Figures) -> None:
        report_progress(f"{name}, {kind}: {figures}")
        found[name].setdefault(kind, []).append(figures)

    for number in range(options.rounds):
        turns = list(servers.items())[:: 1 if number % 2 == 0 else -1]
        for name, one in turns:
            note("full", name, at_full_load(one, lines, options.clients, references))
        rates = {name: found[name]["full"][-1]["lines_per_s"] / 2 for name in servers}
        for name, one in turns:
            note("idle", name, idle(one, lines))
        for name, one in turns:
            note("half", name, at_rate(one, lines, rates[name]))
            note("equal", name, at_rate(one, lines, min(rates.values())))
    medians = {
        name: {kind: median_of(rounds) for kind, rounds in kinds.items()}
        for name, kinds in found.items()
    }
    return {"lines": len(lines), "clients": options.clients, "medians": medians, "rounds": found}


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="model folder of nmtkit")
    parser.add_argument("text", type=Path, help="source sentences")
    parser.add_argument("--references", type=Path, help="their translations, for BLEU")
    parser.add_argument("--peers", type=Path, default=Path("build/bench/peers"), metavar="DIR")
    parser.add_argument("--argos", type=Path, required=True, metavar="DIR", help="packages")
    parser.add_argument("--lines", type=positive, default=1000)
    parser.add_argument("--clients", type=positive, default=CLIENTS)
    parser.add_argument("--threads", type=positive, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument(
        "--beam", type=positive, default=4, help="of both; 4 is LibreTranslate's own"
    )
    parser.add_argument("--fast", action="store_true", help="nmtkit serve --fast")
    parser.add_argument("--pair", nargs=2, default=("en", "fr"), metavar=("SRC", "TGT"))
    return parser.parse_args(arguments)


def server_options(options: argparse.Namespace) -> list[str]:
    """Return the options of `nmtkit serve`, which runs on the CPU, as LibreTranslate does."""
    fast = ["--fast"] if options.fast else []
    fixed = ["--device", "cpu", "--threads", str(options.threads), "--beam", str(options.beam)]
    return [*fixed, *fast]


def main(arguments: Sequence[str]) -> int:
    """Start both servers, and print what was measured."""
    options = options_of(arguments)
    PAIR.update(zip(PAIR, options.pair, strict=True))
    files = filter(None, [options.text, options.references])
    texts = [file.read_text(encoding="utf-8").split("\n")[: options.lines] for file in files]
    if len({len(text) for text in texts}) > 1:
        raise BenchError(f"{options.references}: not as many lines as {options.text}")
    rows = [row for row in zip(*texts, strict=True) if row[0].strip()]
    if not rows:
        raise BenchError(f"{options.text}: there are no sentences")
    lines, *references = zip(*rows, strict=True)
    program = options.peers / "libretranslate" / "bin" / "libretranslate"
    with (
        server(options.model, *server_options(options)) as nmtkit,
        libretranslate(program, options.argos, options.threads, options.beam) as peer,
    ):
        servers = {"nmtkit": nmtkit, "LibreTranslate": peer}
        print(json.dumps(compare(servers, lines, options, *references), indent=1))
    return 0


if __name__ == "__main__":
    exit_with(main)
