"""Send a SIGTERM to every command, at many moments, and check that it ends and harms nothing.

    python tests/faults/terminate.py --moments 40
    python tests/faults/terminate.py --moments 4 --only 'nmtkit train'

Each command line of `opened_runs.py` runs once undisturbed, and then once for each moment: a random
time, or a random operation of Python on a file or folder. Half of the signals come twice at once,
as `timeout` sends them. Then once for each of its inputs, in whose place there is a named pipe that
nobody writes to. The law: it ends within END_LIMIT seconds, with the status of a terminated or a
finished command, without a traceback, and without leaving a process behind; each file is as it was
before, as it is afterwards, or absent; and the same command, run again, ends as if nothing had
happened. A training may have saved checkpoints.
Prints the number of signals; the exit status is 1 if the law was broken.
"""

import argparse
import contextlib
import functools
import importlib
import itertools
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch

# The tests are not an installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.faults import child, kill  # noqa: E402
from tests.faults.child import Ended  # noqa: E402
from tests.faults.opened_runs import RUNS, Run, SampleFolder  # noqa: E402

TIME_LIMIT = 60.0
"""Seconds within which an undisturbed command ends."""

END_LIMIT = 5.0
"""Seconds within which a command must end after a SIGTERM."""

TERMINATED = 128 + signal.SIGTERM

PIPE_SECONDS = 0.3
"""Time that a command has until it reads a pipe."""

HIDDEN = re.compile(r"(^|/)\.[^/]+\.[0-9a-f]{16}(\.old)?(/|$)")
"""A file that a killed process left behind; the next writer of the same output removes it."""

WITH_TIMES = ("metrics.jsonl", "state.json")
"""Files that hold times, which are sometimes the same in two runs."""

PRELOADED = (
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "sklearn.decomposition",
    "sklearn.manifold",
)
"""Modules that some commands import slowly, if they are installed."""

Tree = dict[str, bytes]
"""Contents of the files of a folder by their relative paths."""


def tree_of(folder: Path) -> Tree:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def terminate_at(event: int, times: int, folder: Path) -> child.Arm:
    """Return an Arm that sends a SIGTERM before this operation on files, counted from 1.

    :param times: how many operations in a row it is sent before.
    """

    def arm() -> None:
        os.chdir(folder)
        remaining = itertools.count(event - 1, -1)

        def watch(name: str, _: tuple[object, ...]) -> None:
            if name in kill.FOLDER_EVENTS and -times < next(remaining) <= 0:
                os.kill(os.getpid(), signal.SIGTERM)

        sys.addaudithook(watch)

    return arm


def count_events(folder: Path, counter: Path) -> child.Arm:
    """Return an Arm that writes the number of operations on files into a file."""

    def arm() -> None:
        os.chdir(folder)
        count = itertools.count(1)
        file = os.open(counter, os.O_WRONLY | os.O_CREAT, 0o600)

        def watch(name: str, _: tuple[object, ...]) -> None:
            if name in kill.FOLDER_EVENTS:
                os.pwrite(file, b"%9d" % next(count), 0)

        sys.addaudithook(watch)

    return arm


