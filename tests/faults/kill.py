"""Kill a small training many times, and check that nothing is lost.

    python tests/faults/kill.py --kills 200 --seed 1
    python tests/faults/kill.py --kills 40 --ranks 2

One training is never killed. Another, with the same settings, is killed with SIGKILL and resumed
as often as --kills says, and then runs to its end. A kill comes at a random moment, or at a random
access to the model folder, before a file or folder is created, opened, renamed or removed; or when
a parameter file is half written. At the end every parameter, checkpoint and figure of the two
trainings must be equal, bit for bit. With --ranks both trainings run in several processes, and one
of them is killed at a time. Prints the number of kills of each kind; the exit status is 1 if
anything differs.
"""

import argparse
import itertools
import json
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import torch
import torch._dynamo  # which an optimizer imports when it is made: once, instead of in each fork
from safetensors.torch import save_file

from nmtkit.io import parameters
from nmtkit.training.train import train

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
PAIRS, DEV_PAIRS = 60, 6
VALIDATE_EVERY = 3
SETTINGS = [
    "model.embedding=4",
    "model.hidden=5",
    "model.align=4",
    "model.maxout=3",
    "model.dropout=0.3",
    "data.batch_size=20",
    f"training.validate_every={VALIDATE_EVERY}",
    "training.lr_decay_patience=2",
    "training.average_checkpoints=2",
    "training.keep_checkpoints=2",
    "training.dev_bleu=false",
]
TIMES = {"seconds", "words_per_second"}
TOUCHES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}
"""Audit events of Python that come before a file or folder is touched."""

MAX_TOUCHES = 90
"""Latest access before which a kill comes; a validation with its checkpoint takes about 45."""

MAX_SECONDS = 0.2
"""Seconds until a kill that comes at a random moment: a start, and some updates; of several ranks
so many times as many."""

CHECKPOINTS = 40
"""For each kill; between two of them about a third as many are usual on a fast machine."""

LIMIT = 3600.0
"""Seconds after which a training is given up."""

ORPHANED = 15.0
"""Seconds until the ranks that another has left are killed, too, as torchrun would do: those that
have met it end by themselves, others wait for it to come."""

