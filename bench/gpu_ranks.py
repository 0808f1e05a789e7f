"""Train a recipe in one or several processes, and print speed and costs as JSON; see `gpu.py`.

    python bench/gpu_ranks.py --recipe rnnsearch-30 --device cuda --updates 20
    python -m torch.distributed.run --nproc-per-node 2 bench/gpu_ranks.py ... (the same)

Without dropout the costs are those of one process, up to rounding. Gradients on GPUs are summed by
NCCL, on CPUs by gloo.
"""

import argparse
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from timing import ROOT, exit_with, run_command

WARMUP = 5


@dataclass(frozen=True)
class RanksRun:
    """Updates in some processes. costs: per target word; words_per_second: of all together."""

    ranks: int
    costs: list[float]
    words_per_second: float


def run_ranks(ranks: int, arguments: list[str], folder: Path) -> RanksRun:
    """Run this file in some processes of this machine.

    :param arguments: its options.
    :raises BenchError: a process failed.
    """
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    start = [sys.executable, *(launcher if ranks > 1 else []), __file__, *arguments]
    output = folder / f"ranks-{ranks}.json"
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}
    run_command(start, folder / f"ranks-{ranks}.log", environment, stdout=output)
    return RanksRun(**json.loads(output.read_text(encoding="utf-8")))


def largest_difference(one: RanksRun, several: RanksRun) -> float:
    """Return the largest relative difference of the costs of two runs; infinite for no number."""
    pairs = zip(one.costs, several.costs, strict=True)
    found = [abs(theirs - ours) / abs(ours) for ours, theirs in pairs]
    return math.inf if any(map(math.isnan, found)) else max(found)


def main(arguments: list[str]) -> int:
    """Train; rank 0 prints the result."""
    parser = argparse.ArgumentParser(prog="bench/gpu_ranks.py", description=__doc__.split("\n")[0])
    parser.add_argument("--recipe", default="rnnsearch-30")
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--small", action="store_true", help="layers of a few units")
    options = parser.parse_args(arguments)
    import gpu_training

    from nmtkit.model_folder import find_device
    from nmtkit.parallel.process_group import join_process_group

    config = gpu_training.recipe_config(
        options.recipe, "float32", options.small, ["model.dropout=0.0"]
    )
    with join_process_group(options.device) as group:
        text = gpu_training.SMALL_TEXT if options.small else gpu_training.Text()
        device = find_device(options.device)
        run = gpu_training.RecipeRun(config, text, 3200, device, group)
        first = [run.update() for _ in range(WARMUP)]
        gpu_training.synchronize(device)
        started = time.perf_counter()
        timed = [run.update() for _ in range(options.updates)]
        gpu_training.synchronize(device)
        seconds = time.perf_counter() - started
        if group.is_main:
            costs = [update.cost / update.tokens for update in first + timed]
            speed = sum(update.tokens for update in timed) / seconds
            print(json.dumps({"ranks": group.size, "costs": costs, "words_per_second": speed}))
    return 0


if __name__ == "__main__":
    exit_with(lambda arguments: main(list(arguments)))
