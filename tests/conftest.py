"""Several processes that do one job, as torchrun starts them; but forks, which need no import."""

import multiprocessing
import os
import pickle
import signal
import socket
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch


class Outcome(NamedTuple):
    """How a rank ended: with what its task gave, with an error ("DataError: what it says"), or
    without a word."""

    value: Any
    error: str | None
    status: int | None


Together = Callable[..., list[Outcome]]


@pytest.fixture
def together() -> Together:
    """`together(2, task)`: what `task()` gives on each of two ranks, in their order.

    With `restarts=1` they believe that torchrun has started them a second time.
    """

    def run(size: int, task: Callable[[], Any], restarts: int = 0) -> list[Outcome]:
        context = multiprocessing.get_context("fork")
        port, ranks = _free_port(), []
        for rank in range(size):
            results, sender = context.Pipe(duplex=False)
            told = _environment(rank, size, port, restarts)
            process = context.Process(target=_life, args=(task, told, sender), daemon=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
                process.start()
            sender.close()
            ranks.append((process, results))
        return [_outcome(*rank) for rank in ranks]

    return run


def _environment(rank: int, size: int, port: int, restarts: int) -> dict[str, str]:
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size}
    numbers["TORCHELASTIC_RESTART_COUNT"] = restarts
    return place | {name: str(number) for name, number in numbers.items()}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _life(task: Callable[[], Any], told: dict[str, str], sender: Any) -> None:
    os.environ.update(told)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    outcome: tuple[Any, str | None]
    try:
        outcome = task(), None
    except Exception as error:
        outcome = None, f"{type(error).__name__}: {error}"
    sender.send_bytes(pickle.dumps(outcome))  # tensors, too, and not the places where they are


def _outcome(process: Any, results: Any) -> Outcome:
    try:
        value, error = pickle.loads(results.recv_bytes()) if results.poll(60) else (None, None)
    except EOFError:
        value, error = None, None
    process.join(10)
    process.kill()
    return Outcome(value, error, process.exitcode)
