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
import torch._dynamo  # optimizers import it when created: do it once, not in each fork
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
FOLDER_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}
"""Audit events of Python that precede a change or an opening of a file or folder."""

MAX_ACCESSES = 90
"""Latest access to the folder at which to kill; a validation with its checkpoint makes about 45."""

MAX_KILL_SECONDS = 0.2
"""Longest time until a kill at a random moment, enough for a start and some updates; multiplied by
the number of ranks."""

CHECKPOINTS_PER_KILL = 20
"""Checkpoints of the whole training for each kill; a fast machine writes up to two thirds as many
between two kills."""

TRAINING_TIMEOUT = 3600.0
"""Seconds after which a training is killed."""

ORPHAN_TIMEOUT = 15.0
"""Seconds after which the ranks that outlive another one are killed, as torchrun would do: ranks
connected to it end by themselves, but the others would wait for it."""

Arm = Callable[[Path], None]
"""Makes the current process, which trains in this folder, kill itself at a certain point."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before_access(number: int) -> Arm:
    """Return an Arm that kills before this access to the folder, counted from 1."""

    def arm(folder: Path) -> None:
        remaining = itertools.count(number - 1, -1)

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            inside = event in FOLDER_EVENTS and str(arguments[0]).startswith(str(folder))
            if inside and not next(remaining):
                die()

        sys.addaudithook(watch)

    return arm


def half_written(number: int) -> Arm:
    """Return an Arm that kills when this parameter file, counted from 1, is half written."""

    def arm(_: Path) -> None:
        remaining = itertools.count(number - 1, -1)

        def save_and_kill(
            tensors: dict[str, torch.Tensor], path: Path, metadata: dict[str, str]
        ) -> None:
            save_file(tensors, path, metadata)
            if not next(remaining):
                os.truncate(path, os.path.getsize(path) // 2)
                die()

        mock.patch.object(parameters, "save_file", save_and_kill).start()

    return arm


def prepare(folder: Path) -> None:
    """Write the files of 'nmtkit prepare' and 'nmtkit shortlist' that training needs."""
    folder.mkdir()
    for split, count in (("train", PAIRS), ("dev", DEV_PAIRS)):
        lines = [
            " ".join(WORDS[(2 * number + position) % 5] for position in range(1 + number % 4))
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
    """Train in child processes, and kill one of them as `kill` says.

    :return: whether it was killed.
    :raises RuntimeError: training failed otherwise.
    """
    port = free_port() if ranks > 1 else 0
    children = []
    for rank in range(ranks):
        arm = kill.arm if kill and kill.rank == rank else None
        environment: dict[str, object] = {}
        if port:
            environment |= {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks}
            environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            environment |= {"GLOO_SOCKET_IFNAME": "lo"}
        children.append(start_training(prepared, folder, updates, arm, environment))
    deadline = time.monotonic() + (kill.seconds if kill else TRAINING_TIMEOUT)
    to_kill = {children[kill.rank if kill else 0]}
    alive, statuses = set(children), []
    while alive:
        finished, status = os.waitpid(-1, os.WNOHANG)
        if finished:
            alive.remove(finished)
            statuses.append(status)
            deadline, to_kill = time.monotonic() + ORPHAN_TIMEOUT, alive
        elif time.monotonic() > deadline:
            for process in to_kill:
                os.kill(process, signal.SIGKILL)
        time.sleep(0.0 if finished else 0.002)
    if any(os.WIFSIGNALED(s) and os.WTERMSIG(s) == signal.SIGKILL for s in statuses):
        return True
    if any(statuses):
        raise RuntimeError(f"training failed with status {max(statuses)} instead of being killed")
    return False


def start_training(
    prepared: Path, folder: Path, updates: int, arm: Arm | None, environment: dict[str, object]
) -> int:
    """Fork a process that trains, and return its id.

    :param environment: variables to add to its environment.
    """
    if child := os.fork():
        return child
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.environ.update({name: str(value) for name, value in environment.items()})
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
    """The next kill: its kind, its Arm if any, seconds until an outside kill, and the rank."""

    kind: str
    arm: Arm | None
    seconds: float
    rank: int


def next_kill(draw: random.Random, ranks: int) -> Kill:
    """Draw the next kill: of any rank at a random moment, else of rank 0, which writes files."""
    kind = draw.choice(["random moment", "folder access", "folder access", "half-written file"])
    if kind == "random moment":
        return Kill(kind, None, draw.uniform(0, MAX_KILL_SECONDS * ranks), draw.randrange(ranks))
    if kind == "folder access":
        return Kill(kind, before_access(draw.randint(1, MAX_ACCESSES)), 60.0, 0)
    return Kill(kind, half_written(draw.randint(1, 6)), 60.0, 0)


def metrics(folder: Path) -> list[dict[str, object]]:
    """Return the lines of metrics.jsonl without times."""
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def state(path: Path) -> dict[str, object]:
    """Return a checkpoint's state without times."""
    content: dict[str, dict[str, object]] = json.loads(path.read_text())
    del content["progress"]["seconds"], content["sha256"]
    return dict(content)


def same_state(path: Path, other: Path) -> bool:
    """Return whether two checkpoints have the same state; a damaged one has the same as none."""
    try:
        return state(path) == state(other)
    except (ValueError, KeyError):
        return False


def sums(path: Path) -> list[str]:
    """Return the lines of a SHA256SUMS, without that of the provenance."""
    return [line for line in path.read_text().splitlines() if not line.endswith("  origin.json")]


def provenance(path: Path) -> dict[str, object]:
    """Return the provenance of a training without the command, which names the folder."""
    content: dict[str, object] = json.loads(path.read_text())
    del content["command"]
    return content


def differences(undisturbed: Path, killed: Path) -> list[str]:
    """List the differences between two model folders."""
    ours, theirs = (
        {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
        for folder in (undisturbed, killed)
    )
    different = [f"only one of them has {name}" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        if name.name == "metrics.jsonl":
            same = metrics(undisturbed) == metrics(killed)
        elif name.name == "state.json":
            same = same_state(ours[name], theirs[name])
        elif name.name == "SHA256SUMS":
            same = sums(ours[name]) == sums(theirs[name])
        elif name.name == "origin.json":
            same = provenance(ours[name]) == provenance(theirs[name])
        else:
            same = ours[name].read_bytes() == theirs[name].read_bytes()
        different += [] if same else [f"{name} differs"]
    return different


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    torch.set_num_threads(1)  # forks do not inherit threads, so no tensor is computed here
    updates = CHECKPOINTS_PER_KILL * VALIDATE_EVERY * options.kills
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as work:
        names = ("prepared", "undisturbed", "killed")
        prepared, undisturbed, killed = (Path(work) / name for name in names)
        prepare(prepared)
        run(prepared, undisturbed, updates, ranks=options.ranks)
        while kinds.total() < options.kills:
            kill = next_kill(draw, options.ranks)
            if not run(prepared, killed, updates, kill, options.ranks):
                break  # the training ended first, on a fast machine
            kinds[kill.kind] += 1
        run(prepared, killed, updates, ranks=options.ranks)
        different = differences(undisturbed, killed)
    summary = ", ".join(f"{count} at a {kind}" for kind, count in sorted(kinds.items()))
    print(f"{kinds.total()} kills ({summary}) in {updates} updates: {len(different)} differences")
    sys.exit("\n".join(different) if different else 0)


if __name__ == "__main__":
    main()
