"""Trains and translates for long, and looks whether the process grows.

    python tests/faults/endure.py --updates 100000 --lines 1000000

The process that works is this one; after a tenth of the work, and again and again until its end,
its open files are counted and its memory is read. It fails where there are more open files at the
end than then, or where more than GROWTH has been added to the memory. Prints what was found.
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

sys.path.insert(0, str(Path(__file__).parents[2]))  # the tests are no package that is installed

from nmtkit.inference.ensemble import Ensemble  # noqa: E402
from nmtkit.inference.translator import Translator  # noqa: E402
from nmtkit.model_folder import load_model  # noqa: E402
from nmtkit.text import memo  # noqa: E402
from nmtkit.training import trainer  # noqa: E402
from nmtkit.training.checkpoint import save_checkpoint  # noqa: E402
from nmtkit.training.train import train  # noqa: E402
from tests.faults.kill import SETTINGS, prepare  # noqa: E402
from tests.faults.workshop import make_workshop  # noqa: E402

GROWTH = 16 << 20
"""Bytes that may be added once a tenth of the work is done: what allocators keep."""

LOOKS = 50
"""How often it is looked at the process."""

WORDS = 5_000
"""Words that are remembered while lines are translated, instead of `memo.MAX_WORDS`: of a million
lines so many have come before a tenth is done, and what grows from then on is something else."""


@dataclass
class Growth:
    """What a process takes, at moments of its work.

    files: open ones. memory: resident bytes.
    """

    files: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def look(self) -> None:
        """Note what this process takes now."""
        self.files.append(len(os.listdir("/proc/self/fd")))
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE"))

    def faults(self) -> list[str]:
        """What has grown since a tenth of the looks."""
        first = max(1, len(self.files) // 10)
        found = []
        if self.files[-1] > self.files[first]:
            found.append(f"open files grew from {self.files[first]} to {self.files[-1]}")
        if self.memory[-1] > self.memory[first] + GROWTH:
            mib = [memory >> 20 for memory in (self.memory[first], self.memory[-1])]
            found.append(f"memory grew from {mib[0]} to {mib[1]} MiB")
        return found


def trained(folder: Path, updates: int) -> Growth:
    """A small training, with a checkpoint and a validation at each look."""
    growth = Growth()
    kept = [setting for setting in SETTINGS if not setting.startswith("training.validate_every")]
    every = max(1, updates // LOOKS)
    more = [f"training.max_updates={updates}", f"training.validate_every={every}"]

    def saved(*arguments: Any, **options: Any) -> Path:
        path = save_checkpoint(*arguments, **options)
        growth.look()
        return path

    prepare(folder / "prepared")
    with mock.patch.object(trainer, "save_checkpoint", saved):
        train(folder / "prepared", folder / "model", "toy", overrides=[*kept, *more], device="cpu")
    return growth


def translated(folder: Path, lines: int) -> Growth:
    """A stream through a small model, words that come once only among them."""
    growth = Growth()
    workshop = folder / "workshop"
    workshop.mkdir()
    ensemble = Ensemble((load_model(make_workshop(workshop) / "model", "cpu"),))
    every = max(1, lines // LOOKS)
    found = Translator(ensemble).translate(stream(lines), tokenized=True)
    with mock.patch.object(memo, "MAX_WORDS", WORDS):
        for number, _ in enumerate(found, start=1):
            if number % every == 0:
                growth.look()
    if number != lines:
        raise SystemExit(f"{lines} lines went in, {number} came out")
    return growth


def stream(lines: int) -> Iterator[str]:
    """Lines of one to four words: some the model knows, and a number that it does not."""
    kinds = itertools.cycle(["a b", "", "ab", "b a b"])
    for number, words in zip(range(lines), kinds, strict=False):
        yield f"{words} {number}" if words else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--updates", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.INFO)
    faults = []
    with tempfile.TemporaryDirectory() as work:
        for what, run, count in (
            ("updates", trained, options.updates),
            ("lines", translated, options.lines),
        ):
            if not count:
                continue
            begin = time.monotonic()
            growth = run(Path(work), count)
            least, most = min(growth.memory) >> 20, max(growth.memory) >> 20
            print(
                f"{count} {what} in {time.monotonic() - begin:.0f} s: open files"
                f" {min(growth.files)} to {max(growth.files)}, memory {least} to {most} MiB",
                flush=True,
            )
            faults += [f"{what}: {fault}" for fault in growth.faults()]
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
