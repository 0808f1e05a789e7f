"""Processes that do one job together, on one machine or several, as `torchrun` starts them.

Each is a rank, and they meet in collective operations, to which all must come in the same order.
`join_process_group` gives a command its process group: `SINGLE_PROCESS` where nothing has started
more than one, in which every operation is what one process does anyway. Callers need no special
case for a single process.

The environment says how many there are (`environment.py`). Tensors on a GPU travel by NCCL, all
else by gloo.
"""

import contextlib
import logging
import secrets
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
    from torch._C._distributed_c10d import Store

log = logging.getLogger("nmtkit")

TIMEOUT = timedelta(hours=1)
"""How long a rank waits for the others: more than they are ever apart, as in translating the dev
set, or in making a large corpus's ids on a disk that all share. Of a rank whose process has ended
the others hear at once."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Shard(NamedTuple, Generic[Item]):
    """One process's part of a window of items.

    first: number of the first item among all items of all windows, from 1.
    items: may be empty where a window has fewer items than there are processes.
    """

    first: int
    items: Sequence[Item]


class ProcessGroup:
    """One process alone.

    rank: which process this is, from 0. size: how many there are. restarted: whether torchrun has
    begun the job anew, as a rank has failed or come.
    """

    rank = 0
    size = 1
    restarted = False

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0, which alone writes files and speaks for all."""
        return self.rank == 0

    def barrier(self) -> None:
        """Until all are here."""

    def broadcast(self, task: Callable[[], Result]) -> Result:
        """What a task gives that rank 0 does alone; pickled on its way.

        :raises NmtkitError: on other ranks, where it has failed; on rank 0 what it raises.
        """
        return task()

    def main_process_first(self, task: Callable[[], Result]) -> Result:
        """Do a task on every rank: first on rank 0, then on one rank of each machine, then on all
        others; what it leaves in files is made once."""
        return task()

    def all_gather(self, value: Result) -> list[Result]:
        """The values of all ranks, in their order."""
        return [value]

    def broadcast_parameters(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors by those of rank 0."""

    def all_reduce_gradients(self, parameters: Iterable[nn.Parameter], figures: Tensor) -> Tensor:
        """Sum gradients over the ranks, and some figures with them; a missing gradient is zero, as
        of a rank that had nothing to compute.

        :param figures: Shape: [n], of the gradients' type and device.
        :return: their sums. Shape: [n].
        """
        return figures

    def seed_per_rank(self, seed: int, number: int) -> None:
        """Let each rank draw random numbers of its own, which depend on these alone."""

    def shards(self, windows: Iterable[Sequence[Item]]) -> Iterator[Shard[Item]]:
        """Yield this process's part of each window.

        Each part must be followed by one call of `gather`, with a result for each item.

        :param windows: read by rank 0 alone.
        """
        first = 1
        for window in windows:
            yield Shard(first, window)
            first += len(window)

    def gather(self, results: list[Result]) -> list[Result]:
        """Return the results of all ranks in the order of the items; on other ranks than 0 none.

        :param results: of this rank's items; pickled on their way.
        """
        return results


SINGLE_PROCESS = ProcessGroup()


class DistributedGroup(ProcessGroup):
    """One of several processes in torch's default group."""

    def __init__(self, restarted: bool) -> None:
        """:param restarted: whether this rank knows of an attempt before."""
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.restarted = any(self.all_gather(restarted))
        self._flat: Tensor | None = None

    def barrier(self) -> None:
        with _meeting():
            dist.all_reduce(torch.zeros(1))  # on the CPU, where a barrier would take a GPU

    def broadcast(self, task: Callable[[], Result]) -> Result:
        if not self.is_main:
            well, value = self._of_first((False, None))
            if not well:
                raise NmtkitError(f"rank {self.rank}: rank 0 has failed, and says why")
            return value  # type: ignore[no-any-return]
        try:
            result = task()
        except Exception:
            self._of_first((False, None))
            raise
        self._of_first((True, result))
        return result

    def _of_first(self, outcome: tuple[bool, Any]) -> tuple[bool, Any]:
        box = [outcome]
        with _meeting():
            dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
        return box[0]

    def main_process_first(self, task: Callable[[], Result]) -> Result:
        turn = 0 if self.is_main else 1 if environment.local_rank() == 0 else 2
        for _ in range(turn):
            self.barrier()
        result = task()
        for _ in range(2 - turn):
            self.barrier()
        return result

    def all_gather(self, value: Result) -> list[Result]:
        found: list[Any] = [None] * self.size
        with _meeting():
            dist.all_gather_object(found, value)
        return found

    def broadcast_parameters(self, tensors: Iterable[Tensor]) -> None:
        with _meeting():
            for tensor in tensors:
                dist.broadcast(tensor.detach(), src=0)

    def all_reduce_gradients(self, parameters: Iterable[nn.Parameter], figures: Tensor) -> Tensor:
        """One operation over one tensor that holds them all, of which the gradients become views.

        Every rank sees the same sums, bit for bit, so that parameters stay equal.
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
        with _meeting():
            dist.all_reduce(self._flat)
        return sums

    def seed_per_rank(self, seed: int, number: int) -> None:
        torch.manual_seed(derive_seed(seed, number, self.rank))

    def shards(self, windows: Iterable[Sequence[Item]]) -> Iterator[Shard[Item]]:
        if self.restarted:
            raise NmtkitError(
                "torchrun has begun this command anew, but what it read and wrote before is gone;"
                " start it again yourself, without --max-restarts"
            )
        source, first = iter(windows), 1
        while True:
            window = self.broadcast(lambda: next(source, None))
            if window is None:
                return
            each = -(-len(window) // self.size)
            start = self.rank * each
            yield Shard(first + start, window[start : start + each])
            first += len(window)

    def gather(self, results: list[Result]) -> list[Result]:
        of_ranks: list[Any] | None = [None] * self.size if self.is_main else None
        with _meeting():
            dist.gather_object(results, of_ranks, dst=0)
        return [result for of_rank in of_ranks or [] for result in of_rank]


@contextlib.contextmanager
def _meeting() -> Iterator[None]:
    """:raises NmtkitError: another rank does not come."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise NmtkitError(
            f"rank {environment.rank()}: another rank has ended, or cannot be reached ({reason});"
            " see what it says, and give the same command again"
        ) from error


