"""Measure the peak memory of nmtkit's commands on a corpus and on a repeated corpus.

    python bench/memory.py --data MULTI30K [--times 50] [--peers FOLDER] [--threads 2]

prepare, shortlist and train (a few updates of the small size) run on the raw text once and
repeated; translate runs on the lines of test2016 once and repeated. For each command with its
worker processes the table has

- largest process: the peak resident memory of one process (ru_maxrss), mapped files included;
- all processes, anonymous: the peak sum over all processes of anonymous memory (Pss_Anon), sampled
  every 50 ms. The system can drop pages of mapped files at any time, so this is what the command
  really needs.

Installed peers train and translate the corpus once.
"""

import argparse
import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from operations import SMALL
from peer_systems import peers
from systems import Data, Nmtkit, System, Task
from timing import (
    NMTKIT,
    BenchError,
    CommandCost,
    exit_with,
    machine,
    positive,
    report_progress,
    run_command,
    table,
    write_report,
)

SAMPLING_INTERVAL = 0.05  # seconds
SIDES = ("en", "fr")
TEST = "test2016"
MIB = 2**20
STEPS = (
    "prepare",
    "prepare, BPE",
    "shortlist",
    "train, first",
    "train, again",
    "train, BPE",
    "train, BPE-dropout",
    "translate",
)


@dataclass(frozen=True)
class MemoryCost:
    """Cost of a command, and the peak anonymous memory of all its processes in bytes."""

    run: CommandCost
    anonymous: int


class MemorySampler:
    """A thread that samples the memory of the descendants that this process gets from now on."""

    def __init__(self) -> None:
        self.anonymous = 0
        self._others = frozenset(children(os.getpid()))
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample_repeatedly, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _sample_repeatedly(self) -> None:
        while not self._end.wait(SAMPLING_INTERVAL):
            new = [process for process in children(os.getpid()) if process not in self._others]
            total = sum(anonymous_bytes(p) for child in new for p in [child, *descendants(child)])
            self.anonymous = max(self.anonymous, total)


def children(process: int) -> list[int]:
    """Return the pids of all direct child processes."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in path.read_text().split()]
    return found


def descendants(process: int) -> list[int]:
    """Return the pids of all direct and indirect child processes."""
    direct = children(process)
    return direct + [descendant for child in direct for descendant in descendants(child)]


def anonymous_bytes(process: int) -> int:
    """Return a process's anonymous memory, with its share of shared pages; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:"))


