"""Run all parts of `make faults` one after another, and print their counts.

    python tests/faults/run.py --kills 200 --rank-kills 40 --fuzz 20 --updates 3000 --lines 30000

The parts: trainings that are killed again and again (`kill.py`), hostile files for every reader
(`fuzz.py`), tests with full disks and hostile folders, bad files in the place of all that a command
opens (`opened_files.py`), disturbed system calls of every command
(`system_calls.py`), losses of power (`power_loss.py`), and long runs in one process (`soak.py`).
The exit status is 1 if a part failed, with a message that names it.
"""

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAULT_INJECTION_TESTS = (
    "tests/integration/test_full_disk.py",
    "tests/integration/test_signals.py",
    "tests/unit/test_hostile_folder.py",
    "tests/unit/io/test_temporary.py",
)
"""Tests that each inject one fault into a file, a folder or a process."""

INPUT_AND_OUTPUT_TESTS = ("tests/faults/test_pipes.py", "tests/faults/test_outputs.py")
"""Tests of every input and output of every command."""


@dataclass(frozen=True)
class Part:
    """One part of the run: a command, and a regular expression for the counts in its output.

    name: what is counted; several names are separated by commas.
    count_pattern: has one group for each name.
    """

    name: str
    command: tuple[str, ...]
    count_pattern: str

    def run(self) -> tuple[int, ...] | None:
        """Run the command, showing its output, and return its counts, or None if it failed."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, *self.command]
        counts: tuple[int, ...] = ()
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                if match := re.search(self.count_pattern, line):
                    counts = tuple(map(int, match.groups()))
        return None if process.returncode else counts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", default="200")
    parser.add_argument(
        "--rank-kills", default="40", help="kills of a process of a two-process training"
    )
    parser.add_argument("--fuzz", default="20", help="seconds of processor time for each reader")
    parser.add_argument("--calls", default="100", help="disturbed calls of each command, or all")
    parser.add_argument("--crashes", default="all", help="losses of power in each command, or all")
    parser.add_argument("--changes", default="400", help="changes between two runs; 0: all")
    parser.add_argument(
        "--every-file", default="3", help="every how many-th case of an opened file to try"
    )
    parser.add_argument("--updates", default="3000")
    parser.add_argument("--lines", default="30000")
    options = parser.parse_args()
    folder = "tests/faults"
    kills = (f"{folder}/kill.py", "--kills")
    parts = (
        Part("kills survived", (*kills, options.kills), r"^(\d+) kills"),
        Part(
            "kills of a rank survived",
            (*kills, options.rank_kills, "--ranks", "2"),
            r"^(\d+) kills",
        ),
        Part("faults injected", ("-m", "pytest", "-q", *FAULT_INJECTION_TESTS), r"^(\d+) passed"),
        Part(
            "bad inputs tried", (f"{folder}/fuzz.py", "--seconds", options.fuzz), r"^(\d+) bad inp"
        ),
        Part(
            "commands ended by one SIGTERM",
            (f"{folder}/terminate.py", "--moments", "6"),
            r"^(\d+) commands ended",
        ),
        Part(
            "changes between runs",
            (f"{folder}/between_runs.py", "--sample", options.changes),
            r"^(\d+) changes between runs",
        ),
        Part(
            "folders copied in use",
            (f"{folder}/copies.py", "--copies", "40"),
            r"^(\d+) copies of a folder",
        ),
        Part(
            "files by kind",
            (f"{folder}/opened_files.py", "--every", options.every_file),
            r"^(\d+) files by kind",
        ),
        Part(
            "system calls failed, kills at system calls",
            (f"{folder}/system_calls.py", "--sample", options.calls),
            r"^(\d+) system calls failed, (\d+) kills",
        ),
        Part(
            "writes replayed with a loss of power",
            (f"{folder}/power_loss.py", "--sample", options.crashes),
            r"^(\d+) states after a loss of power",
        ),
        Part(
            "inputs and outputs tried as pipes and links",
            ("-m", "pytest", "-q", "-m", "slow or not slow", *INPUT_AND_OUTPUT_TESTS),
            r"^(\d+) passed",
        ),
        Part(
            "hostile lists tuned",
            (f"{folder}/hostile_lists.py",),
            r"^(\d+) hostile lists",
        ),
        Part(
            "odd lines through slow pipes",
            (f"{folder}/odd_lines.py", "--lines", "200000"),
            r"^(\d+) odd lines",
        ),
        Part(
            "lines translated in one run",
            (f"{folder}/soak.py", "--updates", options.updates, "--lines", options.lines),
            r"^(\d+) lines in",
        ),
    )
    outcomes = {part.name: part.run() for part in parts}
    failed = [name for name, counts in outcomes.items() if counts is None]
    if failed:
        sys.exit(f"failed, see above: {', '.join(failed)}")
    summary = [
        f"{count} {name}"
        for names, counts in outcomes.items()
        for name, count in zip(names.split(", "), counts or (), strict=True)
    ]
    print(", ".join(summary) + ", bytes lost: 0")


if __name__ == "__main__":
    main()
