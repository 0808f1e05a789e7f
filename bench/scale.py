"""Measure prepare and shortlist as a function of corpus size.

    python bench/scale.py --corpus train.en train.fr [--sizes 10000 100000 1000000 10000000]
        [--threads 2] [--rounds 1] --output scale.md --plot scale.svg

A corpus of each size repeats the lines of the given one; unlike in real text, the number of
different words does not grow. Every round runs every size. The table has the time of the whole
command, the time per additional pair relative to the previous size, and the peak memory of its
largest process. A constant time per additional pair means that time grows linearly.
"""

import argparse
import dataclasses
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, cycle, islice
from pathlib import Path

from plotting import Panel, draw
from timing import (
    CLOCKS,
    NMTKIT,
    BenchError,
    CommandCost,
    Spread,
    exit_with,
    in_turns,
    machine,
    positive,
    report_progress,
    run_command,
    table,
    with_spread,
    write_report,
)

from nmtkit.errors import DataError
from nmtkit.io.lines import read_raw_lines

SIDES = ("src", "tgt")
COMMANDS = ("prepare --tokenized", "prepare", "shortlist")
BLOCK_LINES = 100_000  # lines written at a time
Costs = dict[str, dict[int, list[CommandCost]]]


def write_repeated(source: Path, target: Path, lines: int) -> None:
    """Write the lines of a file repeatedly until there are `lines`."""
    try:
        text = [line + b"\n" for line in read_raw_lines(source)]
    except DataError as error:
        raise BenchError(str(error)) from error
    if not text:
        raise BenchError(f"{source}: there is no line to repeat")
    endless = cycle(text)
    with open(target, "wb") as output:
        for start in range(0, lines, BLOCK_LINES):
            output.writelines(islice(endless, min(BLOCK_LINES, lines - start)))


class Corpus:
    """A corpus of some size in its own folder, and the commands that run on it."""

    def __init__(self, options: argparse.Namespace, size: int) -> None:
        self.folder = (options.work / "scale" / str(size)).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.workers = str(options.threads)
        self.languages = ["-s", options.languages[0], "-t", options.languages[1]]
        for source, side in zip(options.corpus, SIDES, strict=True):
            write_repeated(source, self.folder / f"raw.{side}", size)

    def run(self, command: str) -> CommandCost:
        """Run one of `COMMANDS`."""
        prepared = self.folder / "prepared"
        if command == "shortlist":
            words = ["shortlist", str(prepared), "--size", "30000", "--force"]
        else:
            files = [str(self.folder / f"raw.{side}") for side in SIDES]
            words = [*command.split(), "--subword", "none", "--train", *files, *self.languages]
            words += ["--workers", self.workers, "--force", "--output", str(prepared)]
        return run_command([*NMTKIT, "--quiet", *words], self.folder / "log")

    def remove(self) -> None:
        """Delete the files; the largest corpus takes gigabytes."""
        shutil.rmtree(self.folder)


def measure(options: argparse.Namespace) -> Costs:
    """Run all rounds; return cost by command and size."""
    costs_by_command: Costs = {
        command: {size: [] for size in options.sizes} for command in COMMANDS
    }

    def all_commands(size: int) -> Callable[[], None]:
        def run() -> None:
            corpus = Corpus(options, size)
            for command in COMMANDS:
                report_progress(f"{size:,} pairs: {command}")
                costs_by_command[command][size].append(corpus.run(command))
            if not options.keep:
                corpus.remove()

        return run

    runs = {f"{size:,} pairs": all_commands(size) for size in options.sizes}
    in_turns(runs, options.rounds, report_progress)
    for sizes in costs_by_command.values():
        for size in [size for size, costs in sizes.items() if not costs]:
            del sizes[size]
    return costs_by_command


def times(costs: Mapping[int, list[CommandCost]], clock: str) -> dict[int, Spread]:
    """Return seconds by size."""
    return {size: Spread.of(run.by(clock) for run in runs) for size, runs in costs.items()}


def marginal_microseconds(spreads: Mapping[int, Spread]) -> dict[int, float]:
    """Return microseconds per additional pair since the previous size (from 0 for the first)."""
    costs, previous, seconds = {}, 0, 0.0
    for size, spread in spreads.items():
        costs[size] = 1e6 * (spread.median - seconds) / (size - previous)
        previous, seconds = size, spread.median
    return costs


def rows(costs_by_command: Costs, clock: str) -> list[list[str]]:
    """Return the rows of the table."""
    cells = []
    for command, costs in costs_by_command.items():
        spreads = times(costs, clock)
        marginal = marginal_microseconds(spreads)
        for size, runs in costs.items():
            peak = max(run.peak for run in runs) / 2**20
            time = with_spread(spreads[size], 2)
            cells.append([command, f"{size:,}", time, f"{marginal[size]:.1f}", f"{peak:,.0f}"])
    return cells


def panels(costs_by_command: Costs, clock: str) -> list[Panel]:
    """Return panels of time and of memory against size."""
    spreads = {command: times(costs, clock) for command, costs in costs_by_command.items()}
    time = Panel(
        "Time; dotted: proportional to pairs",
        "pairs",
        f"seconds ({clock})",
        {name: list(points.items()) for name, points in spreads.items()},
        {name: proportional(points) for name, points in spreads.items()},
        logarithmic="xy",
    )
    peaks = {
        command: [
            (size, Spread.of(run.peak / 2**20 for run in runs)) for size, runs in costs.items()
        ]
        for command, costs in costs_by_command.items()
    }
    memory = Panel("Memory", "pairs", "MiB, largest process", peaks, logarithmic="x")
    return [time, memory]


def proportional(points: Mapping[int, Spread]) -> list[tuple[float, float]]:
    """Return the line through the origin and the last point."""
    last = max(points)
    return [(size, points[last].median * size / last) for size in points]


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench/scale.py", description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, nargs=2, required=True, metavar=("SRC", "TGT"))
    parser.add_argument("--languages", nargs=2, default=["en", "fr"], metavar=("SRC", "TGT"))
    parser.add_argument(
        "--sizes", type=positive, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000]
    )
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--rounds", type=positive, default=1)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--work", type=Path, default=Path("build/bench/work"))
    parser.add_argument("--keep", action="store_true", help="leave the corpora under --work")
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    parser.add_argument("--plot", type=Path, help="SVG file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    options = options_of(arguments)
    options.sizes.sort()
    costs_by_command = measure(options)
    if not all(chain(costs_by_command.values())):
        raise BenchError("no size could be measured")
    header = ["command", "pairs", f"seconds ({options.clock})", "µs per additional pair"]
    header.append("largest process, MiB")
    heading = f"{machine()}, {options.threads} processes; median of {options.rounds} rounds."
    figures = {
        command: {
            str(size): [dataclasses.asdict(run) for run in runs] for size, runs in costs.items()
        }
        for command, costs in costs_by_command.items()
    }
    markdown = f"{heading}\n\n{table(header, rows(costs_by_command, options.clock))}"
    write_report(options.output, markdown, figures)
    if options.plot:
        draw(options.plot, panels(costs_by_command, options.clock), "Time and memory against pairs")
    return 0


if __name__ == "__main__":
    exit_with(main)
