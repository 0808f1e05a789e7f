"""Compare nmtkit's training speed with its peers and the machine's ceiling, in one run.

    python bench/train.py --data MULTI30K [--peers FOLDER] [--threads 2] [--rounds 3]

Every system trains the same sizes on the same tokenised pairs and words, in turns, round by round.
The rate excludes the first updates, so that start-up, validation and saving do not count. Prints a
Markdown table per size; --output writes it to a file, and all readings to a JSON file beside it. On
a busy machine, use --clock cpu with one thread.
"""

import argparse
import dataclasses
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from corpus import prepared_folder
from operations import SIZES, training_operations
from peer_systems import peers
from systems import COUNTS, Data, Nmtkit, Rate, System, Task, add_options
from timing import (
    CLOCKS,
    Spread,
    cpu_environment,
    exit_with,
    in_turns,
    machine,
    positive,
    report_progress,
    run_command,
    select_names,
    table,
    with_spread,
    write_report,
)

from nmtkit.models.precision import multiplies_bfloat16

UPDATES = {"small": 60, "paper": 20, "wide": 60}
"""Updates that are timed: whole pools of 20 batches, so that all lengths are represented."""
WARMUP = 10
CEILING = "ceiling"

BY_ONEDNN = "float32 by oneDNN"
"""The ceiling of oneDNN, with which nmtkit multiplies large matrices, besides torch's default."""


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench/train.py", description=__doc__.split("\n")[0])
    add_options(parser)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=["small", "paper"])
    parser.add_argument(
        "--models",
        nargs="+",
        choices=list(COUNTS),
        default=["rnnsearch"],
        help="nmtkit's models; each has a row in float32, and peers are compared with rnnsearch",
    )
    parser.add_argument(
        "--updates",
        type=positive,
        help="number of timed updates; default: 20 for paper, 60 for others",
    )
    parser.add_argument(
        "--precision",
        nargs="+",
        choices=["float32", "bfloat16"],
        default=["float32", *(["bfloat16"] if multiplies_bfloat16(torch.device("cpu")) else [])],
        help="nmtkit's precisions, a row each; bfloat16 is a default if the processor supports it",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="a further row: nmtkit with this setting, such as data.bpe_dropout=0.1",
    )
    parser.add_argument(
        "--clock",
        choices=list(CLOCKS),
        default="wall",
        help="measure wall clock or processor time",
    )
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    return parser.parse_args(arguments)


def nmtkit_systems(
    precisions: list[str], models: list[str], settings: list[str]
) -> dict[str, System]:
    """Return nmtkit's systems: RNNsearch in each precision, with each setting, and other models."""
    rows: dict[str, System] = {}
    for precision in precisions if "rnnsearch" in models else []:
        plain = precision == "float32"
        extra = [] if plain else [f'training.precision="{precision}"']
        rows["nmtkit" if plain else f"nmtkit, {precision}"] = Nmtkit(extra=extra)
    rows |= {f"nmtkit, {setting}": Nmtkit(extra=[setting]) for setting in settings}
    others = [model for model in models if model != "rnnsearch"]
    return rows | {f"nmtkit, {model}": Nmtkit(model=model) for model in others}


def measure_ceiling(threads: int, kind: str, folder: Path) -> dict[str, float]:
    """Return the current ceiling in GFLOP/s by each of `CLOCKS`, measured in a separate process.

    :param kind: The data type of the products, or `BY_ONEDNN`.
    """
    script = Path(__file__).with_name("ceiling.py")
    command: list[str | Path] = [
        sys.executable,
        script,
        "--threads",
        str(threads),
        "--dtype",
        kind.split()[0],
        *(["--onednn"] if kind == BY_ONEDNN else []),
    ]
    output = folder / "ceiling.txt"
    environment = cpu_environment(threads)
    run_command(command, folder / "ceiling.log", environment, stdout=output)
    return dict(zip(CLOCKS, map(float, output.read_text().split()), strict=True))


