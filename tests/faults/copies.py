"""Copy the folder of a training while it is written, and check that the copy can be trusted.

    python tests/faults/copies.py --copies 40 --seed 1

A training runs. At a random moment its folder is copied, file by file, as `cp -r`, `tar` or `rsync`
do, while it goes on; then it is killed. The same command resumes in the copy. The law: it ends with
the result of an undisturbed training, parameter for parameter; or it refuses, with one line; or a
warning says which file is incomplete, and the parameters are those of an undisturbed training.
Prints the number of copies; the exit status is 1 if a copy was wrong without a word.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

# The tests are not an installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.faults import child, kill  # noqa: E402

TIME_LIMIT = 60.0
"""Seconds within which a training ends."""

UPDATES = 45
MAX_PAUSE = 0.05
"""Longest pause of a copy between two files, in seconds; a checkpoint takes about as long."""


def copy_slowly(source: Path, target: Path, draw: random.Random) -> None:
    """Copy a folder that changes meanwhile; what is gone when its turn comes is left out."""
    target.mkdir(exist_ok=True)
    names: list[str] = []
    with contextlib.suppress(FileNotFoundError):
        names = os.listdir(source)
    draw.shuffle(names)
    for name in names:
        time.sleep(draw.uniform(0, MAX_PAUSE))
        with contextlib.suppress(FileNotFoundError):
            if (source / name).is_dir():
                copy_slowly(source / name, target / name, draw)
            else:
                shutil.copy2(source / name, target / name)


def command(work: Path, name: str) -> list[str]:
    settings = [*kill.SETTINGS, f"training.max_updates={UPDATES}"]
    options = [word for setting in settings for word in ("--set", setting)]
    return ["train", f"{work}/prepared", "-o", f"{work}/{name}", "-r", "toy", *options]


def try_copy(work: Path, seconds: float, draw: random.Random) -> str:
    """Copy the folder of a training at a random moment, and resume in the copy.

    :param seconds: time that an undisturbed training takes.
    :return: how the copy ended.
    :raises AssertionError: the law was broken.
    """
    original, copy = work / "original", work / "copy"
    for folder in (original, copy):
        shutil.rmtree(folder, ignore_errors=True)
    process = child.start(command(work, "original"), work / "log")
    time.sleep(draw.uniform(0, seconds))
    if original.exists():
        for _ in range(draw.choice([1, 1, 2])):  # rsync is often called twice
            copy_slowly(original, copy, draw)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    child.wait(process, work / "log", TIME_LIMIT)
    ended = child.run(command(work, "copy"), work / "log", TIME_LIMIT)
    assert ended.is_plain, ended.stderr
    if ended.status:
        assert ended.error is not None, ended.stderr
        assert "is training there" not in ended.error, "the copied lock locks the copy"
        return "refused"
    different = kill.differences(work / "undisturbed", copy)
    different = [line for line in different if ".damaged" not in line]
    if not different:
        return "equal"
    assert "warning: " in ended.stderr, f"{different} without a word: {ended.stderr}"
    assert not any("safetensors" in line for line in different), (different, ended.stderr)
    return "reported"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw = random.Random(options.seed)
    ends: Counter[str] = Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        work = Path(name).resolve()
        kill.prepare(work / "prepared")
        undisturbed = child.run(command(work, "undisturbed"), work / "log", TIME_LIMIT)
        assert undisturbed.status == 0, undisturbed.stderr
        for _ in range(options.copies):
            try:
                ends[try_copy(work, undisturbed.seconds, draw)] += 1
            except (AssertionError, child.Hanging) as error:
                ends["FAULT"] += 1
                faults += 1
                print(f"FAULT {error}", flush=True)
    summary = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    print(f"{ends.total()} copies of a folder in use ({summary}): {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