class Target:
    """One command line in a folder of its own.

    before, after: the folder's files before and after an undisturbed run.
    volatile: names of files that two undisturbed runs write differently: they hold times.
    """

    def __init__(self, samples: SampleFolder, run: Run, work: Path) -> None:
        self.samples, self.run, self.work = samples, run, work
        self.log = work.with_suffix(".log")
        self.trains = run.arguments[0] == "train"
        self.model = run.arguments[run.arguments.index("-o") + 1] if self.trains else ""
        counter = work.with_suffix(".count")
        with samples.copy(run, work):
            self.before = tree_of(work)
            ended = self.start_and_wait(count_events(work, counter))
            self.after = tree_of(work)
        if ended.status:
            raise RuntimeError(f"{run}: status {ended.status}: {ended.stderr}")
        self.seconds, self.events = ended.seconds, int(counter.read_bytes())
        with samples.copy(run, work):
            self.start_and_wait(lambda: os.chdir(work))
            again = tree_of(work)
        self.volatile = {name for name, data in self.after.items() if again.get(name) != data}
        self.volatile |= {name for name in self.after if Path(name).name in WITH_TIMES}

    def start_and_wait(self, arm: child.Arm) -> Ended:
        return child.run(self.run.arguments, self.log, TIME_LIMIT, arm)

    def try_moment(self, draw: random.Random) -> str:
        """Send a SIGTERM at a random moment; return how the command ended.

        :raises AssertionError: the law was broken.
        """
        times = draw.choice((1, 2))
        with self.samples.copy(self.run, self.work):
            if draw.random() < 0.3:
                moment: float = draw.uniform(0, self.seconds)
                ended = self.terminate_after(moment, times)
            else:
                moment = draw.randint(1, self.events)
                arm = terminate_at(int(moment), times, self.work)
                ended = child.run(self.run.arguments, self.log, TIME_LIMIT, arm)
            at = f"SIGTERM at {moment:g}, {times} times"
            assert not child.is_group_alive(ended.process), f"{at}: a process is left behind"
            assert ended.seconds < self.seconds + END_LIMIT, f"{at}: {ended.seconds:.1f} s"
            assert ended.status in (0, -signal.SIGTERM, TERMINATED), f"{at}: {ended}"
            assert "Traceback" not in ended.stderr, f"{at}: {ended.stderr}"
            left = tree_of(self.work)
            for name, data in left.items():
                assert self.is_whole(name, data), f"{at}: {name} is neither old nor new"
            hidden = [name for name in left if HIDDEN.search(name)]
            if not self.is_done(left):
                again = self.repeat()
                assert not again.status, f"{at}, and again: {again.stderr}"
                assert self.is_done(tree_of(self.work)), f"{at}: again differs: {self.different()}"
        if ended.status == 0:
            return "finished"
        return "with leftovers" if hidden else "clean"

    def try_pipe(self, name: str) -> str:
        """Put a named pipe without a writer in the place of an input, and send a SIGTERM.

        :raises AssertionError: the law was broken.
        """
        with self.samples.copy(self.run, self.work):
            if (self.work / name).is_dir():
                shutil.rmtree(self.work / name)
            else:
                (self.work / name).unlink()
            os.mkfifo(self.work / name)
            before = self.before.keys() - {name}
            ended = self.terminate_after(PIPE_SECONDS)
            at = f"SIGTERM while {name} is a pipe"
            assert ended.status in (1, 2, -signal.SIGTERM, TERMINATED), f"{at}: {ended}"
            assert "Traceback" not in ended.stderr, f"{at}: {ended.stderr}"
            new = [file for file in tree_of(self.work) if file not in before]
            assert not new, f"{at}: {new} left behind"
        return "waiting for a pipe" if ended.status not in (1, 2) else "a pipe refused"

    def repeat(self) -> Ended:
        """Run the command again, with --force if one of several outputs is complete."""
        again = self.start_and_wait(lambda: os.chdir(self.work))
        if again.status and "exists already" in again.stderr:
            forced = (*self.run.arguments, "--force")
            again = child.run(forced, self.log, TIME_LIMIT, lambda: os.chdir(self.work))
        return again

    def terminate_after(self, seconds: float, times: int = 1) -> Ended:
        process = child.start(self.run.arguments, self.log, lambda: os.chdir(self.work))
        time.sleep(seconds)
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
            time.sleep(child.POLL)
        return child.wait(process, self.log, END_LIMIT)

    def is_whole(self, name: str, data: bytes) -> bool:
        """Return whether a file is as it was, as it becomes, or hidden."""
        if HIDDEN.search(name) or name in self.volatile:
            return True
        if self.trains and name.startswith(f"{self.model}/"):
            return True
        return data in (self.before.get(name), self.after.get(name))

    def is_done(self, tree: Tree) -> bool:
        return not self.different(tree)

    def different(self, tree: Tree | None = None) -> list[str]:
        """Return the names of files that are not as after an undisturbed run."""
        tree = tree_of(self.work) if tree is None else tree
        names = tree.keys() | self.after.keys()
        return sorted(
            name
            for name in names
            if (name in tree) != (name in self.after)
            or (name not in self.volatile and tree[name] != self.after[name])
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--moments", type=int, default=20, help="signals for each command line")
    parser.add_argument("--lines", type=int, default=0, help="number of command lines; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only command lines that contain this")
    parser.add_argument("--verbose", action="store_true", help="print the counts of each command")
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw = random.Random(options.seed)
    counts: Counter[str] = Counter()
    faults = 0
    if not options.lines:
        for module in PRELOADED:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        lines = [line for line in RUNS if options.only in f"nmtkit {line}"]
        lines = draw.sample(lines, min(options.lines or len(lines), len(lines)))
        samples = SampleFolder(folder / "samples", lines)
        for run in samples.runs():
            target = Target(samples, run, folder / "work")
            ends: Counter[str] = Counter()
            trials: list[Callable[[], str]]
            trials = [functools.partial(target.try_moment, draw)] * options.moments
            trials += [functools.partial(target.try_pipe, name) for name in run.inputs]
            for trial in trials:
                try:
                    ends[trial()] += 1
                except (AssertionError, child.Hanging) as error:
                    faults += 1
                    ends["FAULT"] += 1
                    print(f"nmtkit {run}: FAULT {error}", flush=True)
            if options.verbose:
                print(f"nmtkit {run}: {target.events} events, {target.seconds:.2f} s, {dict(ends)}")
            counts += ends
    summary = ", ".join(f"{count} {end}" for end, count in sorted(counts.items()))
    print(f"{counts.total()} commands ended by one SIGTERM ({summary}): {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