@contextlib.contextmanager
def join_process_group(device: str = "auto") -> Iterator[ProcessGroup]:
    """The ranks that this process is one of, while the block runs; each should have its own device.

    :param device: "auto", "cpu" or "cuda", as for `find_device`; of several GPUs each rank of a
        machine takes that of its number.
    :raises ConfigError: there are fewer GPUs than ranks.
    """
    if environment.size() == 1:
        yield SINGLE_PROCESS
        return
    backend = "gloo"
    if device != "cpu" and torch.cuda.is_available():
        torch.cuda.set_device(_own_gpu())
        backend = "cpu:gloo,cuda:nccl"
    rank, size = environment.rank(), environment.size()
    with _meeting():
        store, restarted = _fresh_store()
        dist.init_process_group(backend, None, TIMEOUT, size, rank, store)
    process_group = DistributedGroup(restarted)
    if not process_group.is_main:
        log.setLevel(max(log.level, logging.WARNING))
    orderly = False
    try:
        yield process_group
        process_group.barrier()  # whoever leaves first would seem to have failed
        orderly = True
    except TrainingInterrupted:
        orderly = True
        raise
    finally:
        if orderly or backend == "gloo":  # with a rank missing, NCCL could wait for it here
            dist.destroy_process_group()


def _fresh_store() -> tuple["Store", bool]:
    """Where ranks tell each other how to be reached, without what others have told before.

    Torchrun has one store for a job and all its restarts: in it stand the addresses of processes
    that are gone. So rank 0 gives this attempt a name, and tells it to all who ask for it now.

    :return: the store, and whether there was an attempt before, as far as this rank knows.
    """
    from torch.distributed import PrefixStore  # type: ignore[attr-defined]
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
    name = word = secrets.token_hex(8)
    restarted = environment.restarted()
    if rank == 0:
        restarted = store.add("nmtkit/attempts", 1) > 1 or restarted
        _tell_name(store, name, size)
    else:
        store.set(f"nmtkit/asking/{rank}", word)
        name = store.get(f"nmtkit/told/{word}").decode()  # waits for it
        store.set(f"nmtkit/heard/{name}/{rank}", "")
    return PrefixStore(f"nmtkit/{name}", store), restarted


def _tell_name(store: "Store", name: str, size: int) -> None:
    """Answer each rank's question, and an old one it may have left, until it has heard the name."""
    for rank in range(1, size):
        asking, heard = f"nmtkit/asking/{rank}", f"nmtkit/heard/{name}/{rank}"
        store.wait([asking])
        while not store.check([heard]):
            store.set(f"nmtkit/told/{store.get(asking).decode()}", name)
            time.sleep(0.01)


def _own_gpu() -> int:
    number, count = environment.local_rank(), torch.cuda.device_count()
    if number >= count:
        raise ConfigError(
            f"process {number} of this machine has no GPU, as there are {count}; start at most"
            f" {count} with --nproc-per-node, or use --device cpu"
        )
    return number