Arm = Callable[[Path], None]
"""Prepares the process that trains in a folder to be killed."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_a_touch(number: int) -> Arm:
    """Before this touch of the folder, counted from 1."""

    def arm(folder: Path) -> None:
        left = itertools.count(number - 1, -1)

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            if event in TOUCHES and str(arguments[0]).startswith(str(folder)) and not next(left):
                die()

        sys.addaudithook(watch)

    return arm


def half_written(number: int) -> Arm:
    """When so many files of parameters are written, and the last of them only half."""

    def arm(_: Path) -> None:
        left = itertools.count(number - 1, -1)

        def saved(tensors: dict[str, torch.Tensor], path: Path) -> None:
            save_file(tensors, path)
            if not next(left):
                os.truncate(path, os.path.getsize(path) // 2)
                die()

        mock.patch.object(parameters, "save_file", saved).start()

    return arm


def prepare(folder: Path) -> None:
    """Write the files of 'nmtkit prepare' and 'nmtkit shortlist' that training needs."""
    folder.mkdir()
    for split, count in (("train", PAIRS), ("dev", DEV_PAIRS)):
        lines = [
            " ".join(WORDS[(2 * number + place) % 5] for place in range(1 + number % 4))
            for number in range(count)
        ]
        (folder / f"{split}.src").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"{split}.tgt").write_text("".join(f"{line.upper()}\n" for line in lines))
    text = {"src_language": "en", "tgt_language": "fr", "tokenized": True}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "text": text}))
    for side, words in (("src", WORDS), ("tgt", [word.upper() for word in WORDS])):
        rows = (f"{word}\t1\n" for word in ["</s>", "<unk>", *words])
        (folder / f"vocab.{side}").write_text("".join(rows))


def run(
    prepared: Path, folder: Path, updates: int, kill: "Kill | None" = None, ranks: int = 1
) -> bool:
    """Train in child processes; one of them is killed as `kill` says.

    :return: whether it was killed.
    :raises RuntimeError: training failed otherwise.
    """
    port = free_port() if ranks > 1 else 0
    children = []
    for rank in range(ranks):
        arm = kill.arm if kill and kill.rank == rank else None
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "MASTER_PORT": port}
        told = {**place, "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"} if port else {}
        children.append(started(prepared, folder, updates, arm, told))
    end = time.monotonic() + (kill.seconds if kill else LIMIT)
    doomed = {children[kill.rank if kill else 0]}
    alive, statuses = set(children), []
    while alive:
        finished, status = os.waitpid(-1, os.WNOHANG)
        if finished:
            alive.remove(finished)
            statuses.append(status)
            end, doomed = time.monotonic() + ORPHANED, alive
        elif time.monotonic() > end:
            for process in doomed:
                os.kill(process, signal.SIGKILL)
        time.sleep(0.0 if finished else 0.002)
    if any(os.WIFSIGNALED(s) and os.WTERMSIG(s) == signal.SIGKILL for s in statuses):
        return True
    if any(statuses):
        raise RuntimeError(f"training failed with status {max(statuses)} instead of being killed")
    return False


def started(
    prepared: Path, folder: Path, updates: int, arm: Arm | None, told: dict[str, object]
) -> int:
    """A process that trains: its number.

    :param told: what is in its environment besides.
    """
    if child := os.fork():
        return child
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.environ.update({name: str(value) for name, value in told.items()})
        if arm:
            arm(folder)
        overrides = [*SETTINGS, f"training.max_updates={updates}"]
        train(prepared, folder, recipe="toy", overrides=overrides, device="cpu")
        status = 0
    finally:
        os._exit(status)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Kill(NamedTuple):
    """When the next kill comes: its kind, what prepares it, the seconds until then, and of whom."""

    kind: str
    arm: Arm | None
    seconds: float
    rank: int


def next_kill(draw: random.Random, ranks: int) -> Kill:
    """Rank 0 alone touches the folder; at a random moment anyone is killed."""
    kind = draw.choice(["moment", "touch", "touch", "half-written file"])
    if kind == "moment":
        return Kill(kind, None, draw.uniform(0, MAX_SECONDS * ranks), draw.randrange(ranks))
    if kind == "touch":
        return Kill(kind, at_a_touch(draw.randint(1, MAX_TOUCHES)), 60.0, 0)
    return Kill(kind, half_written(draw.randint(1, 6)), 60.0, 0)


def metrics(folder: Path) -> list[dict[str, object]]:
    """Return the lines of metrics.jsonl without times."""
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def state(path: Path) -> dict[str, object]:
    """Return a checkpoint's state without times."""
    found: dict[str, dict[str, object]] = json.loads(path.read_text())
    del found["progress"]["seconds"]
    return dict(found)


def origin(path: Path) -> dict[str, object]:
    """Return the provenance of a training without the command, which names the folder."""
    found: dict[str, object] = json.loads(path.read_text())
    del found["command"]
    return found


def differences(whole: Path, killed: Path) -> list[str]:
    """List the differences between two model folders."""
    ours, theirs = (
        {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
        for folder in (whole, killed)
    )
    found = [f"only one of them has {name}" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        if name.name == "metrics.jsonl":
            same = metrics(whole) == metrics(killed)
        elif name.name == "state.json":
            same = state(ours[name]) == state(theirs[name])
        elif name.name == "origin.json":
            same = origin(ours[name]) == origin(theirs[name])
        else:
            same = ours[name].read_bytes() == theirs[name].read_bytes()
        found += [] if same else [f"{name} differs"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    torch.set_num_threads(1)  # and no tensor is computed here: forks have no threads to lose
    updates = CHECKPOINTS * VALIDATE_EVERY * options.kills
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as work:
        prepared, whole, killed = (Path(work) / name for name in ("prepared", "whole", "killed"))
        prepare(prepared)
        run(prepared, whole, updates, ranks=options.ranks)
        while kinds.total() < options.kills:
            kill = next_kill(draw, options.ranks)
            if not run(prepared, killed, updates, kill, options.ranks):
                break  # it was over: a fast machine
            kinds[kill.kind] += 1
        run(prepared, killed, updates, ranks=options.ranks)
        found = differences(whole, killed)
    told = ", ".join(f"{count} at a {kind}" for kind, count in sorted(kinds.items()))
    print(f"{kinds.total()} kills ({told}) in {updates} updates: {len(found)} differences")
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
