"""How long one line takes from a cold start, against importing torch and loading the parameters.

    python bench/cold_start.py MODEL [--rounds 15] [--threads 1]

Every round starts each command once, in turn, in a process of its own; files are in the system's
cache after the first round, which is not counted. Printed are medians of processor time (user and
system) and of wall time, their quartiles, and the ratio to the baseline

    python -c "import torch; from safetensors.torch import load_file; load_file(PARAMETERS)"

which maps the parameters' file and does not even read it. A second table says where the processor
time of `nmtkit translate` goes.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LINE, TRANSLATION = "A man is reading.\n", "Un homme lit.\n"

BASELINE = "import torch; from safetensors.torch import load_file; load_file({path!r})"

PHASES = """
import gc, sys, time
from pathlib import Path
last = 0.0

def phase(name):
    global last
    now = time.process_time()
    print(f"{1e3 * (now - last):8.1f} ms  {name}")
    last = now

phase("the interpreter")
import nmtkit.cli.main, nmtkit.cli.translate
phase("the command line")
gc.disable()
import torch
phase("torch")
import nmtkit.translator, nmtkit.streaming
phase("the rest of the package")
gc.freeze()
gc.enable()
folder = Path(sys.argv[1])
from nmtkit.model_folder import build_model, read_config, read_vocabularies
from nmtkit.text.pipeline import TextPipeline
from nmtkit.training.checkpoint import load_parameters
config = read_config(folder)
words = read_vocabularies(folder)
phase("settings and vocabularies")
with torch.device("meta"):
    model = build_model(config, len(words[0]), len(words[1]))
load_parameters(model, folder / "params.best.safetensors")
phase("parameters")
pipeline = TextPipeline.load(folder, "src", config.text)
pipeline.tokens(sys.argv[2])
phase("tokenising the line")
from nmtkit.translator import Translator
translator = Translator.load(folder)
last = time.process_time()  # what was loaded twice counts once
translator.translate_window([sys.argv[2]])
phase("translating the line")
"""


class Run(NamedTuple):
    """What one process took, in seconds."""

    processor: float
    wall: float


def commands(model: Path, folder: Path) -> dict[str, list[str]]:
    """Name -> command line; the baseline first."""
    (folder / "en").write_text(LINE, encoding="utf-8")
    (folder / "fr").write_text(TRANSLATION, encoding="utf-8")
    source, target = str(folder / "en"), str(folder / "fr")
    parameters = str(model / "params.best.safetensors")
    nmtkit = [sys.executable, "-c", "from nmtkit.cli.main import main; main()"]
    if (script := Path(sys.executable).with_name("nmtkit")).is_file():
        nmtkit = [str(script)]
    prepared = ["-s", "en", "-t", "fr", "--output", str(folder / "prepared"), "--force"]
    return {
        "import torch, load": [sys.executable, "-c", BASELINE.format(path=parameters)],
        "translate": [*nmtkit, "translate", "--model", str(model)],
        "score": [*nmtkit, "score", "--model", str(model), source, target],
        "align": [*nmtkit, "align", "--model", str(model), source, target],
        "prepare": [*nmtkit, "prepare", "--train", source, target, *prepared],
        "--help": [*nmtkit, "--help"],
    }


def run(command: Sequence[str], environment: Mapping[str, str]) -> Run:
    """Start a command with the line as its input, and wait for its end."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, input=LINE, capture_output=True, text=True, env=environment)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return Run(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall)


def measure(
    table: Mapping[str, Sequence[str]], rounds: int, environment: Mapping[str, str]
) -> dict[str, list[Run]]:
    """All commands in turn, `rounds` times after a first round that does not count."""
    runs: dict[str, list[Run]] = {name: [] for name in table}
    for number in range(rounds + 1):
        for name, command in table.items():
            found = run(command, environment)
            runs[name] += [found] if number else []
    return runs


def report(runs: Mapping[str, Sequence[Run]]) -> None:
    """One line a command; ratios are medians of the ratios within a round."""
    baseline = next(iter(runs.values()))
    print(f"{'':20} {'processor time':>24} {'ratio':>6}   {'wall time':>24} {'ratio':>6}")
    for name, taken in runs.items():
        columns = [name.ljust(20)]
        for field in range(2):
            seconds = [one[field] for one in taken]
            low, middle, high = statistics.quantiles(seconds, n=4)
            pairs = zip(taken, baseline, strict=True)
            ratio = statistics.median(one[field] / base[field] for one, base in pairs)
            columns.append(f"{middle:8.3f} s ({low:.3f}-{high:.3f}) {ratio:6.2f}  ")
        print(" ".join(columns).rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    with tempfile.TemporaryDirectory() as folder:
        table = commands(options.model, Path(folder))
        report(measure(table, max(2, options.rounds), environment))
    print("\nprocessor time of translate:", flush=True)
    phases = [sys.executable, "-c", PHASES, str(options.model), LINE.strip()]
    subprocess.run(phases, env=environment, check=True)


if __name__ == "__main__":
    main()
