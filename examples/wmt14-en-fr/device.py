#!/usr/bin/env python3
"""Run a command on a GPU that no other command of this example uses, and record the device.

    device.py --gpus '0 1 2' --locks work --record model.device -- nmtkit train ...

The command sees the first GPU of the list with a free lock file and keeps it until it ends; if all
are taken it waits. With an empty list the command chooses its own device. The exit status is that
of the command, and signals to the process group reach it.
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

POLL_SECONDS = 1.0  # between two checks for a free GPU


def free_gpu(gpus: Sequence[str], locks: Path) -> tuple[str, IO[str]]:
    """Wait for a free GPU.

    :param gpus: CUDA device numbers.
    :param locks: Folder of the lock files.
    :return: The number, and the open file that holds its lock.
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
        time.sleep(POLL_SECONDS)


def processor() -> str:
    """Return the processor's name, if Linux provides it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def device_name(gpu: str | None) -> str:
    """Return the name of the device that a command with automatic device selection uses.

    :param gpu: Number of the assigned GPU; None: the first that the environment leaves visible.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0") if gpu is None else gpu
    first = visible.split(",")[0].strip()
    if first in ("", "-1"):
        return processor()
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    query += [] if first.startswith("MIG-") else ["--id=" + first]  # it knows no parts of a GPU
    try:
        result = subprocess.run(query, capture_output=True, text=True)
        name = result.stdout.split("\n")[0].strip() if result.returncode == 0 else ""
    except OSError:
        name = ""
    return name or processor()


def main(arguments: list[str] | None = None) -> int:
    """Run the program.

    :param arguments: Command line; None: sys.argv.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--gpus", default="", metavar="'N N ...'")
    parser.add_argument("--locks", type=Path, default=Path("."), metavar="DIR")
    parser.add_argument("--record", type=Path, metavar="FILE", help="file for the device's name")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    options = parser.parse_args(arguments)
    gpus = options.gpus.split()
    gpu, lock = free_gpu(gpus, options.locks) if gpus else (None, None)
    environment = {**os.environ, **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})}
    if options.record:
        options.record.write_text(device_name(gpu) + "\n", encoding="utf-8")
    return _run(options.command, environment, lock)


def _run(command: list[str], environment: dict[str, str], lock: IO[str] | None) -> int:
    """Run the command and return its exit status, as a shell does.

    The command inherits the lock: if it outlives this process, its GPU stays locked.
    """
    inherited = (lock.fileno(),) if lock else ()
    with subprocess.Popen(command, env=environment, pass_fds=inherited) as process:
        signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
        while True:
            try:
                status = process.wait()
                return status if status >= 0 else 128 - status
            except KeyboardInterrupt:
                continue  # the command got Ctrl-C, too: it saves and ends


if __name__ == "__main__":
    sys.exit(main())
