"""Measure how long a line takes that comes alone, through an open pipe.

    python bench/latency.py MODEL LINES [--beam 5] [--threads 1] [--count 200] [--fast]
        [--output FILE]

`nmtkit translate` is started once; each line is written when the translation of the one before has
come back. The first lines, in which memory is allocated, do not count. Prints the median, and the
times below which 95 and 99 % of the lines stay. With one thread it uses one core if the system can
bind it (`taskset`).
"""

import argparse
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from timing import (
    NMTKIT,
    BenchError,
    cpu_environment,
    exit_with,
    machine,
    positive,
    table,
    write_report,
)

FIRST = 10
"""Lines that do not count."""

PERCENTILES = (50, 95, 99)


def seconds_of_lines(command: Sequence[str], lines: Sequence[str], threads: int) -> list[float]:
    """Return the seconds of each line after the first ones.

    :raises BenchError: the command ends before all lines are translated.
    """
    seconds: list[float] = []
    environment = {**os.environ, **cpu_environment(threads)}
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) as process:
            assert process.stdin and process.stdout
            for line in lines:
                started = time.perf_counter()
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
                if not process.stdout.readline():
                    raise BrokenPipeError
                seconds.append(time.perf_counter() - started)
    except BrokenPipeError as error:
        raise BenchError(f"nmtkit translate ended after {len(seconds)} lines") from error
    return seconds[FIRST:]


def on_one_core() -> list[str]:
    """Return the words that bind a command to one of this process's cores, none without taskset."""
    if shutil.which("taskset") is None:
        return []
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("lines", type=Path, help="raw source text")
    parser.add_argument("--beam", type=positive, default=5)
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--count", type=positive, default=200, help="number of lines")
    parser.add_argument("--fast", action="store_true", help="also measure translate --fast")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    with options.lines.open(encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in islice(file, FIRST + options.count)]
    if len(lines) <= FIRST:
        raise BenchError(f"{options.lines}: {len(lines)} lines; more than {FIRST} are needed")
    bound = on_one_core() if options.threads == 1 else []
    fixed = [*bound, *NMTKIT, "translate", "--model", str(options.model)]
    fixed += ["--beam", str(options.beam), "--threads", str(options.threads)]
    rows, figures = [], {}
    for extra in [[], ["--fast"]] if options.fast else [[]]:
        name = " ".join(["nmtkit translate", *extra])
        seconds = seconds_of_lines([*fixed, *extra], lines, options.threads)
        figures[name] = seconds
        rows.append([name, *(f"{1000 * np.percentile(seconds, p):.1f}" for p in PERCENTILES)])
    words = sum(len(line.split()) for line in lines[FIRST:]) / max(len(lines) - FIRST, 1)
    heading = (
        f"{machine()}, threads: {options.threads}; beam {options.beam}; {len(lines) - FIRST} lines"
        f" of {words:.1f} words on average"
    )
    header = ["command", "median, ms", *(f"{p} %, ms" for p in PERCENTILES[1:])]
    write_report(options.output, f"{heading}\n\n{table(header, rows)}", figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
