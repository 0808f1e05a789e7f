"""Check nmtkit on a GPU, measure what its training costs there, and say what limits it.

    make gpu        or    python bench/gpu.py [--recipes ...] [--updates 200] --output gpu.md

1. Training, scoring and search of every model are compared with the CPU (`device_checks.py`).
2. Each recipe is trained for some hundred updates in float32 and in bfloat16, at its own size, on
   generated text (`gpu_training.py`). The table has target words a second, the share of the GPU's
   ceiling, and what an update costs: kernel launches, time in which the GPU computes, and calls
   that make the host wait. A line below says what limits each training.
3. With two GPUs a recipe is trained by two processes over NCCL: costs are compared with those of
   one process, and so is the speed (`gpu_ranks.py`).

The exit status is 0 if all comparisons hold and all recipes learn, 1 if not, and 2 without a GPU.
`--device cpu --small` takes the same way without a GPU, which tests this program.
"""

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from ceiling import rates
from device_checks import Check, check_device
from gpu_ranks import RanksRun, largest_difference, run_ranks
from gpu_training import SMALL_TEXT, TEXTS, Measured, Text, measure, recipe_config
from timing import BenchError, exit_with, machine, positive, report_progress, table, write_report

from nmtkit.config_io import recipe_names

NO_GPU = 2
"""Exit status without a GPU."""

PRECISIONS = ("float32", "bfloat16")
FACTOR = 16
"""How many times the smallest sizes the models have that are compared with the CPU."""

WARMUP = 20
RANKS = 2
RANKS_LIMIT = 1e-3
"""Largest relative difference of the costs of one and of two processes."""

IDLE = 0.6
"""Share of busy time below which launches limit a training."""

NEAR_CEILING = 0.4
"""Share of the ceiling above which arithmetic limits a training."""

EXPECTED_WAITS = 1
"""Waits of an update: for its cost and the norm of its gradient."""

