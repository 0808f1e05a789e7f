"""Put something bad in the place of every file that a command opens, one at a time.

    python tests/faults/opened_files.py
    python tests/faults/opened_files.py --only 'train prepared -o model' --verbose

The files are those that strace lists for the runs of `opened_runs.py`; `opened_cases.py` has the
cases. The law, whatever stands in the place of a file:

- The command ends within a stated time and memory, with status 0 or 1.
- With status 0 its result is that of an undisturbed run, or the file is one that the user may
  change, which `may_change` says with a reason.
- With status 1 it ends with one line `nmtkit: error: ...` that names the file.
- Nothing else stands on stderr than lines of nmtkit.
- No other file changes, except to what an undisturbed run makes of it; files outside of the folder
  are neither changed nor shown.

Prints the number of cases, and each fault; the exit status is 1 if there is any.
"""

import argparse
import contextlib
import itertools
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.forked_command import (
    TIME_LIMIT,
    Ended,
    FileCall,
    can_trace,
    preload,
    read_trace,
    run_forked,
)
from tests.faults.opened_cases import (
    BINARISED_NAME,
    CASES,
    HIDDEN_NAME,
    SECRET,
    Case,
    Entry,
    Place,
    Role,
    State,
    Tree,
    peer,
    read_tree,
    role_of,
    state_of,
)
from tests.faults.opened_runs import RUNS, Run, SampleFolder, missing_commands, unused_options

FAST_FOLDER = Path("/dev/shm")
"""A folder in memory."""

VARYING = re.compile(rb'"(seconds|words_per_second|mtime_ns)": [0-9.e+-]+')
"""Numbers that differ between two runs."""

OWN_CHECKSUM = re.compile(rb'"sha256": "[0-9a-f]{64}"')
"""Checksum of a JSON file in that file, which differs with such numbers."""


@dataclass(frozen=True)
class Undisturbed:
    """A run without a disturbance: the folder before and after it, its output and its files."""

    run: Run
    before: Tree
    after: Tree
    ended: Ended
    calls: list[FileCall]

    @property
    def paths(self) -> list[Path]:
        """The files that the run opens, looks for, makes or removes, in alphabetical order."""
        return sorted({path for call in self.calls for path in call.paths})

    def role(self, path: Path) -> Role | None:
        """Return the role of a file."""
        return role_of(path, self.run.arguments, self.before, self.after)


@dataclass(frozen=True)
class Trial:
    """A run with a case in the place of a file."""

    undisturbed: Undisturbed
    path: Path
    role: Role
    case: Case

    def __str__(self) -> str:
        return f"{self.undisturbed.run}: {self.path} ({self.role.value}): {self.case.name}"


