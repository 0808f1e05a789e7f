"""Disturb each system call of a short run of every command, and check that nothing is lost.

    python tests/faults/system_calls.py
    python tests/faults/system_calls.py --only train prepare --sample 20 --seed 7

One run of each command of `commands.py` is recorded. Then for every number n, in runs of the same
command, the n-th call that uses a file fails (with an error of its kind, see `shim.ERRORS`; a read
or write may also stop half way), or the process is killed there (before a call that changes
something; a write also half way), or gets a SIGTERM. On a full disk the writing calls after the
n-th fail as well. Each command runs without earlier outputs, and with them and --force. The laws:

- A run with a failure ends with status 0 and the whole result, or with status 1 and one line
  "nmtkit: error:" without a traceback. (`check` reports the failure in its output, too.) A
  SIGTERM ends it with 143; it may leave the file of a training's lock, which then locks nothing.
- Inputs are unchanged. Every output is whole: the earlier one, or the new one. What was written to
  stdout is the beginning of the result.
- A failure or SIGTERM leaves no hidden files, unless removing them is what failed.
- The same command, undisturbed, then gives the undisturbed result, and no hidden file remains; a
  training goes on, and all its files are equal, bit for bit.

Prints the counts; the exit status is 1 if a law is broken.
"""

import argparse
import gc
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"

import torch

# The tests are not an installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.faults.commands import (  # noqa: E402
    CASES,
    Case,
    Outcome,
    new_run,
    run_command,
    work_folder,
    write_inputs,
)
from tests.faults.crash_states import Tree  # noqa: E402
from tests.faults.shim import ERRORS, Call, Fault, Shim, build_shim  # noqa: E402

CHANGES = (
    "create",
    "write",
    "rename",
    "remove",
    "make",
    "truncate",
    "link",
    "mode",
    "lock",
    "sync",
)
"""Kinds of calls before which a process is killed: between others nothing changes."""

FULL_DISK = ("create", "write", "make", "truncate")
"""Kinds of calls that fail on a full disk."""


class Disturbed(NamedTuple):
    """A planned run: what happens, and the recorded call at which it does."""

    fault: Fault
    call: Call

    def __str__(self) -> str:
        error = f" {os.strerror(self.fault.error)}" if self.fault.error else ""
        name = Path(self.call.path).name
        return f"{self.fault.action}{error} at call {self.fault.at} ({self.call.name} {name})"


class Recorded(NamedTuple):
    """An undisturbed run: the files before and after it, and its calls."""

    before: Tree
    after: Tree
    calls: list[Call]


