"""Lose power after every recorded system call of some commands, and check what is on the disk.

    python tests/faults/power_loss.py
    python tests/faults/power_loss.py --only train --sample 500 --seed 7

A training (with validations, averaged and removed checkpoints, a SIGTERM, and a resume), `prepare`,
`shortlist` and `nbest tune` run once, the latter three also with --force over an earlier output.
All their writes, renames, removals and synchronisations are recorded. A crash is then replayed
after each of them, into a new folder, in all ways that the model of `crash_states.py` allows. The
laws:

- Every checkpoint whose saving had returned, or a later one, is what training resumes from, and it
  is whole: parameters, optimizer and progress are those of the undisturbed training.
- No checkpoint that is not whole is ever resumed from, and none has to be set aside as damaged.
- `params.best.safetensors` and the metrics of the validations are there once a checkpoint is.
- An output is the earlier one or the new one, and the new one once the command has ended. (If a
  folder's earlier name was lost, the next writer restores it.)
- In a sample of the states: the same command then gives the undisturbed result, in every byte, and
  leaves no hidden files.

Prints how many states were replayed; the exit status is 1 if a law is broken.
"""

import argparse
import contextlib
import json
import logging
import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

os.environ["OMP_NUM_THREADS"] = "1"

import torch

# The tests are not an installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from nmtkit.errors import NmtkitError  # noqa: E402
from nmtkit.io.parameters import parameters_of, read_parameters  # noqa: E402
from nmtkit.io.temporary import remove_leftovers  # noqa: E402
from nmtkit.model_folder import build_model, read_config, read_vocabularies  # noqa: E402
from nmtkit.training import checkpoint, checkpoint_store  # noqa: E402
from nmtkit.training.checkpoint import load_newest_checkpoint  # noqa: E402
from nmtkit.training.metrics_logger import MetricsLogger  # noqa: E402
from nmtkit.training.optimizers import make_optimizer  # noqa: E402
from tests.faults import commands, kill  # noqa: E402
from tests.faults.commands import CASES, Case, new_run, run_command, write_inputs  # noqa: E402
from tests.faults.crash_states import VARIANTS, Recording, Tree, record  # noqa: E402
from tests.faults.shim import Fault, Shim, build_shim  # noqa: E402
from tests.faults.system_calls import make_older, output_part, read_tree, write_tree  # noqa: E402

UPDATES = 4 * kill.VALIDATE_EVERY
STOP_AT = kill.VALIDATE_EVERY + 2
"""Update after which a SIGTERM interrupts the recorded training."""

MAX_STATES = 40
"""States that are tried after one operation: all changes of entries kept, none, or the first p."""

RUN_EVERY = 40
"""One state in this many gets the whole command again."""


class Crash(NamedTuple):
    """A crash: after how many operations, how many uncertain entries are kept, and the data."""

    prefix: int
    kept: int
    variant: str


class Recorded(NamedTuple):
    """A recorded run, and the files after it."""

    recording: Recording
    after: Tree