class Laboratory:
    """Runs commands in a work folder on copies of the sample files."""

    def __init__(
        self, folder: Path, seconds: float = TIME_LIMIT, lines: Sequence[str] = RUNS
    ) -> None:
        """Make the sample files in a folder, which must be empty.

        :param seconds: after which a command is killed.
        :param lines: the runs; by default all of them.
        """
        self.seconds = seconds
        self.folder, self.work = folder, folder / "work"
        self.sample = SampleFolder(folder / "sample", lines)

    def observe(self, run: Run) -> Undisturbed:
        """Run a command undisturbed, and list the files that it opens."""
        trace_file = self.folder / "trace"
        with self.sample.copy(run, self.work) as work:
            before = read_tree(work)
            ended = run_forked(list(run.arguments), work, trace_file)
            return Undisturbed(run, before, read_tree(work), ended, read_trace(trace_file, work))

    def faults(self, trial: Trial) -> list[str]:
        """Make a trial, and return what breaks the law."""
        undisturbed, path = trial.undisturbed, trial.path
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        received: list[bytes] = []
        try:
            with self.sample.copy(undisturbed.run, self.work) as work:
                place = Place(
                    work / path, trial.role, undisturbed.before.get(path, ("", b""))[1], elsewhere
                )
                place.secret.write_bytes(SECRET)
                _clear(place.path)
                trial.case.put(place)
                before, outside = read_tree(work), read_tree(elsewhere)
                meets = trial.case.name == "a FIFO" and str(path) in undisturbed.run.arguments
                with peer(place, received) if meets else contextlib.nullcontext():
                    ended = run_forked(list(undisturbed.run.arguments), work, seconds=self.seconds)
                after = read_tree(work)
            judge = Judge(trial, ended, before, after)
            return [*judge.faults(), *judge.faults_outside(outside, read_tree(elsewhere), received)]
        finally:
            shutil.rmtree(elsewhere)


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Judge:
    """Compares a trial with the law."""

    trial: Trial
    ended: Ended
    before: Tree
    after: Tree

    def faults(self) -> Iterator[str]:
        """Yield what breaks the law in the folder and the output."""
        if self.ended.status is None:
            yield f"did not end within {self.ended.seconds:.0f} s"
            return
        lines = self.ended.stderr.splitlines()
        if odd := [line for line in lines if not line.startswith("nmtkit: ")]:
            yield f"stderr has {odd[0][:200]!r}, and at its end {odd[-1][:200]!r}"
        if self.ended.status == 0:
            yield from self._differences()
        elif self.trial.path.suffix == ".toml" and "not enough memory" in self.ended.stderr:
            return  # other settings, those of a model that the trial's limit does not allow
        elif self.ended.status == 1:
            yield from self._bad_errors(lines)
            yield from self._half_written()
        elif not (self.ended.status == 2 and is_wrong_usage(self.trial)):
            yield f"status {self.ended.status}: {lines[-1] if lines else ''}"
        if self._shows_secret():
            if not may_change(self.trial):
                yield "shows the content of a file outside"

    def _differences(self) -> Iterator[str]:
        """Yield the differences from the undisturbed run."""
        expected = self.trial.undisturbed
        different = [
            str(path)
            for path in sorted(expected.after.keys() | self.after.keys())
            if not self._is_disturbed(path)
            and _stable(expected.after.get(path)) != _stable(self.after.get(path))
            and not self._is_set_aside(path)
        ]
        if expected.ended.stdout != self.ended.stdout:
            different.append("stdout")
        if different and not may_change(self.trial):
            last = self.ended.stderr.splitlines()[-1:]
            yield f"status 0, but {', '.join(different)} differ; stderr ends with {last}"

    def _bad_errors(self, lines: list[str]) -> Iterator[str]:
        errors = [line for line in lines if line.startswith("nmtkit: error: ")]
        if len(errors) != 1 or errors[-1] != lines[-1]:
            yield f"{len(errors)} lines with errors"
        elif not any(name in errors[0] for name in self._names()):
            yield f"the error does not name the file: {errors[0]}"

    def _names(self) -> list[str]:
        """Return the names by which an error may call the file."""
        path, undisturbed = self.trial.path, self.trial.undisturbed
        if state_of(path, undisturbed.before) is State.NOTHING:
            return list(path.parts)  # the folder that was given has something odd
        if self.trial.role is Role.INPUT and self.trial.case.changes:
            return list(undisturbed.run.inputs)  # it may contradict another input
        return [path.name]

    def _half_written(self) -> Iterator[str]:
        """Yield the files that are neither as before nor as an undisturbed run makes them."""
        expected = self.trial.undisturbed.after
        if self.trial.undisturbed.run.arguments[0] == "check":
            return  # with status 1 its output has the findings
        for path in sorted(self.before.keys() | self.after.keys()):
            found = _stable(self.after.get(path))
            if found not in (_stable(self.before.get(path)), _stable(expected.get(path))):
                if not self._is_set_aside(path):
                    yield f"status 1, but {path} has changed"

    def _is_disturbed(self, path: Path) -> bool:
        return path.is_relative_to(self.trial.path)

    def _is_set_aside(self, path: Path) -> bool:
        """Return whether a path is one that the command may rename or write anew.

        A checkpoint that is damaged, or is being removed, gets another name. Files of ids are made
        from a text, and made again when it has changed.
        """
        text, role = self.trial.path, self.trial.role
        if role is Role.PREPARED and path.name.startswith(f"{text.name}."):
            return BINARISED_NAME.fullmatch(path.name) is not None
        paths = {str(other) for other in self.after}
        return any(
            re.search(r"\.(damaged\d*|old)$", part.name)
            or f"{part}.damaged" in paths
            or str(part.with_name(f".{part.name}.old")) in paths
            for part in (path, *path.parents[:-1])
        )

    def _shows_secret(self) -> bool:
        texts = [content for kind, content in self.after.values() if kind == "file"]
        texts += [self.ended.stdout, self.ended.stderr.encode()]
        return any(word in text for text in texts for word in SECRET.splitlines())

    def faults_outside(self, before: Tree, after: Tree, received: list[bytes]) -> Iterator[str]:
        """Yield what breaks the law outside of the folder, or in what a reader of a FIFO got."""
        if self.trial.role is not Role.OUTPUT:
            if before != after:
                yield "a file outside of the folder has changed"
            return
        if self.ended.status:
            return
        expected = _stable(self.trial.undisturbed.after.get(self.trial.path))
        if expected is None or expected[0] != "file":
            return
        for content in [*received, *(c for p, (_, c) in after.items() if p.stem == "missing")]:
            if _stable(("file", content)) != expected:
                yield "another result was written through a link or a FIFO"


