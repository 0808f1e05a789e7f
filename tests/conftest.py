"""Fixtures for all tests: programs that start at once, and processes as under torchrun.

The latter are forks, which need not import anything. The variables of `make` are removed from
the environment, so that tests behave alike with and without `make test`.
"""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import tqdm
from hypothesis import HealthCheck, settings
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from tests.integration.command_server import command_server

for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # a make started by a test is no sub-make
    os.environ.pop(name, None)

torch.set_num_threads(1)  # of small tensors, where more threads only wait for each other

gc.set_threshold(20_000)  # by default the garbage of tests takes a tenth of their processor time

# No power is cut here, so that nothing need wait for a disk. That files are synced, and in which
# order, is what tests of nmtkit.io record, and tests/faults of whole programs.
os.fsync = os.fstat  # type: ignore[assignment]

tqdm.tqdm.monitor_interval = 0  # a thread of subword-nmt's bar would keep processes from forking

settings.register_profile(
    "nmtkit",
    deadline=None,  # a machine may be busy: no test depends on time
    # Files in a fixture's folder are written anew for each example.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("nmtkit")

pytest_plugins = ["tests.watchdog"]


RANKS_TIMEOUT = 60.0
"""Seconds after which ranks that still run are killed."""


class Outcome(NamedTuple):
    """How a rank ended.

    value: what its task returned.
    error: the error that its task raised, as in "DataError: text"; None if it raised none.
    status: the exit status of its process.
    """

    value: Any
    error: str | None
    status: int | None


RunRanks = Callable[..., list[Outcome]]


def pytest_collection_finish() -> None:
    """Have no collection of garbage look through the tests and what they import."""
    gc.freeze()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Take back the number of threads that a test has set."""
    yield
    torch.set_num_threads(1)


@pytest.fixture
def foreground() -> Iterator[None]:
    """Handle SIGINT as a program in the foreground, even if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with programs `nmtkit` and `python` that start at once: torch is imported."""
    with command_server(tmp_path_factory.mktemp("bin")) as folder:
        yield folder


@pytest.fixture
def run_ranks() -> Iterator[RunRanks]:
    """Return a function: `run_ranks(2, task)` runs `task()` on two ranks.

    It returns their outcomes in the order of ranks. Each call is a job with its own store, as
    under torchrun. With `restarts=1` the job of the previous call is restarted.
    """
    stores: list[BaseProcess] = []
    port = 0

    def run(size: int, task: Callable[[], Any], restarts: int = 0) -> list[Outcome]:
        nonlocal port
        if not restarts:
            store, port_receiver = _fork(_serve_store)
            stores.append(store)
            port = port_receiver.recv()
        environments = [_environment(rank, size, port, restarts) for rank in range(size)]
        ranks = [_fork(_run_task, task, environment) for environment in environments]
        deadline = time.monotonic() + RANKS_TIMEOUT
        return [_outcome(*rank, deadline) for rank in ranks]

    yield run
    for store in stores:
        store.kill()


def _fork(target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Fork a process that calls target; return it, and the connection on which it sends."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, sender), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about forking with threads
        process.start()
    sender.close()
    return process, receiver


def _serve_store(sender: Connection) -> None:
    """Serve the store that torchrun would serve, in its own process, as it needs threads."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    sender.send(store.port)
    signal.pause()


def _environment(rank: int, size: int, port: int, restarts: int) -> dict[str, str]:
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size}
    numbers["TORCHELASTIC_RESTART_COUNT"] = restarts
    address["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    return address | {name: str(number) for name, number in numbers.items()}


def _run_task(task: Callable[[], Any], environment: dict[str, str], sender: Connection) -> None:
    os.environ.update(environment)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    outcome: tuple[Any, str | None]
    try:
        outcome = task(), None
    except Exception as error:
        outcome = None, f"{type(error).__name__}: {error}"
    sender.send_bytes(pickle.dumps(outcome))  # copies tensors, does not share their memory


def _outcome(process: BaseProcess, results: Connection, deadline: float) -> Outcome:
    value, error = None, None
    with contextlib.suppress(EOFError):
        if results.poll(max(0.0, deadline - time.monotonic())):
            value, error = pickle.loads(results.recv_bytes())
    process.join(max(0.0, deadline - time.monotonic()))
    process.kill()
    process.join()
    return Outcome(value, error, process.exitcode)
