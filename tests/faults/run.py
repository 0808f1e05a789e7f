"""Does what `make faults` does, part after part, and ends with the counts.

    python tests/faults/run.py --kills 200 --rank-kills 40 --fuzz 20 --updates 3000 --lines 30000

A training is killed again and again (`kill.py`), readers get hostile files (`fuzz.py`), disks are
full and folders hostile (tests), and processes work for long (`endure.py`). The status is 1 where a
part has failed, and then it is said which.
"""

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
INJECTED = (
    "tests/integration/test_full_disk.py",
    "tests/integration/test_signals.py",
    "tests/unit/test_hostile_folder.py",
    "tests/unit/io/test_temporary.py",
)
"""Tests each of which does one thing to a file, a folder or a process that nothing sound does."""


@dataclass(frozen=True)
class Part:
    """One part: a command, and how its output tells what it counts."""

    name: str
    command: tuple[str, ...]
    counted: str

    def run(self) -> int | None:
        """What it counted; None where it failed. Its output is shown as it comes."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, *self.command]
        count = 0
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                if found := re.search(self.counted, line):
                    count = int(found[1])
        return None if process.returncode else count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", default="200")
    parser.add_argument("--rank-kills", default="40", help="of a training in two processes")
    parser.add_argument("--fuzz", default="20", help="seconds for each reader")
    parser.add_argument("--updates", default="3000")
    parser.add_argument("--lines", default="30000")
    options = parser.parse_args()
    here = "tests/faults"
    kills = (f"{here}/kill.py", "--kills")
    parts = (
        Part("kills survived", (*kills, options.kills), r"^(\d+) kills"),
        Part("kills of ranks", (*kills, options.rank_kills, "--ranks", "2"), r"^(\d+) kills"),
        Part("faults injected", ("-m", "pytest", "-q", *INJECTED), r"^(\d+) passed"),
        Part("bad inputs tried", (f"{here}/fuzz.py", "--seconds", options.fuzz), r"^(\d+) bad inp"),
        Part(
            "lines translated on end",
            (f"{here}/endure.py", "--updates", options.updates, "--lines", options.lines),
            r"^(\d+) lines in",
        ),
    )
    counts = {part.name: part.run() for part in parts}
    failed = [name for name, count in counts.items() if count is None]
    if failed:
        sys.exit(f"something was lost; see above: {', '.join(failed)}")
    print(", ".join(f"{count} {name}" for name, count in counts.items()) + ", bytes lost: 0")


if __name__ == "__main__":
    main()
