"""What preparing costs against the size of the corpus: prepare and shortlist, up to any size.

    python bench/scale.py --corpus train.en train.fr [--sizes 10000 100000 1000000 10000000]
        [--threads 2] [--rounds 1] --output scale.md --plot scale.svg

A corpus of each size is made by repeating the lines of the one that is given. Its words do not
grow with it, then, as those of real text would. Every size has its turn in every round. The table
has the time of the whole command, that of each further pair since the size before, and the memory
of its largest process; a straight line is one where a further pair always costs the same.
"""

import argparse
import dataclasses
import shutil
import sys
from collections.abc import Callable, Mapping
from itertools import chain, cycle, islice
from pathlib import Path

from plotting import Panel, draw
from timing import (
    CLOCKS,
    NMTKIT,
    BenchError,
    Finished,
    Spread,
    in_turns,
    machine,
    run_command,
    table,
    tell,
    with_spread,
    write_report,
)

from nmtkit.errors import DataError
from nmtkit.io.lines import read_raw_lines

SIDES = ("src", "tgt")
COMMANDS = ("prepare --tokenized", "prepare", "shortlist")
BLOCK = 100_000  # lines written together
Found = dict[str, dict[int, list[Finished]]]


def repeated(source: Path, target: Path, lines: int) -> None:
    """Write the lines of a file, over and over, until there are so many."""
    try:
        text = [line + b"\n" for line in read_raw_lines(source)]
    except DataError as error:
        raise BenchError(str(error)) from error
    if not text:
        raise BenchError(f"{source}: there is no line to repeat")
    endless = cycle(text)
    with open(target, "wb") as output:
        for start in range(0, lines, BLOCK):
            output.writelines(islice(endless, min(BLOCK, lines - start)))


class Corpus:
    """So many pairs in a folder of their own, and the commands on them."""

    def __init__(self, options: argparse.Namespace, size: int) -> None:
        self.folder = (options.work / "scale" / str(size)).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.workers = str(options.threads)
        self.languages = ["-s", options.languages[0], "-t", options.languages[1]]
        for source, side in zip(options.corpus, SIDES, strict=True):
            repeated(source, self.folder / f"raw.{side}", size)

    def run(self, command: str) -> Finished:
        """One of `COMMANDS`."""
        prepared = self.folder / "prepared"
        if command == "shortlist":
            words = ["shortlist", str(prepared), "--size", "30000", "--force"]
        else:
            files = [str(self.folder / f"raw.{side}") for side in SIDES]
            words = [*command.split(), "--train", *files, *self.languages]
            words += ["--workers", self.workers, "--force", "--output", str(prepared)]
        return run_command([*NMTKIT, "--quiet", *words], self.folder / "log")

    def remove(self) -> None:
        """The largest takes gigabytes."""
        shutil.rmtree(self.folder)


def measure(options: argparse.Namespace) -> Found:
    """All rounds: command -> size -> what each took."""
    found: Found = {command: {size: [] for size in options.sizes} for command in COMMANDS}

    def all_commands(size: int) -> Callable[[], None]:
        def run() -> None:
            corpus = Corpus(options, size)
            for command in COMMANDS:
                tell(f"{size:,} pairs: {command}")
                found[command][size].append(corpus.run(command))
            if not options.keep:
                corpus.remove()

        return run

    runs = {f"{size:,} pairs": all_commands(size) for size in options.sizes}
    in_turns(runs, options.rounds, tell)
    for sizes in found.values():
        for size in [size for size, taken in sizes.items() if not taken]:
            del sizes[size]
    return found


def times(taken: Mapping[int, list[Finished]], clock: str) -> dict[int, Spread]:
    """Seconds by size."""
    return {size: Spread.of(run.by(clock) for run in runs) for size, runs in taken.items()}


def further(spreads: Mapping[int, Spread]) -> dict[int, float]:
    """Microseconds for each pair more than the size before had; for the first size, for each."""
    costs, before, seconds = {}, 0, 0.0
    for size, spread in spreads.items():
        costs[size] = 1e6 * (spread.median - seconds) / (size - before)
        before, seconds = size, spread.median
    return costs


def rows(found: Found, clock: str) -> list[list[str]]:
    """The table's rows."""
    cells = []
    for command, taken in found.items():
        spreads = times(taken, clock)
        costs = further(spreads)
        for size, runs in taken.items():
            peak = max(run.peak for run in runs) / 2**20
            time = with_spread(spreads[size], 2)
            cells.append([command, f"{size:,}", time, f"{costs[size]:.1f}", f"{peak:,.0f}"])
    return cells


def panels(found: Found, clock: str) -> list[Panel]:
    """Time, and memory, against size."""
    spreads = {command: times(taken, clock) for command, taken in found.items()}
    time = Panel(
        "Time; dotted: as the largest, per pair",
        "pairs",
        f"seconds ({clock})",
        {name: list(points.items()) for name, points in spreads.items()},
        {name: proportional(points) for name, points in spreads.items()},
        logarithmic="xy",
    )
    peaks = {
        command: [
            (size, Spread.of(run.peak / 2**20 for run in runs)) for size, runs in taken.items()
        ]
        for command, taken in found.items()
    }
    memory = Panel("Memory", "pairs", "MiB, largest process", peaks, logarithmic="x")
    return [time, memory]


def proportional(points: Mapping[int, Spread]) -> list[tuple[float, float]]:
    """The line through nothing and the last point."""
    last = max(points)
    return [(size, points[last].median * size / last) for size in points]


def options_of(arguments: list[str]) -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(prog="bench/scale.py", description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, nargs=2, required=True, metavar=("SRC", "TGT"))
    parser.add_argument("--languages", nargs=2, default=["en", "fr"], metavar=("SRC", "TGT"))
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000]
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--work", type=Path, default=Path("build/bench/work"))
    parser.add_argument("--keep", action="store_true", help="leave the corpora under --work")
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    parser.add_argument("--plot", type=Path, help="SVG file")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Measure and report; 1 where it cannot be done."""
    options = options_of(arguments)
    options.sizes.sort()
    try:
        found = measure(options)
        if not all(chain(found.values())):
            raise BenchError("no size could be measured")
    except BenchError as error:
        tell(str(error))
        return 1
    header = ["command", "pairs", f"seconds ({options.clock})", "µs for each further pair"]
    header.append("largest process, MiB")
    told = f"{machine()}, {options.threads} processes; median of {options.rounds} rounds."
    figures = {
        command: {
            str(size): [dataclasses.asdict(run) for run in runs] for size, runs in taken.items()
        }
        for command, taken in found.items()
    }
    markdown = f"{told}\n\n{table(header, rows(found, options.clock))}"
    write_report(options.output, markdown, figures)
    if options.plot:
        draw(options.plot, panels(found, options.clock))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