class Replay:
    """Replays the crashes of one command, and checks the laws.

    count: states replayed. broken: laws that did not hold.
    """

    def __init__(self, shim: Shim, work: Path, case: Case, force: bool = False) -> None:
        self.shim, self.work, self.case, self.force = shim, work, case, force
        self.folder = work / "run"
        self.count = 0
        self.broken: list[str] = []
        self.recorded = self.record()
        self.end = len(self.recorded.recording.operations)

    @property
    def name(self) -> str:
        return f"{self.case.name}{' --force' if self.force else ''}"

    @property
    def words(self) -> list[str]:
        return [*self.case.words.split(), *self.case.arguments]

    def crashes(self) -> Iterator[Crash]:
        """Yield all crashes whose states may differ."""
        recording = self.recorded.recording
        for prefix in range(self.end + 1):
            variants = VARIANTS if recording.has_unsynced_data(prefix) else VARIANTS[:1]
            uncertain = recording.uncertain(prefix)
            for kept in range(max(0, uncertain - MAX_STATES), uncertain + 1):
                for variant in variants:
                    yield Crash(prefix, kept, variant)

    def run(self, sample: int | None, draw: random.Random) -> None:
        """Replay crashes, all or some."""
        crashes = list(self.crashes())
        if sample is not None:
            crashes = sorted(draw.sample(crashes, min(sample, len(crashes))))
        seen = set()
        for crash in crashes:
            tree = self.recorded.recording.state(*crash)
            marks = tuple(self.recorded.recording.marks(crash.prefix))
            key = hash((marks, crash.prefix == self.end, frozenset(tree.items())))
            if key in seen:
                continue
            seen.add(key)
            write_tree(self.folder, tree)
            laws = list(self.check(crash, marks))
            if not laws and len(seen) % RUN_EVERY == 0:
                write_tree(self.folder, tree)
                laws = list(self.check_command())
            self.broken += [f"{self.name}: {crash} of {self.end}: {law}" for law in laws]
        self.count += len(seen)

    def record(self) -> Recorded:
        """Run the command, and record it."""
        new_run(self.work / "in", self.folder, self.case)
        if self.force:
            run_command(self.shim, self.folder, self.words)
            for name in self.case.outputs:
                make_older(self.folder / name)
        before = read_tree(self.folder)
        log = self.work / "log"
        log.unlink(missing_ok=True)
        self.start(log)
        calls = self.shim.read_log(log)
        return Recorded(record(str(self.folder), before, calls), read_tree(self.folder))

    def start(self, log: Path) -> None:
        """Run the command once, watched."""
        force = ["--force"] if self.force else []
        outcome = run_command(self.shim, self.folder, self.words + force, Fault(), log, True)
        if outcome.status != 0:
            raise RuntimeError(f"{self.name}: {outcome}")

    def check(self, crash: Crash, marks: tuple[str, ...]) -> Iterator[str]:
        """Yield the laws that do not hold in the folder after a crash."""
        for name in self.case.outputs:
            remove_leftovers(self.folder / name)
        tree = read_tree(self.folder)
        before, after = self.recorded.recording.state(0), self.recorded.after
        for name in self.case.outputs:
            allowed = [output_part(after, name)]
            if crash.prefix < self.end:
                allowed.append(output_part(before, name))
            if output_part(tree, name) not in allowed:
                yield f"{name} is not whole"

    def check_command(self) -> Iterator[str]:
        """Run the command again; yield the laws that do not hold."""
        exists = any((self.folder / name).exists() for name in self.case.outputs)
        words = self.words + (["--force"] if self.force or exists else [])
        outcome = run_command(self.shim, self.folder, words)
        tree = read_tree(self.folder)
        if outcome.status != 0:
            yield f"then status {outcome.status}: {outcome.stderr[-500:]!r}"
        elif tree | {"stdout": b""} != self.recorded.after | {"stdout": b""}:
            names = tree.keys() ^ self.recorded.after.keys()
            names |= {n for n in tree if tree[n] != self.recorded.after.get(n)}
            yield f"then another result: {sorted(names)}"


