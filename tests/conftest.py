"""What all tests may use: several processes that do one job, as torchrun starts them; but forks,
which need no import. And what none may see: that `make test` runs it."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import pytest
import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # a make that a test starts is nobody's child
    os.environ.pop(name, None)

LONGEST = 60.0
"""Seconds until ranks are thought to hang."""


class Outcome(NamedTuple):
    """How a rank ended: with what its task gave, with an error ("DataError: what it says"), or
    without a word."""

    value: Any
    error: str | None
    status: int | None


Together = Callable[..., list[Outcome]]


@pytest.fixture
def together() -> Iterator[Together]:
    """`together(2, task)`: what `task()` gives on each of two ranks, in their order.

    Each call is a job of its own, with a store that is kept for it, as torchrun keeps one. With
    `restarts=1` it is the job of the call before, begun anew.
    """
    keepers: list[BaseProcess] = []
    port = 0

    def run(size: int, task: Callable[[], Any], restarts: int = 0) -> list[Outcome]:
        nonlocal port
        if not restarts:
            keeper, told_port = _forked(_keep_store)
            keepers.append(keeper)
            port = told_port.recv()
        told = [_environment(rank, size, port, restarts) for rank in range(size)]
        ranks = [_forked(_life, task, environment) for environment in told]
        end = time.monotonic() + LONGEST
        return [_outcome(*rank, end) for rank in ranks]

    yield run
    for keeper in keepers:
        keeper.kill()


def _forked(life: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A fork of this process, and what it sends."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=life, args=(*arguments, sender), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        process.start()
    sender.close()
    return process, receiver


def _keep_store(sender: Connection) -> None:
    """The life of what stands for torchrun; not in this process, whose forks have no threads."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    sender.send(store.port)
    signal.pause()


def _environment(rank: int, size: int, port: int, restarts: int) -> dict[str, str]:
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size}
    numbers["TORCHELASTIC_RESTART_COUNT"] = restarts
    place["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    return place | {name: str(number) for name, number in numbers.items()}


def _life(task: Callable[[], Any], told: dict[str, str], sender: Connection) -> None:
    os.environ.update(told)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    outcome: tuple[Any, str | None]
    try:
        outcome = task(), None
    except Exception as error:
        outcome = None, f"{type(error).__name__}: {error}"
    sender.send_bytes(pickle.dumps(outcome))  # tensors, too, and not the places where they are


def _outcome(process: BaseProcess, results: Connection, end: float) -> Outcome:
    value, error = None, None
    with contextlib.suppress(EOFError):
        if results.poll(max(0.0, end - time.monotonic())):
            value, error = pickle.loads(results.recv_bytes())
    process.join(max(0.0, end - time.monotonic()))
    process.kill()
    process.join()
    return Outcome(value, error, process.exitcode)
