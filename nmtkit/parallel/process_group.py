"""The process group: processes started by `torchrun` that work together on one job.

Each process has a rank. All processes must call the collective operations in the same order.
`join_process_group` returns the group of a command. Without `torchrun` that is `SINGLE_PROCESS`,
which has the same operations for one process, so callers need no special case.

Environment variables give the number of processes (`environment.py`), on one machine or several.
Tensors on a GPU are sent by NCCL, everything else by gloo.
"""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nmtkit.errors import ConfigError, NmtkitError, TrainingInterrupted
from nmtkit.parallel import environment
from nmtkit.seeds import derive_seed

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

log = logging.getLogger("nmtkit")

TIMEOUT = timedelta(hours=1)
"""Time that a process waits for the others. It exceeds the longest work of a single rank, such as
translating the dev set or writing the ids of a large corpus to a shared disk. If a process ends,
the others notice at once."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Shard(NamedTuple, Generic[Item]):
    """One process's part of a window of items.

    first: number of the first item, counted from 1 over all windows.
    items: empty if the window has too few items for all processes.
    """

    first: int
    items: Sequence[Item]


class ProcessGroup:
    """A group of one process, and the interface of all groups.

    rank: rank of this process, from 0.
    size: number of processes.
    restarted: True if torchrun has restarted the job because a process failed or joined.
    """

    rank = 0
    size = 1
    restarted = False

    @property
    def is_main(self) -> bool:
        """Return True on rank 0, which alone writes files and logs."""
        return self.rank == 0

    def barrier(self) -> None:
        """Wait until all processes have reached this call."""

    def broadcast(self, task: Callable[[], Result]) -> Result:
        """Run a task on rank 0 only, and return its result on every rank.

        :param task: its result must be picklable.
        :raises NmtkitError: on the other ranks, if the task fails; rank 0 raises the task's error.
        """
        return task()

    def main_process_first(self, task: Callable[[], Result]) -> Result:
        """Run a task on every rank: first on rank 0, then on one rank of each machine, then on all.

        A task that writes missing files thus writes them only once.
        """
        return task()

    def all_gather(self, value: Result) -> list[Result]:
        """Return the values of all ranks, in the order of the ranks."""
        return [value]

    def broadcast_parameters(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors with those of rank 0."""

    def all_reduce_gradients(self, parameters: Iterable[nn.Parameter], figures: Tensor) -> Tensor:
        """Sum gradients and some figures over the ranks.

        A missing gradient, on a rank that had nothing to compute, counts as zero.

        :param figures: numbers of the gradients' type, on their device. Shape: [n].
        :return: sums of the figures. Shape: [n].
        """
        return figures

    def seed_per_rank(self, seed: int, number: int) -> None:
        """Seed torch differently on each rank, from `seed`, `number` and the rank only."""

    def shards(self, windows: Iterable[Sequence[Item]]) -> Iterator[Shard[Item]]:
        """Yield this process's part of each window.

        Each part must be followed by one call of `gather` with a result for each item.

        :param windows: read by rank 0 only.
        """
        first = 1
        for window in windows:
            yield Shard(first, window)
            first += len(window)

    def gather(self, results: list[Result]) -> list[Result]:
        """Return the results of all ranks on rank 0, in the order of the items; [] on other ranks.

        :param results: results for this rank's items; they must be picklable.
        """
        return results


SINGLE_PROCESS = ProcessGroup()