def _stable(entry: Entry | None) -> Entry | None:
    """Return an entry without the numbers that differ between two runs."""
    if entry is None:
        return None
    content, count = VARYING.subn(rb'"\1": 0', entry[1])
    return entry[0], OWN_CHECKSUM.sub(b"", content) if count else content


def may_change(trial: Trial) -> str:
    """Return why another result than the undisturbed one is right, or an empty string."""
    if trial.role is Role.INPUT and trial.case.changes:
        return "a text of the user, of which no sum is recorded"
    if is_prepared_text(trial) and (trial.case.changes or trial.case.name == "a link out"):
        return "the user may change texts before a training; 'nmtkit check' compares their sums"
    if trial.undisturbed.run.arguments[0] == "check":
        return "the result says what is wrong with the file, or that there is one file less"
    if trial.role is Role.PREPARED and trial.case.changes and trial.path.stem == "vocab":
        return "the user may write another list of words; no sum is recorded"
    if trial.role is Role.MODEL and trial.case.name == "missing" and ".json" in trial.path.suffix:
        return "a record of the training, which folders of early versions lack"
    if trial.role is Role.MODEL and trial.case.changes and not has_sum(trial):
        return "settings that the user may edit, or a log, of which no sum is recorded"
    if trial.role is Role.FOLDER and str(trial.path) in trial.undisturbed.run.arguments:
        return "a FIFO is another input" if trial.case.name == "a FIFO" else ""
    return ""


def has_sum(trial: Trial) -> bool:
    """Return whether a sum of a model folder's file is recorded, in SHA256SUMS or in the file."""
    sums = trial.undisturbed.before.get(trial.path.parent / "SHA256SUMS", ("", b""))[1]
    recorded = f"  {trial.path.name}\n".encode() in sums
    return recorded or trial.path.suffix == ".safetensors" or trial.path.name == "SHA256SUMS"


def is_wrong_usage(trial: Trial) -> bool:
    """Return whether status 2 is right: `shortlist` has other options for a folder."""
    return trial.role is Role.INPUT and trial.case.name == "a folder"


def is_endless(trial: Trial) -> bool:
    """Return whether reading the file takes hours, as the user has asked for.

    Zeros behind gzip data are skipped, as gunzip does, for as many terabytes as there are. Texts of
    a prepared folder, of any size, are read for their sums; by `check`, all of its files.
    """
    gzipped = trial.path.suffix == ".gz" and trial.role is Role.INPUT
    checks = trial.undisturbed.run.arguments[0] == "check"
    checked = checks and trial.role in (Role.PREPARED, Role.BINARISED)
    return trial.case.name == "huge" and (gzipped or is_prepared_text(trial) or checked)


def is_prepared_text(trial: Trial) -> bool:
    """Return whether a file is a text of a prepared folder, by its manifest."""
    if trial.role is not Role.PREPARED:
        return False
    manifest = trial.undisturbed.before.get(trial.path.parent / "manifest.json", ("", b"{}"))[1]
    return trial.path.stem in json.loads(manifest).get("splits", {})