class TrainingReplay(Replay):
    """Replays the crashes of a training."""

    def start(self, log: Path) -> None:
        """Train until a SIGTERM, and to the end; saved checkpoints are marked in the log."""
        for stop in (True, False):
            outcome = run_command(
                self.shim, self.folder, self.words, Fault(), log, True,
                prepare=lambda: self._watch(stop),  # noqa: B023
            )  # fmt: skip
            if outcome.status != (143 if stop else 0):
                raise RuntimeError(f"{self.name}: {outcome}")
        self._model: Any = None

    def _watch(self, stop: bool) -> None:
        """Mark each checkpoint when its saving has returned; terminate after STOP_AT updates."""
        save, log_update = checkpoint.save_checkpoint, MetricsLogger.log_update

        def save_and_mark(*arguments: Any, **settings: Any) -> Path:
            path = save(*arguments, **settings)
            self.shim.mark(path.name)
            return path

        def log_and_stop(logger: Any, progress: Any, *figures: Any) -> None:
            if stop and progress.updates == STOP_AT:
                signal.raise_signal(signal.SIGTERM)
            log_update(logger, progress, *figures)

        mock.patch.object(checkpoint_store, "save_checkpoint", save_and_mark).start()
        mock.patch.object(MetricsLogger, "log_update", log_and_stop).start()

    def check(self, crash: Crash, marks: tuple[str, ...]) -> Iterator[str]:
        """Load the newest checkpoint; yield the laws that do not hold."""
        folder = self.folder / "out/model"
        acknowledged = marks[-1] if marks else ""
        if not (folder / "config.toml").is_file():
            if acknowledged:
                yield f"{acknowledged} is gone with all the model folder"
            return
        visible = read_tree(folder / "checkpoints") if (folder / "checkpoints").exists() else {}
        try:
            progress = self._load(folder)
        except NmtkitError as error:
            yield f"no checkpoint can be loaded: {error}"
            return
        updates = 0 if progress is None else progress.updates
        if updates < int(acknowledged.partition(".")[0] or 0):
            yield f"{acknowledged} was saved, but training resumes from update {updates}"
        if damaged := [path.name for path in (folder / "checkpoints").glob("*.damaged*")]:
            yield f"not whole: {damaged}"
        elif progress is not None:
            yield from self._check_whole(visible, updates)
        if acknowledged:
            yield from self._check_rest(folder, updates)

    def _check_whole(self, visible: Tree, updates: int) -> Iterator[str]:
        """Compare a checkpoint with the one of the recorded training."""
        for name, data in visible.items():
            if name.startswith(f"{updates:08d}") and not name.endswith("/"):
                if data not in self._saved().get(name, []):
                    yield f"{name} is not what was saved"

    def _saved(self) -> dict[str, list[bytes]]:
        """Return all contents that the files of checkpoints had when their saving returned."""
        if not hasattr(self, "_contents"):
            self._contents: dict[str, list[bytes]] = {}
            start = "out/model/checkpoints/"
            for number, operation in enumerate(self.recorded.recording.operations):
                if operation.mark:
                    for name, data in self.recorded.recording.state(number).items():
                        if name.startswith(start):
                            self._contents.setdefault(name[len(start) :], []).append(data)
        return self._contents

    def _check_rest(self, folder: Path, updates: int) -> Iterator[str]:
        """Check the best parameters and the metrics of a training with a checkpoint."""
        try:
            read_parameters(folder / "params.best.safetensors")
        except NmtkitError as error:
            yield f"best parameters: {error}"
        path = folder / "metrics.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        with contextlib.suppress(ValueError):
            found = {json.loads(line)["update"] for line in lines}
            expected = set(range(kill.VALIDATE_EVERY, updates + 1, kill.VALIDATE_EVERY))
            if missing := expected - found:
                yield f"metrics of updates {sorted(missing)} are gone"

    def _load(self, folder: Path) -> Any:
        """Load the newest checkpoint; compare the parameters with the file that has them."""
        if self._model is None:
            config = read_config(folder)
            model = build_model(config, *map(len, read_vocabularies(folder)))
            average = config.training.average_checkpoints
            self._model = model, make_optimizer(model, config.training), average
        progress = load_newest_checkpoint(folder, *self._model)
        model = self._model[0]
        assert all(value.isfinite().all() for value in parameters_of(model).values())
        return progress


def replays(shim: Shim, work: Path, only: list[str] | None) -> Iterator[Replay]:
    """Record the commands one after another."""
    for case in CASES:
        if case.name == "train":
            arguments = [
                f"training.max_updates={UPDATES}" if "max_updates" in word else word
                for word in case.arguments
            ]
            if not only or "train" in only:
                yield TrainingReplay(shim, work, case._replace(arguments=arguments))
        elif case.outputs and case.words in ("prepare", "shortlist", "nbest tune"):
            if not only or case.words in only:
                yield from (Replay(shim, work, case, force) for force in (False, True))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="COMMAND")
    parser.add_argument("--sample", default="all", help="states of each command, a number or all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sample = None if options.sample == "all" else int(options.sample)
    torch.set_num_threads(1)
    logging.disable()
    draw = random.Random(options.seed)
    count, broken = 0, 0
    with commands.work_folder() as work:
        shim = build_shim(work)
        if shim is None:
            sys.exit("needs Linux on x86-64 and a C compiler")
        write_inputs(work / "in")
        for replay in replays(shim, work, options.only):
            replay.run(sample, draw)
            for law in replay.broken[:20]:
                print(law)
            print(
                f"{replay.name}: {replay.end} operations, {replay.count} states,"
                f" {len(replay.broken)} laws broken",
                flush=True,
            )
            count += replay.count
            broken += len(replay.broken)
    print(f"{count} states after a loss of power replayed: {broken} laws broken")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
