"""Train and translate for long in one process, and check that it does not leak.

    python tests/faults/soak.py --updates 100000 --lines 1000000

Open files are counted and memory is read at regular intervals. The run fails if at its end there
are more open files than after a tenth of the work, or if memory has grown by more than MAX_GROWTH
since then. Prints the measurements.
"""

import argparse
import itertools
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # not an installed package

from nmtkit.inference.ensemble import Ensemble  # noqa: E402
from nmtkit.inference.translator import Translator  # noqa: E402
from nmtkit.model_folder import load_model  # noqa: E402
from nmtkit.text import memo  # noqa: E402
from nmtkit.training import checkpoint_store  # noqa: E402
from nmtkit.training.checkpoint import save_checkpoint  # noqa: E402
from nmtkit.training.train import train  # noqa: E402
from tests.faults.kill import SETTINGS, prepare  # noqa: E402
from tests.faults.sample_files import write_sample_files  # noqa: E402

MAX_GROWTH = 16 << 20
"""Bytes by which memory may grow after a tenth of the work: allocators keep some."""

MEASUREMENTS = 50
"""Number of measurements in a run."""

MEMO_WORDS = 5_000
"""Size of the word memos during translation, instead of `memo.MAX_WORDS`: a million lines fill
them within a tenth of the run, so that later growth has another cause."""


@dataclass
class ResourceUsage:
    """Open files and resident memory (bytes) of this process over time."""

    files: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def measure(self) -> None:
        """Append the current values."""
        self.files.append(len(os.listdir("/proc/self/fd")))
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE"))

    def leaks(self) -> list[str]:
        """List what has grown since a tenth of the measurements."""
        first = max(1, len(self.files) // 10)
        leaks = []
        if self.files[-1] > self.files[first]:
            leaks.append(f"open files grew from {self.files[first]} to {self.files[-1]}")
        if self.memory[-1] > self.memory[first] + MAX_GROWTH:
            mib = [memory >> 20 for memory in (self.memory[first], self.memory[-1])]
            leaks.append(f"memory grew from {mib[0]} to {mib[1]} MiB")
        return leaks


def train_long(folder: Path, updates: int) -> ResourceUsage:
    """Train a small model, and measure after each validation and checkpoint."""
    usage = ResourceUsage()
    settings = [
        setting for setting in SETTINGS if not setting.startswith("training.validate_every")
    ]
    interval = max(1, updates // MEASUREMENTS)
    limits = [f"training.max_updates={updates}", f"training.validate_every={interval}"]

    def save_and_measure(*arguments: Any, **options: Any) -> Path:
        path = save_checkpoint(*arguments, **options)
        usage.measure()
        return path

    prepare(folder / "prepared")
    with mock.patch.object(checkpoint_store, "save_checkpoint", save_and_measure):
        train(
            folder / "prepared",
            folder / "model",
            "toy",
            overrides=[*settings, *limits],
            device="cpu",
        )
    return usage


def translate_long(folder: Path, lines: int) -> ResourceUsage:
    """Translate a stream with a small model; most lines have a word that occurs only once."""
    usage = ResourceUsage()
    samples = folder / "samples"
    samples.mkdir()
    ensemble = Ensemble((load_model(write_sample_files(samples) / "model", "cpu"),))
    interval = max(1, lines // MEASUREMENTS)
    translations = Translator(ensemble).translate(stream(lines), tokenized=True)
    with mock.patch.object(memo, "MAX_WORDS", MEMO_WORDS):
        for number, _ in enumerate(translations, start=1):
            if number % interval == 0:
                usage.measure()
    if number != lines:
        raise SystemExit(f"{lines} lines went in, {number} came out")
    return usage


def stream(lines: int) -> Iterator[str]:
    """Yield lines of known words and a line number, which is an unknown word; some are empty."""
    texts = itertools.cycle(["a b", "", "ab", "b a b"])
    for number, words in zip(range(lines), texts, strict=False):
        yield f"{words} {number}" if words else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--updates", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.INFO)
    leaks = []
    with tempfile.TemporaryDirectory() as work:
        for unit, run, count in (
            ("updates", train_long, options.updates),
            ("lines", translate_long, options.lines),
        ):
            if not count:
                continue
            begin = time.monotonic()
            usage = run(Path(work), count)
            least, most = min(usage.memory) >> 20, max(usage.memory) >> 20
            print(
                f"{count} {unit} in {time.monotonic() - begin:.0f} s: open files"
                f" {min(usage.files)} to {max(usage.files)}, memory {least} to {most} MiB",
                flush=True,
            )
            leaks += [f"{unit}: {leak}" for leak in usage.leaks()]
    sys.exit("\n".join(leaks) if leaks else 0)


if __name__ == "__main__":
    main()