class Campaign:
    """Runs one case again and again.

    counts: runs by action. broken: laws that did not hold.
    """

    def __init__(self, shim: Shim, work: Path, case: Case, force: bool) -> None:
        self.shim, self.work, self.case, self.force = shim, work, case, force
        self.folder = work / "run"
        self.log = work / "log"
        self.counts: Counter[str] = Counter()
        self.broken: list[str] = []
        self._continued: set[int] = set()
        self.recorded = self._record()

    @property
    def name(self) -> str:
        return f"{self.case.name}{' --force' if self.force else ''}"

    def run(self, chosen: list[Disturbed]) -> None:
        """Disturb runs, and check the laws after each."""
        for disturbed in chosen:
            outcome = self._start(disturbed.fault)
            self.counts[disturbed.fault.action] += 1
            for law in [*self._check(disturbed, outcome), *self._check_again(disturbed)]:
                self.broken.append(f"{self.name}: {disturbed}: {law}")
                print(self.broken[-1], flush=True)

    def plan(self) -> Iterator[Disturbed]:
        """Yield all disturbed runs."""
        for number, call in enumerate(self.recorded.calls, start=1):
            for error in ERRORS[call.kind]:
                yield Disturbed(Fault("fail", number, error), call)
            if call.kind in ("read", "write") and call.length > 1:
                yield Disturbed(Fault("shorten", number), call)
            if call.kind in CHANGES:
                yield Disturbed(Fault("kill before", number), call)
                yield Disturbed(Fault("terminate", number), call)
            if call.kind == "write":
                yield Disturbed(Fault("kill inside", number), call)
        full = [call for call in self.recorded.calls if call.kind in FULL_DISK]
        for number, call in enumerate(full, start=1):
            yield Disturbed(Fault("fail", number, ERRORS["write"][0], FULL_DISK, True), call)

    def _record(self) -> Recorded:
        new_run(self.work / "in", self.folder, self.case)
        words = [*self.case.words.split(), *self.case.arguments]
        if self.force:
            run_command(self.shim, self.folder, words)
            for name in self.case.outputs:
                make_older(self.folder / name)
        before = read_tree(self.folder)
        self.log.unlink(missing_ok=True)
        modules = self.work / "modules"
        outcome = self._command(Fault(), self.log, modules)
        if outcome.status != 0:
            raise RuntimeError(f"{self.name}: {outcome}")
        for name in modules.read_text().split():
            _import(name)
        gc.freeze()  # forks then share its pages
        return Recorded(before, read_tree(self.folder), self.shim.read_log(self.log))

    def _start(self, fault: Fault) -> Outcome:
        """Run the command in a new folder, disturbed."""
        write_tree(self.folder, self.recorded.before)
        return self._command(fault)

    def _command(
        self, fault: Fault | None, log: Path | None = None, modules: Path | None = None
    ) -> Outcome:
        words = [*self.case.words.split(), *self.case.arguments]
        exists = any((self.folder / name).exists() for name in self.case.outputs)
        if self.force or exists:
            words.append("--force")
        return run_command(self.shim, self.folder, words, fault, log, modules=modules)

    def _check(self, disturbed: Disturbed, outcome: Outcome) -> Iterator[str]:
        """Yield the laws that do not hold after a disturbed run."""
        tree = read_tree(self.folder)
        before, after = self.recorded.before, self.recorded.after
        action = disturbed.fault.action
        if outcome.status is None:
            yield "hangs"
        if action.startswith("kill"):
            if outcome.status != -9:
                yield f"status {outcome.status}"
        elif action == "terminate":
            if outcome.status not in (0, 143):
                yield f"status {outcome.status}: {outcome.stderr[-300:]!r}"
            if hidden := _hidden(tree) - _hidden(before) - {"out/model/.lock"}:
                yield f"leaves {sorted(hidden)}"
        else:
            yield from self._check_message(disturbed, outcome, tree)
        for name in before:
            if name.startswith("in/") and tree.get(name) != before[name]:
                yield f"{name} has changed"
        judged = self.case.judges and outcome.status == 1
        for name in () if judged else self.case.outputs:
            if output_part(tree, name) not in (output_part(before, name), output_part(after, name)):
                yield f"{name} is neither the old nor the new one"
        if not judged and not after["stdout"].startswith(tree.get("stdout", b"")):
            yield "stdout is not the beginning of the result"

    def _check_message(self, disturbed: Disturbed, outcome: Outcome, tree: Tree) -> Iterator[str]:
        lines = outcome.stderr.splitlines()
        errors = [line for line in lines if line.startswith("nmtkit: error: ")]
        if outcome.status == 0:
            if errors:
                yield f"status 0 with {errors}"
            elif _visible(tree) != _visible(self.recorded.after):
                yield f"status 0 with another result: {_differing(tree, self.recorded.after)}"
        elif outcome.status != 1 or len(errors) != 1:
            yield f"status {outcome.status}: {outcome.stderr[-600:]!r}"
        if any(not line.startswith("nmtkit: ") for line in lines):
            yield f"messages that are not its own: {outcome.stderr[-600:]!r}"
        hidden = _hidden(tree) - _hidden(self.recorded.before)
        if hidden and not _may_leave(disturbed.call):
            yield f"leaves {sorted(hidden)}"

    def _check_again(self, disturbed: Disturbed) -> Iterator[str]:
        """Run the command again, undisturbed; yield the laws that do not hold."""
        state = hash(frozenset(read_tree(self.folder).items()))
        if state in self._continued:
            return
        outcome = self._command(None)
        tree, after = read_tree(self.folder), self.recorded.after
        if outcome.status != 0:
            yield f"then status {outcome.status}: {outcome.stderr[-300:]!r}"
        elif tree != after:
            yield f"then another result: {_differing(tree, after)}"
        else:
            self._continued.add(state)


