"""Compare the start-up time of commands with importing torch and loading the parameters.

    python bench/cold_start.py MODEL [--rounds 15] [--threads 1]

MODEL is a model folder. Each command runs in a separate process on one line, in turns; the first
round fills the system's file cache and does not count. Ratios are to the baseline

    python -c "import torch; from safetensors.torch import load_file; load_file(PARAMETERS)"

which maps the parameter file without reading it. A second table breaks down the processor time of
`nmtkit translate`.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from timing import (
    NMTKIT,
    ROOT,
    BenchError,
    CommandCost,
    Spread,
    cpu_environment,
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

LINE, TRANSLATION = "A man is reading.\n", "Un homme lit.\n"

BASELINE_NAME = "import torch, load"
BASELINE = "import torch; from safetensors.torch import load_file; load_file({path!r})"

PHASES = """
import gc, sys, time
from pathlib import Path

last = 0.0

def phase(name):
    global last
    now = time.process_time()
    print(f"{1e3 * (now - last):.0f}\\t{name}")
    last = now

phase("the interpreter")
import nmtkit.cli.main, nmtkit.cli.translate
phase("the command line")
gc.disable()
import torch
phase("torch")
import nmtkit.inference.translator, nmtkit.inference.stream_batching
gc.freeze()
gc.enable()
phase("the rest of the package")
folder, line = Path(sys.argv[1]), sys.argv[2]
from nmtkit.model_folder import build_model, read_config, read_vocabularies
from nmtkit.text.pipeline import TextPipeline
from nmtkit.io.parameters import load_parameters
config = read_config(folder)
words = read_vocabularies(folder)
phase("settings and vocabularies")
with torch.device("meta"):
    model = build_model(config, len(words[0]), len(words[1]))
load_parameters(model, folder / "params.best.safetensors")
phase("parameters")
TextPipeline.load(folder, "src", config.text).tokens(line)
phase("tokenising the line")
translator = nmtkit.inference.translator.Translator.load(folder)
last = time.process_time()  # excludes loading the model again, which is counted above
list(translator.translate([line]))
phase("translating the line")
"""
"""Program that runs the steps of `nmtkit translate` and prints processor milliseconds for each."""


def commands(model: Path, folder: Path) -> dict[str, list[str]]:
    """Return command lines by name, the baseline first.

    :param folder: Where the commands may write files.
    """
    source, target = folder / "en", folder / "fr"
    source.write_text(LINE, encoding="utf-8")
    target.write_text(TRANSLATION, encoding="utf-8")
    pair = [str(source), str(target)]
    prepared = ["-s", "en", "-t", "fr", "--output", str(folder / "prepared"), "--force"]
    baseline = BASELINE.format(path=str(model / "params.best.safetensors"))
    return {
        BASELINE_NAME: [sys.executable, "-c", baseline],
        "nmtkit translate": [*NMTKIT, "translate", "--model", str(model)],
        "nmtkit score": [*NMTKIT, "score", "--model", str(model), *pair],
        "nmtkit align": [*NMTKIT, "align", "--model", str(model), *pair],
        "nmtkit prepare": [*NMTKIT, "prepare", "--subword", "none", "--train", *pair, *prepared],
        "nmtkit --help": [*NMTKIT, "--help"],
    }


def measure(model: Path, folder: Path, rounds: int, threads: int) -> dict[str, list[CommandCost]]:
    """Run all commands in turns, without counting the round that fills the file cache."""
    environment = cpu_environment(threads)

    def runner(name: str, command: Sequence[str]) -> Callable[[], CommandCost]:
        log = folder / f"{name.split()[-1]}.log"
        return lambda: run_command(
            command, log, environment, stdin=folder / "en", stdout=folder / "output"
        )

    runs = {name: runner(name, command) for name, command in commands(model, folder).items()}
    return {name: costs[1:] for name, costs in in_turns(runs, rounds + 1, report_progress).items()}


def row(name: str, costs: Sequence[CommandCost], baseline: Sequence[CommandCost]) -> list[str]:
    """Return cells for processor and wall seconds, each with the median of the rounds' ratios."""
    pairs = list(zip(costs, baseline, strict=True))
    return [
        name,
        with_spread(Spread.of(run.cpu for run in costs), 2),
        f"{statistics.median(run.cpu / base.cpu for run, base in pairs):.2f}",
        with_spread(Spread.of(run.seconds for run in costs), 2),
        f"{statistics.median(run.seconds / base.seconds for run, base in pairs):.2f}",
    ]


def phases(model: Path, threads: int) -> list[list[str]]:
    """Return rows that break down the processor time of `nmtkit translate`, in milliseconds."""
    command = [sys.executable, "-c", PHASES, str(model), LINE.strip()]
    environment = {**cpu_environment(threads), "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "phases"
        run_command(command, Path(folder) / "log", environment, stdout=output)
        lines = output.read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[::-1] for line in lines]


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--rounds", type=positive, default=15)
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    options = parser.parse_args(arguments)
    if not (options.model / "params.best.safetensors").is_file():
        raise BenchError(f"{options.model}: not a model folder")
    with tempfile.TemporaryDirectory() as folder:
        runs = measure(options.model, Path(folder), options.rounds, options.threads)
    if BASELINE_NAME not in runs:
        raise BenchError(f"{options.model}: '{BASELINE_NAME}' failed; there is nothing to compare")
    baseline = runs[BASELINE_NAME]
    header = ["command", "processor, s", "ratio", "wall clock, s", "ratio"]
    times = table(header, [row(name, costs, baseline) for name, costs in runs.items()])
    steps = phases(options.model, options.threads)
    breakdown = table(["step of nmtkit translate", "processor, ms"], steps)
    heading = f"{machine()}; threads: {options.threads}; rounds: {options.rounds}"
    figures = {
        "times": {name: [(run.cpu, run.seconds) for run in costs] for name, costs in runs.items()},
        "steps": steps,
    }
    write_report(options.output, f"{heading}\n\n{times}\n{breakdown}", figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
