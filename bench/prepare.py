"""Compare `nmtkit prepare` with a pipe of sacremoses and subword-nmt on the same files.

    python bench/prepare.py --corpus multi30k train.en train.fr [--corpus laws a.en.gz a.fr.gz]
        [--lines 100000] [--merges 10000] [--threads 2] [--rounds 3]

There are two jobs: tokenise both sides and split them with given BPE merges, and the same after
learning the merges. The pipe runs, for each side, `sacremoses -j THREADS tokenize` and `subword-nmt
apply-bpe`, with `subword-nmt learn-joint-bpe-and-vocab` between them. `nmtkit prepare` runs without
what the pipe does not do (cleaning, joiners, protected tags, names), and with its defaults. All run
in turns on the same lines, and the first two outputs are compared line by line. On some lines
sacremoses leaves the last period attached to a word, where Moses and nmtkit split it off.
"""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

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
from nmtkit.io.lines import read_parallel

SIDES = ("src", "tgt")
NMTKIT_PREPARE, PIPE = "nmtkit prepare", "sacremoses, subword-nmt"
NMTKIT_DEFAULTS = "nmtkit prepare, with its defaults"
AS_THE_PIPE = ["--escape", "--clean", "none", "--max-length", "1000000", "--max-ratio", "1000000"]
AS_THE_PIPE += ["--no-nfc", "--no-protected", "--no-joiners", "--no-copy-names"]
AS_THE_PIPE += ["--vocabulary-threshold", "0", "--no-language-check"]
"""Options of `nmtkit prepare` that leave out what the pipe does not do, and keep every pair."""
JOBS = {"merges given": "given", "merges learned": "learned"}

PIPE_GIVEN_MERGES = """
set -e -o pipefail
{sacremoses} -q -l {src_language} -j {threads} tokenize < {source}.src \
    | {subword} apply-bpe -c {codes} > {output}.src
{sacremoses} -q -l {tgt_language} -j {threads} tokenize < {source}.tgt \
    | {subword} apply-bpe -c {codes} > {output}.tgt
"""

PIPE_LEARNED_MERGES = """
set -e -o pipefail
{sacremoses} -q -l {src_language} -j {threads} tokenize < {source}.src > {output}.tok.src
{sacremoses} -q -l {tgt_language} -j {threads} tokenize < {source}.tgt > {output}.tok.tgt
{subword} learn-joint-bpe-and-vocab --num-workers {threads} --symbols {merges} \
    --input {output}.tok.src {output}.tok.tgt --output {output}.codes \
    --write-vocabulary {output}.words.src {output}.words.tgt
{subword} apply-bpe --num-workers {threads} -c {output}.codes \
    --input {output}.tok.src --output {output}.src
{subword} apply-bpe --num-workers {threads} -c {output}.codes \
    --input {output}.tok.tgt --output {output}.tgt
"""


@dataclass(frozen=True)
class Job:
    """Lines to prepare, `NAME.src` and `NAME.tgt` in `folder`, and the settings."""

    name: str
    folder: Path
    options: argparse.Namespace

    @property
    def given_merges(self) -> Path:
        """Return the given merges: those that the pipe has learned."""
        return self.folder / f"{self.name}.given.codes"

    def run_nmtkit(self, job: str, extra: list[str], folder: str) -> Callable[[], CommandCost]:
        """Run nmtkit with further options; it writes a folder."""
        options = self.options
        bpe = (
            ["--bpe-codes", self.given_merges] if job == "given" else ["--bpe", str(options.merges)]
        )
        files = [self.folder / f"{self.name}.{side}" for side in SIDES]
        languages = ["-s", options.languages[0], "-t", options.languages[1]]
        workers = ["--workers", str(options.threads), "--force"]
        train = ["--quiet", "prepare", "--train", *files, "--output", self.folder / folder]
        command = [*NMTKIT, *train, *languages, *extra, *bpe, *workers]
        return lambda: run_command(command, self.folder / "nmtkit.log")

    def run_pipe(self, job: str) -> Callable[[], CommandCost]:
        """Run sacremoses and subword-nmt."""
        options = self.options
        script = (PIPE_GIVEN_MERGES if job == "given" else PIPE_LEARNED_MERGES).format(
            sacremoses=shlex.quote(str(options.tools / "sacremoses")),
            subword=shlex.quote(str(options.tools / "subword-nmt")),
            src_language=options.languages[0],
            tgt_language=options.languages[1],
            threads=options.threads,
            merges=options.merges,
            codes=shlex.quote(str(self.given_merges)),
            source=shlex.quote(str(self.folder / self.name)),
            output=shlex.quote(str(self.folder / f"{self.name}.{job}.pipe")),
        )
        return lambda: run_command(["bash", "-c", script], self.folder / "pipe.log")

    def count_differing(self, job: str) -> int:
        """Return the number of lines in which the outputs differ.

        :raises BenchError: The outputs differ in their number of lines.
        """
        differing = 0
        for side in SIDES:
            ours = self.folder / f"{self.name}.{job}" / f"train.{side}"
            theirs = self.folder / f"{self.name}.{job}.pipe.{side}"
            lines = [path.read_bytes().split(b"\n") for path in (ours, theirs)]
            if len(lines[0]) != len(lines[1]):
                raise BenchError(f"{theirs}: {len(lines[1]) - 1} lines, not {len(lines[0]) - 1}")
            differing += sum(one != other for one, other in zip(*lines, strict=True))
        return differing


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench/prepare.py", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--corpus",
        nargs=3,
        action="append",
        required=True,
        metavar=("NAME", "SRC", "TGT"),
        help="raw text, plain or .gz, and its name in the table; may be repeated",
    )
    parser.add_argument(
        "--lines", type=positive, help="use the first N pairs of each corpus; default: all"
    )
    parser.add_argument("--languages", nargs=2, default=["en", "fr"], metavar=("SRC", "TGT"))
    parser.add_argument("--merges", type=positive, default=10_000)
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument("--work", type=Path, default=Path("build/bench/work"))
    parser.add_argument(
        "--tools",
        type=Path,
        default=Path(sys.executable).parent,
        help="folder of sacremoses and subword-nmt; default: that of this Python",
    )
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    return parser.parse_args(arguments)