def make_older(path: Path) -> None:
    """Change an output, so that it can be told from the new one."""
    if path.is_dir():
        for file in path.iterdir():
            if file.suffix not in (".json", ".html"):
                file.write_bytes(b"earlier\n")
        (path / "earlier").write_bytes(b"earlier\n")
    else:
        path.write_bytes(b"earlier\n")


def _import(name: str) -> None:
    """Import a module here, so that forks need not."""
    if name not in sys.modules and not name.startswith("__"):
        try:
            __import__(name)
        except Exception:  # some are made by other modules, or are not for import
            pass


def read_tree(folder: Path) -> Tree:
    """Read all files below a folder."""
    tree: Tree = {}
    for parent, folders, files in os.walk(folder):
        start = f"{parent[len(str(folder)) + 1 :]}/".lstrip("/")
        tree |= {f"{start}{name}/": b"" for name in folders}
        for name in files:
            with open(f"{parent}/{name}", "rb") as file:
                tree[start + name] = file.read()
    return tree


def write_tree(folder: Path, tree: Tree) -> None:
    """Make a folder have the files of a tree, and write only what differs."""
    present = read_tree(folder) if folder.exists() else {}
    for name in sorted(present.keys() - tree.keys(), reverse=True):
        path = folder / name
        path.rmdir() if name.endswith("/") else path.unlink()
    for name in sorted(tree, key=lambda name: (name.count("/"), name)):
        if name not in present and name.endswith("/"):
            (folder / name).mkdir(parents=True)
    for name, content in tree.items():
        if not name.endswith("/") and present.get(name) != content:
            (folder / name).write_bytes(content)


def output_part(tree: Tree, name: str) -> Tree:
    """Return the files of one output."""
    return {path: data for path, data in tree.items() if f"{path}/".startswith(f"{name}/")}


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _hidden(tree: Tree) -> set[str]:
    return {name for name in tree if _is_hidden(name)}


def _visible(tree: Tree) -> Tree:
    return {name: data for name, data in tree.items() if not _is_hidden(name)}


def _may_leave(call: Call) -> bool:
    """Return whether a failure of this call may leave hidden files: it was part of a removal."""
    return call.kind in ("remove", "list") or _is_hidden(call.path) and call.kind != "write"


def _differing(tree: Tree, other: Tree) -> list[str]:
    names = sorted(tree.keys() | other.keys())
    return [name for name in names if tree.get(name) != other.get(name)]


def _sample(planned: list[Disturbed], size: int, draw: random.Random) -> list[Disturbed]:
    """Draw runs, about as many with failures as with kills and signals."""
    parts = [], []  # type: tuple[list[Disturbed], list[Disturbed]]
    for disturbed in planned:
        parts[disturbed.fault.action in ("fail", "shorten")].append(disturbed)
    sizes = (size // 2, size - size // 2)
    return [
        disturbed
        for part, count in zip(parts, sizes, strict=True)
        for disturbed in draw.sample(part, min(count, len(part)))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="COMMAND", help="names as in CASES")
    parser.add_argument("--sample", default="all", help="runs of each command, a number or all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw = random.Random(options.seed)
    counts: Counter[str] = Counter()
    broken: list[str] = []
    with work_folder() as work:
        shim = build_shim(work)
        if shim is None:
            sys.exit("needs Linux on x86-64 and a C compiler")
        write_inputs(work / "in")
        for case in CASES:
            if options.only and case.words not in options.only:
                continue
            for force in (False, True) if case.outputs else (False,):
                campaign = Campaign(shim, work, case, force)
                chosen = list(campaign.plan())
                if options.sample != "all":
                    chosen = _sample(chosen, int(options.sample), draw)
                campaign.run(chosen)
                print(
                    f"{campaign.name}: {len(campaign.recorded.calls)} calls, {len(chosen)} runs,"
                    f" {len(campaign.broken)} laws broken",
                    flush=True,
                )
                counts += campaign.counts
                broken += campaign.broken
    kills = sum(count for action, count in counts.items() if action.startswith("kill"))
    print(
        f"{counts.total() - kills} system calls failed, {kills} kills at system calls:"
        f" {len(broken)} laws broken"
    )
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