def measure(
    name: str, data: Data, systems: dict[str, System], options: argparse.Namespace
) -> dict[str, Any]:
    """Return {"ceiling": {kind: [by clock]}, "rates": {system: [Rate]}} of all rounds."""
    updates = WARMUP + (options.updates or UPDATES[name])

    def training(row: str, system: System) -> Callable[[], Rate]:
        folder = (
            options.work / "train" / f"{name}-{re.sub('[^a-z0-9_.]+', '-', row.lower())}"
        ).absolute()
        task = Task(data, folder, SIZES[name], updates, options.threads)
        return lambda: system.time_training(task, WARMUP)

    def ceiling(kind: str) -> Callable[[], dict[str, float]]:
        return lambda: measure_ceiling(options.threads, kind, options.work)

    kinds = [*options.precision, BY_ONEDNN]
    runs: dict[str, Callable[[], Any]] = {f"{CEILING} {kind}": ceiling(kind) for kind in kinds}
    runs |= {row: training(row, system) for row, system in systems.items()}
    results = in_turns(runs, options.rounds, lambda line: report_progress(f"{name}: {line}"))
    ceilings = {kind: results.pop(f"{CEILING} {kind}", []) for kind in kinds}
    return {"ceiling": ceilings, "rates": results}


def speeds(rates_by_system: dict[str, list[Rate]], clock: str) -> dict[str, Spread]:
    """Return target words per second by system."""
    return {
        row: Spread.of([rate.words if clock == "wall" else rate.by_cpu for rate in rates])
        for row, rates in rates_by_system.items()
    }


def required_operations(name: str, data: Data, system: System) -> float:
    """Return the operations that a model needs per target word of this data, without padding."""
    products = system.products(SIZES[name], data.target_words())
    return training_operations(products, *data.mean_lengths())


def report(
    name: str, data: Data, systems: dict[str, System], results: dict[str, Any], clock: str
) -> str:
    """Return the Markdown of one size."""
    sizes, needed = SIZES[name], required_operations(name, data, Nmtkit())
    caps = {}
    text = (
        f"### {name.upper()}: m = {sizes.embedding}, n = {sizes.hidden}, n' = {sizes.align}, "
        f"l = {sizes.maxout}\n\n"
        f"Our model needs {needed / 1e6:.1f} MFLOP a target word, forward and backward."
    )
    for kind, readings in results["ceiling"].items():
        if not readings:
            continue  # it failed, and the failure was reported
        ceiling = Spread.of([reading[clock] for reading in readings])
        caps[kind] = ceiling.median * 1e9 / needed
        text += (
            f" The machine's ceiling in {kind} is {with_spread(ceiling)} GFLOP a {CLOCKS[clock]}:"
            f" at most {caps[kind]:,.0f} words."
        )
    header = ["system", f"target words a {CLOCKS[clock]}", "nmtkit's speed / its speed"]
    header += ["its model's MFLOP a word", "share of the float32 ceiling"]
    measured = speeds(results["rates"], clock)
    rows = []
    for row, speed in measured.items():
        own_speed = measured.get("nmtkit")
        ratio = f"{own_speed.median / speed.median:.2f}" if own_speed else ""
        operations = required_operations(name, data, systems[row])
        ceiling_words = caps.get("float32")
        share = (
            f"{100 * speed.median * operations / (ceiling_words * needed):.0f} %"
            if ceiling_words
            else ""
        )
        rows.append([row, with_spread(speed), ratio, f"{operations / 1e6:.1f}", share])
    return f"{text}\n\n{table(header, rows)}"


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    options = options_of(arguments)
    prepared = options.prepared or prepared_folder(options.data, options.work)
    data = Data.open(prepared, options.work)
    systems = nmtkit_systems(options.precision, options.models, options.settings)
    systems |= {system.name: system for system in peers(options.peers, options.marian)}
    systems = {name: systems[name] for name in select_names(list(systems), options.only)}
    heading = (
        f"{machine()}, {options.threads} threads; batches of 80 sentences; median of "
        f"{options.rounds} rounds taken in turns (lowest–highest)."
    )
    parts = [heading, ""]
    figures: dict[str, Any] = {"machine": machine(), "threads": options.threads}
    for name in options.sizes:
        results = measure(name, data, systems, options)
        parts.append(report(name, data, systems, results, options.clock))
        rates = {
            row: [dataclasses.asdict(rate) for rate in values]
            for row, values in results["rates"].items()
        }
        figures[name] = {"ceiling": results["ceiling"], "rates": rates}
    write_report(options.output, "\n".join(parts), figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