def peak_memory(
    command: Sequence[str | Path],
    log: Path,
    environment: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> MemoryCost:
    """Run a command to its end, as `run_command` does, and sample its memory.

    :raises BenchError: The command failed.
    """
    with MemorySampler() as sampler:
        finished = run_command(command, log, environment, stdin, stdout)
    return MemoryCost(finished, sampler.anonymous)


def write_repeated(source: Path, target: Path, times: int) -> Path:
    """Write the text `times` times to the target file, and return its path."""
    text = source.read_bytes()
    with open(target, "wb") as output:
        for _ in range(times):
            output.write(text)
    return target


class Measurement:
    """All commands on the text repeated `times` times, in a separate folder."""

    def __init__(self, options: argparse.Namespace, times: int) -> None:
        self.options = options
        self.folder = (options.work / "memory" / f"{times}").absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        data = options.data
        self.train = [
            write_repeated(data / f"train.{side}", self.folder / f"raw.{side}", times)
            for side in SIDES
        ]
        self.dev = [data / f"val.{side}" for side in SIDES]
        self.test = [data / f"{TEST}.{side}" for side in SIDES]
        self.times = times

    def nmtkit(self, *words: str | Path) -> MemoryCost:
        """Run an nmtkit command."""
        threads = Nmtkit().environment(self.options.threads)
        return peak_memory([*NMTKIT, "--quiet", *words], self.folder / "nmtkit.log", threads)

    def prepare(self, folder: Path, *bpe: str) -> MemoryCost:
        """Prepare the text into a folder."""
        files = ["--train", *self.train, "--dev", *self.dev, "--test", TEST, *self.test]
        workers = ["--workers", str(self.options.threads)]
        languages = ["-s", "en", "-t", "fr"]
        return self.nmtkit(
            "prepare", *languages, *files, *bpe, *workers, "--force", "--output", folder
        )

    def run(self) -> dict[str, MemoryCost]:
        """Return memory by step of `STEPS`."""
        runs = dict(zip(STEPS, self.steps(), strict=True))
        costs = {}
        for step, run in runs.items():
            report_progress(f"{self.times} times the corpus: {step}")
            costs[step] = run()
        return costs

    def steps(self) -> Iterator[Callable[[], MemoryCost]]:
        """Yield the commands of `STEPS`; the first training also writes the binarised ids."""
        words, pieces = self.folder / "prepared", self.folder / "pieces"
        shortlist = ["shortlist", words, "--size", "10000", "--force"]
        yield lambda: self.prepare(words, "--subword", "none")
        yield lambda: self.prepare(pieces, "--bpe", "10000")
        yield lambda: self.nmtkit(*shortlist)
        for _ in range(2):
            yield lambda: train(Nmtkit(), self.task("nmtkit"))
        yield lambda: self.train_pieces(0.0)
        yield lambda: self.train_pieces(0.1)
        yield lambda: translate(Nmtkit(), self.task("nmtkit"), self.times, self.options.beam)

    def train_pieces(self, dropout: float) -> MemoryCost:
        """Train on pieces, with BPE-dropout."""
        self.nmtkit("shortlist", self.folder / "pieces", "--force")
        system = Nmtkit(extra=[f"data.bpe_dropout={dropout}"])
        return train(system, self.task("nmtkit-pieces", "pieces"))

    def task(self, name: str, prepared: str = "prepared") -> Task:
        """Return a training task of a few updates."""
        data = Data.open(self.folder / prepared, self.folder / name)
        updates, threads = self.options.updates, self.options.threads
        return Task(data, self.folder / name, SMALL, updates, threads)


def train(system: System, task: Task) -> MemoryCost:
    """Train a few updates."""
    environment = system.environment(task.threads)
    return peak_memory(system.train(task), task.folder / "train.log", environment)


def translate(system: System, task: Task, times: int, beam: int) -> MemoryCost:
    """Translate the tokenised test set, repeated `times` times."""
    source = write_repeated(task.data.text(TEST, "src"), task.folder / "source.txt", times)
    output = task.folder / "output.txt"
    command = system.translate(task, source, output, beam)
    environment = system.environment(task.threads)
    streams = system.streams(source, output)
    return peak_memory(command, task.folder / "translate.log", environment, **streams)


def measure_peers(measurement: Measurement) -> dict[str, dict[str, MemoryCost]]:
    """Measure training and translation of the installed peers, without those that fail."""
    costs: dict[str, dict[str, MemoryCost]] = {}
    beam = measurement.options.beam
    for system in peers(measurement.options.peers):
        task = measurement.task(system.name.split()[0].lower())
        report_progress(f"{system.name}: train, translate")
        try:
            trained = train(system, task)
            costs[system.name] = {"train": trained, "translate": translate(system, task, 1, beam)}
        except BenchError as error:
            report_progress(f"{system.name} is skipped: {error}")
    return costs


def in_mib(cost: MemoryCost) -> list[str]:
    """Return cells for the largest process and for all processes together."""
    return [f"{cost.run.peak / MIB:,.0f}", f"{cost.anonymous / MIB:,.0f}"]


def report(
    costs: dict[int, dict[str, MemoryCost]], peer_costs: dict[str, dict[str, MemoryCost]]
) -> str:
    """Return the Markdown report: a row per command, then one per peer command."""
    header = ["command"]
    for times in costs:
        header += [f"{times} ×: s", "largest process, MiB", "all processes, anonymous, MiB"]
    rows = []
    for step in STEPS:
        cells = [[f"{run[step].run.seconds:,.1f}", *in_mib(run[step])] for run in costs.values()]
        rows.append([f"nmtkit {step}", *(cell for group in cells for cell in group)])
    for name, steps in peer_costs.items():
        for step, cost in steps.items():
            empty = [""] * 3 * (len(costs) - 1)
            rows.append([f"{name}: {step}", f"{cost.run.seconds:,.1f}", *in_mib(cost), *empty])
    return table(header, rows)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench/memory.py", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of raw Multi30k")
    parser.add_argument(
        "--times", type=positive, nargs="+", default=[1, 50], help="how often to repeat the corpus"
    )
    parser.add_argument("--peers", type=Path, help="folder that bench/peers/build.sh filled")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--updates", type=positive, default=20)
    parser.add_argument("--beam", type=positive, choices=[1, 5, 12], default=1)
    parser.add_argument("--work", type=Path, default=Path("build/bench/work"))
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    options = options_of(arguments)
    costs: dict[int, dict[str, MemoryCost]] = {}
    peer_costs: dict[str, dict[str, MemoryCost]] = {}
    for times in options.times:
        measurement = Measurement(options, times)
        costs[times] = measurement.run()
        if times == min(options.times):
            peer_costs = measure_peers(measurement)
    heading = f"{machine()}, {options.threads} threads; training: {options.updates} updates, size "
    heading += f"SMALL; translating: beam {options.beam}, {TEST}; the corpus once and repeated."
    figures: dict[str, Any] = {
        str(times): {step: figures_of(cost) for step, cost in steps.items()}
        for times, steps in costs.items()
    }
    figures["peers"] = {
        name: {step: figures_of(cost) for step, cost in steps.items()}
        for name, steps in peer_costs.items()
    }
    write_report(options.output, f"{heading}\n\n{report(costs, peer_costs)}", figures)
    return 0


def figures_of(cost: MemoryCost) -> dict[str, float]:
    """Return seconds and bytes for the JSON file."""
    return {**vars(cost.run), "anonymous": cost.anonymous}


if __name__ == "__main__":
    exit_with(main)