Ceilings = dict[str, float]
"""GFLOP/s by precision."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """A recipe that could not be trained."""

    recipe: str
    precision: str
    reason: str


Ranks = tuple[RanksRun, RanksRun] | Failure | None
"""A training in one and in two processes; None: not tried."""


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench/gpu.py", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--recipes", nargs="+", choices=recipe_names(), default=recipe_names())
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--updates", type=positive, default=200, help="updates that are timed")
    parser.add_argument("--small", action="store_true", help="layers of a few units, few updates")
    parser.add_argument("--skip-checks", action="store_true", help="measure only")
    parser.add_argument("--work", type=Path, default=Path("build/bench/work/gpu"))
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Check, measure and report; return the exit status."""
    options = options_of(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        report_progress(
            "torch finds no GPU here, so there is nothing to check; run this on a machine with one,"
            " or try --device cpu --small"
        )
        return NO_GPU
    device = torch.device(options.device)
    checks = [] if options.skip_checks else run_checks(device, 1 if options.small else FACTOR)
    ceilings = measure_ceilings(options)
    trained = [
        train(recipe, precision, options, ceilings)
        for recipe in options.recipes
        for precision in options.precision
    ]
    ranks = compare_ranks(options)
    text = "\n\n".join(
        [heading(device), checks_text(checks), training_text(trained, ceilings), ranks_text(ranks)]
    )
    write_report(options.output, text, figures(checks, trained, ceilings, ranks))
    return 0 if all_good(checks, trained, ranks) else 1


def run_checks(device: torch.device, factor: int) -> list[Check]:
    """Compare every model on the device with the CPU."""
    checks = []
    for check in check_device(device, factor):
        if not check.holds:
            report_progress(f"{check.name}: differs by {check.difference:.1e}")
        checks.append(check)
    return checks


def measure_ceilings(options: argparse.Namespace) -> Ceilings:
    """Measure the rate of large products in each precision."""
    size, seconds = (200, 0.05) if options.small else (8000, 3.0)
    return {
        precision: rates(size, seconds, precision, device=options.device)[0]
        for precision in options.precision
    }


def train(
    recipe: str, precision: str, options: argparse.Namespace, ceilings: Ceilings
) -> Measured | Failure:
    """Train a recipe for some updates, and show its line; a failure is a result, too."""
    config = recipe_config(recipe, precision, options.small)
    text = SMALL_TEXT if options.small else TEXTS.get(recipe, Text())
    warmup = 1 if options.small else WARMUP
    try:
        device = torch.device(options.device)
        result = measure(recipe, config, text, device, warmup, options.updates)
    except (RuntimeError, MemoryError) as error:
        reason = str(error).splitlines()[0]
        report_progress(f"{recipe}, {precision}: failed: {reason}")
        return Failure(recipe, precision, reason)
    report_progress(" | ".join(row(result, ceilings)))
    return result


def compare_ranks(options: argparse.Namespace) -> Ranks:
    """Train in one and in two processes, not with a single GPU; a failure is a result, too."""
    if options.device == "cuda":
        if torch.cuda.device_count() < RANKS:
            return None
        torch.cuda.empty_cache()  # the processes need the memory that trainings have left here
    report_progress(f"one process and {RANKS}")
    recipe = "rnnsearch-30" if "rnnsearch-30" in options.recipes else options.recipes[0]
    arguments = ["--recipe", recipe, "--device", options.device]
    arguments += ["--updates", str(min(options.updates, 100)), *["--small"] * options.small]
    try:
        one, several = (run_ranks(ranks, arguments, options.work) for ranks in (1, RANKS))
    except BenchError as error:
        report_progress(str(error))
        return Failure(recipe, "float32", str(error))
    return one, several


def all_good(
    checks: Sequence[Check],
    trained: Sequence[Measured | Failure],
    ranks: Ranks,
) -> bool:
    """Return whether all comparisons hold and all recipes learn."""
    learned = all(isinstance(result, Measured) and learns(result) for result in trained)
    if isinstance(ranks, Failure) or (ranks and largest_difference(*ranks) > RANKS_LIMIT):
        return False
    return learned and all(check.holds for check in checks)


def learns(result: Measured) -> bool:
    """Return whether the cost has fallen; a cost that is not a number has not."""
    return result.costs[1] < result.costs[0]


def heading(device: torch.device) -> str:
    """Describe the machine."""
    versions = f"torch {torch.__version__}"
    if device.type == "cpu":
        return f"{machine()}; {versions}; no GPU, so speeds mean nothing here."
    properties = torch.cuda.get_device_properties(device)
    version = torch.version.cuda or torch.version.hip
    return (
        f"{torch.cuda.device_count()} x {properties.name}, {properties.total_memory / 2**30:.0f}"
        f" GiB; {versions}, CUDA or ROCm {version}; {machine()}."
    )


def checks_text(checks: Sequence[Check]) -> str:
    """Return the comparison with the CPU: one line, and a table of what differs."""
    if not checks:
        return "The comparison with the CPU was skipped."
    wrong = [check for check in checks if not check.holds]
    text = f"{len(checks) - len(wrong)} of {len(checks)} comparisons with the CPU hold."
    if not wrong:
        return text
    rows = [[check.name, f"{check.difference:.1e}", f"{check.limit:.0e}"] for check in wrong]
    return f"{text}\n\n{table(['differs', 'difference', 'limit'], rows)}"


HEADER = (
    *("recipe", "precision", "target words/s", "share of ceiling", "ms/update", "launches/update"),
    *("GPU busy", "waits/update", "GiB", "cost"),
)


def training_text(trained: Sequence[Measured | Failure], ceilings: Ceilings) -> str:
    """Return the table of trainings, and what limits each."""
    caps = ", ".join(f"{rate:,.0f} in {precision}" for precision, rate in ceilings.items())
    rows = [row(result, ceilings) for result in trained]
    lines = [
        f"- {result.recipe}, {result.precision}: {diagnose(result, ceilings)}" for result in trained
    ]
    return f"Ceiling in GFLOP/s: {caps}.\n\n{table(HEADER, rows)}\n" + "\n".join(lines)


def row(result: Measured | Failure, ceilings: Ceilings) -> list[str]:
    """Return a line of the table of trainings."""
    if isinstance(result, Failure):
        return [result.recipe, result.precision, *["–"] * (len(HEADER) - 2)]
    activity, busy = result.activity, result.busy_share
    return [
        result.recipe,
        result.precision,
        f"{result.words_per_second:,.0f}",
        f"{100 * result.ceiling_share(ceilings[result.precision]):.1f} %",
        f"{1000 * result.seconds:.1f}",
        f"{activity.launches:,.0f}",
        "–" if busy is None else f"{100 * busy:.0f} %",
        "–" if activity.waits is None else f"{activity.waits:.1f}",
        f"{result.memory / 2**30:.1f}" if result.memory else "–",
        f"{result.costs[0]:.2f} to {result.costs[1]:.2f}",
    ]


def diagnose(result: Measured | Failure, ceilings: Ceilings) -> str:
    """Say in a sentence what limits a training, or what is wrong with it."""
    if isinstance(result, Failure):
        return f"failed: {result.reason}."
    parts = [] if learns(result) else ["does NOT learn: the cost has not fallen"]
    parts += [limit_of(result, result.ceiling_share(ceilings[result.precision]))]
    waits = sum(result.wait_places.values())
    if waits > EXPECTED_WAITS:
        places = ", ".join(f"{place} ({count})" for place, count in result.wait_places.items())
        parts.append(f"the host waits {waits} times an update, not once: {places}")
    return "; ".join(parts) + "."


def limit_of(result: Measured, share: float) -> str:
    """Say what limits the speed of a training.

    :param share: of the ceiling.
    """
    busy, launches = result.busy_share, result.activity.launches
    if busy is None:
        return f"{launches:,.0f} operations an update; what limits a GPU is not known from a CPU"
    if busy < IDLE:
        idle = 1e6 * result.seconds * (1 - busy) / max(launches, 1)
        return (
            f"limited by launches: the GPU computes in {100 * busy:.0f} % of the time and waits"
            f" {idle:.1f} microseconds for each kernel; larger batches help, and fewer kernels"
        )
    if share > NEAR_CEILING:
        return f"limited by arithmetic, at {100 * share:.0f} % of the ceiling"
    return (
        f"limited by memory and small products: the GPU is busy in {100 * busy:.0f} % of the time,"
        f" at {100 * share:.0f} % of the ceiling; larger batches or fused kernels help"
    )


def ranks_text(ranks: Ranks) -> str:
    """Compare one process with several."""
    if ranks is None:
        return "Several processes: not tried, as there is one GPU."
    if isinstance(ranks, Failure):
        return f"Several processes: failed: {ranks.reason}."
    one, several = ranks
    found = largest_difference(one, several)
    verdict = "hold" if found <= RANKS_LIMIT else "do NOT hold"
    ratio = several.words_per_second / one.words_per_second
    return (
        f"{several.ranks} processes: {several.words_per_second:,.0f} target words/s, {ratio:.2f}"
        f" times as many as one; costs {verdict}, with a largest difference of {found:.1e}."
    )


def figures(
    checks: Sequence[Check],
    trained: Sequence[Measured | Failure],
    ceilings: Ceilings,
    ranks: Ranks,
) -> dict[str, Any]:
    """Return all readings, for JSON."""
    to_dict: Callable[[Any], dict[str, Any]] = dataclasses.asdict
    runs = ranks if isinstance(ranks, tuple) else filter(None, [ranks])
    return {
        "checks": [to_dict(check) for check in checks],
        "ceilings": ceilings,
        "trained": [to_dict(result) for result in trained],
        "ranks": [to_dict(run) for run in runs],
    }


if __name__ == "__main__":
    exit_with(main)
