#!/usr/bin/env python3
"""Run a command on a GPU that no other command of this recipe uses, and note what it ran on.

    device.py --gpus '0 1 2' --locks work --record model.device -- nmtkit train ...

The command sees the first GPU of the list whose lock file is free, and has it until it ends; where
all are taken it waits. With an empty list the command chooses for itself. Its exit status is ours,
and signals that come to the whole process group reach it as they would without us.
"""

import argparse
import fcntl
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

PAUSE = 1.0  # seconds between two looks for a free GPU


def free_gpu(gpus: Sequence[str], locks: Path) -> tuple[str, IO[str]]:
    """Wait for a GPU.

    :param gpus: their numbers, as CUDA counts them.
    :param locks: the folder of the lock files.
    :return: the number, and the open file that holds its lock.
    """
    locks.mkdir(parents=True, exist_ok=True)
    while True:
        for gpu in gpus:
            file = open(locks / f"gpu.{gpu}.lock", "w", encoding="utf-8")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return gpu, file
            except BlockingIOError:
                file.close()
        time.sleep(PAUSE)


def processor() -> str:
    """The processor's name, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def device_name(gpu: str | None) -> str:
    """What a command runs on that takes a GPU wherever there is one.

    :param gpu: the number of the GPU that it was given, None where it was given none.
    """
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            [*query, *(["--id=" + gpu] if gpu else [])], capture_output=True, text=True
        )
        name = done.stdout.split("\n")[0].strip() if done.returncode == 0 else ""
    except OSError:
        name = ""
    return name or processor()


def main(arguments: list[str] | None = None) -> int:
    """:param arguments: those of the command line; None takes them from there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--gpus", default="", metavar="'N N ...'")
    parser.add_argument("--locks", type=Path, default=Path("."), metavar="DIR")
    parser.add_argument("--record", type=Path, metavar="FILE", help="gets the device's name")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    options = parser.parse_args(arguments)
    gpus = options.gpus.split()
    gpu, lock = free_gpu(gpus, options.locks) if gpus else (None, None)
    environment = {**os.environ, **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})}
    if options.record:
        options.record.write_text(device_name(gpu) + "\n", encoding="utf-8")
    return _run(options.command, environment, lock)


def _run(command: list[str], environment: dict[str, str], lock: IO[str] | None) -> int:
    """The exit status, as a shell gives it.

    The command inherits the lock: should it outlive us, its GPU is not given to another.
    """
    held = (lock.fileno(),) if lock else ()
    with subprocess.Popen(command, env=environment, pass_fds=held) as process:
        signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
        while True:
            try:
                status = process.wait()
                return status if status >= 0 else 128 - status
            except KeyboardInterrupt:
                continue  # Ctrl-C reached it, too: it saves, then ends


if __name__ == "__main__":
    sys.exit(main())
