"""Runs of commands, taken in turns, and what they took: the part that all benchmarks share.

Speeds are only compared between runs of one sitting, taken in turns (`in_turns`), so that whatever
else the machine does falls on all alike; of several rounds the median counts, and the lowest and
the highest are told (`Spread`).
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")
ROOT = Path(__file__).resolve().parent.parent

NMTKIT = [
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from nmtkit.cli.main import main; main()",
]
"""How to start the nmtkit of this checkout; its options follow."""
CLOCKS = {"wall": "second", "cpu": "second of processor time"}
"""What a second may be; with other work on the machine, and one thread, the latter is steadier."""


class BenchError(Exception):
    """A run that cannot be made or that failed; one sentence for whoever runs the benchmark."""


@dataclass(frozen=True)
class Finished:
    """What a command took. seconds: by the clock; cpu: seconds of all its threads and children;
    peak: bytes of memory that its largest process held at once, or this process when it started
    it, if that was more."""

    seconds: float
    cpu: float
    peak: int

    def by(self, clock: str) -> float:
        """Seconds of one of `CLOCKS`."""
        return self.seconds if clock == "wall" else self.cpu


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """:raises ValueError: there is no value."""
        values = list(values)
        if not values:
            raise ValueError("no measurement")
        return cls(statistics.median(values), min(values), max(values), len(values))


def run_command(
    command: Sequence[str | Path],
    log: Path,
    environment: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> Finished:
    """Run a command to its end.

    :param log: gets its stderr, and its stdout where `stdout` is not given.
    :param environment: added to the environment that is.
    :raises BenchError: it cannot be started, or failed; the end of its log is told.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    with (
        open(log, "wb") as err,
        open(stdin or os.devnull, "rb") as source,
        open(stdout, "wb") if stdout else err as out,
    ):
        started = time.perf_counter()
        try:
            process = subprocess.Popen(
                words,
                stdin=source,
                stdout=out,
                stderr=err,
                env={**os.environ, **(environment or {})},
            )
        except OSError as error:
            raise BenchError(f"{words[0]}: cannot be run: {error.strerror}") from error
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
    if process.returncode:
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise BenchError(
            f"{' '.join(words[:4])} ...: exit status {process.returncode}: "
            f"{' '.join(last) or 'it said nothing'} (all of it: {log})"
        )
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    return Finished(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * unit)


def thread_environment(threads: int) -> dict[str, str]:
    """What lets a program that knows nothing of --threads use so many cores."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {name: str(threads) for name in names}


def in_turns(
    runs: Mapping[str, Callable[[], Result]], rounds: int, say: Callable[[str], None]
) -> dict[str, list[Result]]:
    """Run each `rounds` times, one after another; each round begins one further on.

    What fails is told and left out of the later rounds and of the results; the rest goes on.
    """
    found: dict[str, list[Result]] = {name: [] for name in runs}
    for number in range(rounds):
        names = list(found)
        first = number % max(len(names), 1)
        for name in names[first:] + names[:first]:
            say(f"round {number + 1} of {rounds}: {name}")
            try:
                found[name].append(runs[name]())
            except BenchError as error:
                say(f"{name} is left out: {error}")
                del found[name]
    return found


def tell(line: str) -> None:
    """A line about the progress of a benchmark, on stderr."""
    print(f"bench: {line}", file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is aligned to the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_spread(found: Spread, digits: int = 0) -> str:
    """ "4,050 (3,990–4,102)": the median, and the lowest and the highest in brackets."""
    if found.count == 1:
        return f"{found.median:,.{digits}f}"
    return f"{found.median:,.{digits}f} ({found.low:,.{digits}f}–{found.high:,.{digits}f})"


def write_report(output: Path | None, markdown: str, figures: Any) -> None:
    """Print the Markdown; with `output`, write it there too, and all figures beside it as JSON."""
    print(markdown)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(markdown + "\n", encoding="utf-8")
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        output.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def machine() -> str:
    """The processor and what this process may use of it, in words."""
    name = "unknown processor"
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores"