class DistributedGroup(ProcessGroup):
    """One of several processes in torch's default process group.

    :param restarted: True if this rank knows of an earlier attempt.
    """

    def __init__(self, restarted: bool) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.restarted = any(self.all_gather(restarted))
        self._flat: Tensor | None = None

    def barrier(self) -> None:
        """Wait until all processes have reached this call."""
        with _collective():
            dist.all_reduce(torch.zeros(1))  # on the CPU, where a barrier would take a GPU

    def broadcast(self, task: Callable[[], Result]) -> Result:
        """Run a task on rank 0 only, and return its result on every rank."""
        if not self.is_main:
            succeeded, value = self._broadcast_outcome((False, None))
            if not succeeded:
                raise NmtkitError(f"rank {self.rank}: rank 0 has failed; see its message")
            return value  # type: ignore[no-any-return]
        try:
            result = task()
        except Exception:
            self._broadcast_outcome((False, None))
            raise
        self._broadcast_outcome((True, result))
        return result

    def _broadcast_outcome(self, outcome: tuple[bool, Any]) -> tuple[bool, Any]:
        """Send rank 0's outcome of a task to all ranks: True and its result, or False and None."""
        box = [outcome]  # the broadcast overwrites it on other ranks
        with _collective():
            dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
        return box[0]

    def main_process_first(self, task: Callable[[], Result]) -> Result:
        """Run a task on rank 0, then on the first rank of each machine, then on the others."""
        turn = 0 if self.is_main else 1 if environment.local_rank() == 0 else 2
        for _ in range(turn):
            self.barrier()
        result = task()
        for _ in range(2 - turn):
            self.barrier()
        return result

    def all_gather(self, value: Result) -> list[Result]:
        """Return the values of all ranks, in the order of the ranks."""
        values: list[Any] = [None] * self.size
        with _collective():
            dist.all_gather_object(values, value)
        return values

    def broadcast_parameters(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors with those of rank 0."""
        with _collective():
            for tensor in tensors:
                dist.broadcast(tensor.detach(), src=0)

    def all_reduce_gradients(self, parameters: Iterable[nn.Parameter], figures: Tensor) -> Tensor:
        """Sum gradients and figures in one flat tensor; the gradients become views of it.

        Every rank gets the same sums, bit for bit, so that parameters stay equal.
        """
        parameters = list(parameters)
        sizes = [*(parameter.numel() for parameter in parameters), len(figures)]
        if self._flat is None or len(self._flat) != sum(sizes):
            self._flat = figures.new_empty(sum(sizes))
        *parts, sums = torch.split(self._flat, sizes)
        for part, parameter in zip(parts, parameters, strict=True):
            gradient = part.view_as(parameter)
            if parameter.grad is None:
                gradient.zero_()
            else:
                gradient.copy_(parameter.grad)
            parameter.grad = gradient
        sums.copy_(figures)
        with _collective():
            dist.all_reduce(self._flat)
        return sums

    def seed_per_rank(self, seed: int, number: int) -> None:
        """Seed torch from `seed`, `number` and the rank."""
        torch.manual_seed(derive_seed(seed, number, self.rank))

    def shards(self, windows: Iterable[Sequence[Item]]) -> Iterator[Shard[Item]]:
        """Yield this rank's consecutive items of each window; all ranks get about as many.

        :raises NmtkitError: torchrun has restarted the job; earlier input and output are lost.
        """
        if self.restarted:
            raise NmtkitError(
                "torchrun has restarted this command, but its earlier input and output are lost;"
                " start it again without --max-restarts"
            )
        source, first = iter(windows), 1
        while True:
            window = self.broadcast(lambda: next(source, None))
            if window is None:
                return
            count = -(-len(window) // self.size)
            start = self.rank * count
            yield Shard(first + start, window[start : start + count])
            first += len(window)

    def gather(self, results: list[Result]) -> list[Result]:
        """Return the results of all ranks on rank 0, in the order of the items; [] on others."""
        gathered: list[Any] | None = [None] * self.size if self.is_main else None
        with _collective():
            dist.gather_object(results, gathered, dst=0)
        return [result for rank_results in gathered or [] for result in rank_results]


@contextlib.contextmanager
def _collective() -> Iterator[None]:
    """Turn torch's error about a process that does not respond into an NmtkitError."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise NmtkitError(
            f"rank {environment.rank()}: another rank has ended, or cannot be reached ({reason});"
            " see its messages, and run the same command again"
        ) from error


@contextlib.contextmanager
def join_process_group(device: str = "auto") -> Iterator[ProcessGroup]:
    """Join the process group of this job for the length of the block.

    :param device: as for `find_device`; with several GPUs each process of a machine takes the one
        of its local rank.
    :raises ConfigError: a machine has fewer GPUs than processes, or `device` is a single one.
    """
    if environment.size() == 1:
        yield SINGLE_PROCESS
        return
    if device not in ("auto", "cpu", "cuda"):
        raise ConfigError(
            f"--device {device}: is one device, and {environment.size()} processes were started"
            " together; use cuda, and each takes a GPU of its own, or cpu"
        )
    backend = "gloo"
    if device != "cpu" and torch.cuda.is_available():
        torch.cuda.set_device(_local_gpu())
        backend = "cpu:gloo,cuda:nccl"
    rank, size = environment.rank(), environment.size()
    with _collective():
        store, restarted = _fresh_store()
        dist.init_process_group(backend, None, TIMEOUT, size, rank, store)
    process_group = DistributedGroup(restarted)
    if not process_group.is_main:
        log.setLevel(max(log.level, logging.WARNING))
    clean_exit = False
    try:
        yield process_group
        process_group.barrier()  # a process that ends early would seem to have failed
        clean_exit = True
    except TrainingInterrupted:
        clean_exit = True
        raise
    finally:
        if clean_exit or backend == "gloo":  # NCCL could wait here for a rank that has failed
            dist.destroy_process_group()


def _fresh_store() -> tuple["Store", bool]:
    """Return a store for the addresses of the processes, without those of earlier attempts.

    Torchrun uses one store for a job and all its restarts, which still holds the addresses of
    processes that have ended. So rank 0 chooses a name for this attempt, and sends it to the ranks
    that request it now.

    :return: the store, and True if this rank knows of an earlier attempt.
    """
    from torch.distributed import PrefixStore  # type: ignore[attr-defined]
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
    name = request = os.urandom(8).hex()
    restarted = environment.restarted()
    if rank == 0:
        restarted = store.add("nmtkit/attempts", 1) > 1 or restarted
        _send_name(store, name, size)
    else:
        store.set(f"nmtkit/request/{rank}", request)
        name = store.get(f"nmtkit/reply/{request}").decode()  # waits for the reply
        store.set(f"nmtkit/received/{name}/{rank}", "")
    return PrefixStore(f"nmtkit/{name}", store), restarted


def _send_name(store: "Store", name: str, size: int) -> None:
    """Reply to each rank, also to a request of an earlier attempt, until it has the name."""
    for rank in range(1, size):
        request, received = f"nmtkit/request/{rank}", f"nmtkit/received/{name}/{rank}"
        store.wait([request])
        while not store.check([received]):
            store.set(f"nmtkit/reply/{store.get(request).decode()}", name)
            time.sleep(0.01)


def _local_gpu() -> int:
    number, count = environment.local_rank(), torch.cuda.device_count()
    if number >= count:
        raise ConfigError(
            f"process {number} of this machine has no GPU, as there are {count}; start at most"
            f" {count} with --nproc-per-node, or use --device cpu"
        )
    return number