def trials(undisturbed: Undisturbed) -> Iterator[Trial]:
    """Yield all trials with a run."""
    for path in undisturbed.paths:
        role = undisturbed.role(path)
        outside = path == Path() or state_of(path.parent, undisturbed.before) is not State.FOLDER
        if role is None or role is Role.HIDDEN or outside:
            continue
        for case in CASES[state_of(path, undisturbed.before)]:
            if role is Role.FOLDER and case.name == "a link out":
                if str(path) in undisturbed.run.arguments:
                    continue  # the user may name a link
            if role is Role.FOLDER and case.name == "a FIFO":
                if undisturbed.run.arguments[0] == "check":
                    continue  # the user may name a pipe, which may have a table
            trial = Trial(undisturbed, path, role, case)
            if not is_endless(trial):
                yield trial


def problems_of(undisturbed: Undisturbed) -> Iterator[str]:
    """Yield why a run cannot be used, or which of its files have no role."""
    run = undisturbed.run
    if undisturbed.ended.status != 0:
        yield f"{run}: status {undisturbed.ended.status}: {undisturbed.ended.stderr}"
    for path in undisturbed.paths:
        if undisturbed.role(path) is None:
            yield f"{run}: {path}: a file of no known role; add its role and its cases"
    for call in undisturbed.calls:
        path = call.paths[0]
        if "O_CREAT" in call.flags and HIDDEN_NAME.fullmatch(path.name):
            if "O_EXCL" not in call.flags:
                yield f"{run}: {path}: a hidden file is not created exclusively"


def try_all(
    laboratory: Laboratory,
    run: Run,
    is_chosen: Callable[[Trial], bool],
    report: Callable[[str], object],
) -> Counter[str]:
    """Try the chosen cases of all files of a run; return how many there were of each role.

    :param report: called with each fault.
    """
    counts: Counter[str] = Counter()
    undisturbed = laboratory.observe(run)
    for problem in problems_of(undisturbed):
        report(problem)
    for trial in filter(is_chosen, trials(undisturbed)):
        counts[trial.role.value] += 1
        for fault in laboratory.faults(trial):
            report(f"{trial}: {fault}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="only runs whose command line has this text")
    parser.add_argument("--path", default="", help="only paths that have this text")
    parser.add_argument("--case", default="", help="only cases whose name has this text")
    parser.add_argument("--every", type=int, default=1, help="every how many-th case to try")
    parser.add_argument("--seconds", type=float, default=TIME_LIMIT, help="time of each command")
    parser.add_argument("--verbose", action="store_true", help="print the time of each run")
    options = parser.parse_args()
    if not can_trace():
        print("0 files by kind: strace is not installed, or may not trace here")
        return
    preload()
    number = itertools.count()

    def is_chosen(trial: Trial) -> bool:
        matches = options.path in str(trial.path) and options.case in trial.case.name
        return matches and next(number) % options.every == 0

    faults: list[str] = [*missing_commands(), *unused_options()]
    print(*faults, sep="\n")

    def report(fault: str) -> None:
        faults.append(fault)
        print(fault, flush=True)

    counts: Counter[str] = Counter()
    lines = [line for line in RUNS if options.only in line]
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
        laboratory = Laboratory(Path(folder), options.seconds, lines)
        for run in laboratory.sample.runs():
            started, before = time.monotonic(), counts.total()
            counts += try_all(laboratory, run, is_chosen, report)
            if options.verbose:
                seconds = time.monotonic() - started
                print(f"{run}: {counts.total() - before} cases in {seconds:.0f} s", flush=True)
    print(*(f"{count} cases with a {role}" for role, count in counts.most_common()), sep="\n")
    print(f"{counts.total()} files by kind: {len(faults)} faults")
    sys.exit(1 if faults else 0)


def fast_folder() -> Path | None:
    """Return a folder in memory, where reading a huge file takes little time, or None."""
    return FAST_FOLDER if os.access(FAST_FOLDER, os.W_OK) else None


if __name__ == "__main__":
    main()