def copy_pairs(sources: list[str], targets: list[Path], lines: int | None) -> int:
    """Copy the first pairs with words on both sides; return their number.

    :raises BenchError: A file cannot be read, or the files differ in length.
    """
    count = 0
    try:
        with open(targets[0], "wb") as src, open(targets[1], "wb") as tgt:
            pairs = (pair for pair in read_parallel(*sources) if all(map(str.split, pair)))
            for pair in islice(pairs, lines):
                count += 1
                for line, output in zip(pair, (src, tgt), strict=True):
                    output.write(f"{line}\n".encode())
    except DataError as error:
        raise BenchError(str(error)) from error
    return count


def measure(job: Job) -> dict[str, Any]:
    """Return {job: {"costs": {way: [CommandCost]}, "differing": lines}} of all rounds."""
    results = {}
    for name in job.options.jobs:
        key = JOBS[name]
        if key == "given":
            report_progress(f"{job.name}: learning the merges for both")
            job.run_pipe("learned")()
            (job.folder / f"{job.name}.learned.pipe.codes").rename(job.given_merges)
        runs = {
            NMTKIT_PREPARE: job.run_nmtkit(key, AS_THE_PIPE, f"{job.name}.{key}"),
            NMTKIT_DEFAULTS: job.run_nmtkit(key, [], f"{job.name}.{key}.defaults"),
            PIPE: job.run_pipe(key),
        }
        costs = in_turns(
            runs, job.options.rounds, lambda line: report_progress(f"{job.name}: {line}")
        )
        if len(costs) < len(runs):
            raise BenchError(f"{job.name}, {name}: there is nothing to compare")
        results[name] = {"costs": costs, "differing": job.count_differing(key)}
    return results


def rows(name: str, pairs: int, results: dict[str, Any], clock: str) -> list[list[str]]:
    """Return the rows of one corpus."""
    cells = []
    for job, measured in results.items():
        speeds = {
            way: Spread.of(pairs / run.by(clock) for run in runs)
            for way, runs in measured["costs"].items()
        }
        for way, speed in speeds.items():
            ratio = f"{speed.median / speeds[PIPE].median:.2f}"
            peak = max(run.peak for run in measured["costs"][way]) / 2**20
            count_differing = f"{measured['differing']:,}" if way == NMTKIT_PREPARE else ""
            row = [f"{name}, {pairs:,} pairs, {job}", way, with_spread(speed)]
            cells.append([*row, ratio, f"{peak:,.0f}", count_differing])
    return cells


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    options = options_of(arguments)
    header = ["corpus", "way", f"pairs a {CLOCKS[options.clock]}", "ratio"]
    header += ["largest process, MiB", "differing lines"]
    cells: list[list[str]] = []
    figures: dict[str, Any] = {"machine": machine(), "threads": options.threads}
    folder = (options.work / "prepare").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name, *sources in options.corpus:
        pairs = copy_pairs(sources, [folder / f"{name}.{side}" for side in SIDES], options.lines)
        results = measure(Job(name, folder, options))
        cells += rows(name, pairs, results, options.clock)
        figures[name] = {
            job: {way: [vars(run) for run in runs] for way, runs in measured["costs"].items()}
            | {"differing": measured["differing"]}
            for job, measured in results.items()
        }
    heading = (
        f"{machine()}, {options.threads} processes; {options.merges:,} merges; median of "
        f"{options.rounds} rounds taken in turns (lowest–highest)."
    )
    write_report(options.output, f"{heading}\n\n{table(header, cells)}", figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
