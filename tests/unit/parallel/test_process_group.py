"""The process group: its collective operations, and what happens when a process dies."""

import os
import signal
import time

import pytest
import torch
from torch import nn

from nmtkit.errors import ConfigError, DataError
from nmtkit.parallel import environment
from nmtkit.parallel.fork import can_fork
from nmtkit.parallel.process_group import SINGLE_PROCESS, join_process_group

LAUNCHER_VARIABLES = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "MASTER_ADDR": "there",
    "MASTER_PORT": "29500",
}


@pytest.fixture
def launched_with(monkeypatch):
    for name in (*environment.REQUIRED_VARIABLES, "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)

    def set_variables(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return set_variables


def test_without_a_launcher_there_is_a_single_process(launched_with):
    assert (environment.rank(), environment.size(), environment.local_rank()) == (0, 1, 0)
    assert not environment.restarted()
    with join_process_group() as process_group:
        assert process_group is SINGLE_PROCESS and process_group.is_main


def test_rank_and_size_come_from_the_environment(launched_with):
    launched_with(**LAUNCHER_VARIABLES, LOCAL_RANK="1", TORCHELASTIC_RESTART_COUNT="2")
    assert (environment.rank(), environment.size(), environment.local_rank()) == (3, 4, 1)
    assert environment.restarted()


@pytest.mark.parametrize("missing", LAUNCHER_VARIABLES)
def test_an_incomplete_environment_is_ignored(launched_with, missing):
    launched_with(**{name: value for name, value in LAUNCHER_VARIABLES.items() if name != missing})
    assert (environment.rank(), environment.size()) == (0, 1)


def squares(process_group, windows):
    """Square numbers on all ranks; return the results of each window, gathered by rank 0."""
    return [
        process_group.gather(
            [(number * number, index) for index, number in enumerate(shard.items, shard.first)]
        )
        for shard in process_group.shards(windows)
    ]


def test_operations_of_a_single_process():
    layer = nn.Linear(2, 1)
    layer.weight.grad = torch.ones(1, 2)
    figures = torch.tensor([3.0])
    state = torch.get_rng_state()
    SINGLE_PROCESS.barrier()
    SINGLE_PROCESS.seed_per_rank(1, 2)
    SINGLE_PROCESS.broadcast_parameters(layer.parameters())
    assert SINGLE_PROCESS.all_reduce_gradients(layer.parameters(), figures) is figures
    assert layer.bias.grad is None and torch.equal(layer.weight.grad, torch.ones(1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert SINGLE_PROCESS.broadcast(lambda: 5) == SINGLE_PROCESS.main_process_first(lambda: 5) == 5
    assert SINGLE_PROCESS.all_gather(5) == [5]
    assert squares(SINGLE_PROCESS, [[1, 2], [3]]) == [[(1, 1), (4, 2)], [(9, 3)]]


def gradients(rank):
    """Compute the gradients of a layer's weight and bias; a rank without work has none."""
    layer = nn.Linear(2, 1)
    if rank:
        layer.weight.grad = torch.tensor([[rank, 10.0 * rank]])
    if rank == 2:
        layer.bias.grad = torch.tensor([7.0])
    return layer


def test_collective_operations_of_three_processes(run_ranks, tmp_path):
    log = tmp_path / "order"

    def turn():
        with open(log, "a") as file:
            file.write(os.environ["RANK"])

    def read():
        assert os.environ["RANK"] == "0"
        yield from ([1, 2, 3, 4, 5, 6, 7], [], [8, 9])

    def task():
        os.environ["LOCAL_RANK"] = ["0", "1", "0"][int(os.environ["RANK"])]  # two machines
        actual: dict[str, object] = {}
        with join_process_group("cpu") as process_group:
            actual["broadcast"] = process_group.broadcast(lambda: ("from", process_group.rank))
            actual["gathered"] = process_group.all_gather(process_group.rank**2)
            process_group.main_process_first(turn)
            tensors = [
                torch.full((2, 2), float(process_group.rank)),
                torch.tensor(process_group.rank),
            ]
            process_group.broadcast_parameters(tensors)
            actual["equal"] = [tensor.sum().item() for tensor in tensors]
            for _ in range(2):  # the second time with the gradients of the first
                layer = gradients(process_group.rank)
                sums = process_group.all_reduce_gradients(
                    layer.parameters(), torch.tensor([1.0, process_group.rank])
                )
                actual["sums"] = sums.tolist()
                actual["gradients"] = [p.grad.tolist() for p in layer.parameters()]
            actual["shared"] = squares(process_group, read())
            actual["can fork"] = can_fork()
        return actual

    first, *others = [outcome.value for outcome in run_ranks(3, task)]
    shared = [[(n * n, n) for n in range(1, 8)], [], [(64, 8), (81, 9)]]
    assert first == {
        "broadcast": ("from", 0), "gathered": [0, 1, 4], "equal": [0.0, 0], "sums": [3.0, 3.0],
        "gradients": [[[3.0, 30.0]], [7.0]], "shared": shared, "can fork": False,
    }  # fmt: skip
    assert others == [{**first, "shared": [[], [], []]}] * 2
    assert log.read_text() == "021"


def test_each_rank_has_its_own_reproducible_random_numbers(run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            drawn = []
            for seed, number in [(1, 1), (1, 2), (2, 1), (1, 1)]:
                process_group.seed_per_rank(seed, number)
                drawn.append(torch.rand(1).item())
            return drawn

    drawn = [outcome.value for outcome in run_ranks(2, task)]
    assert all(numbers[0] == numbers[3] for numbers in drawn)
    assert len({number for numbers in drawn for number in numbers}) == 6


def test_an_error_on_rank_0_is_reported_there_and_ends_the_others(run_ranks):
    def fail():
        raise DataError("corpus: no such file")

    def task():
        with join_process_group("cpu") as process_group:
            process_group.broadcast(fail)

    first, *others = [outcome.error for outcome in run_ranks(3, task)]
    assert first == "DataError: corpus: no such file"
    assert others == [
        f"NmtkitError: rank {rank}: rank 0 has failed; see its message" for rank in (1, 2)
    ]


@pytest.mark.parametrize("dead_rank", [0, 2])
def test_a_rank_that_dies_ends_the_others_at_once(run_ranks, dead_rank):
    def task():
        with join_process_group("cpu") as process_group:
            process_group.barrier()
            if process_group.rank == dead_rank:
                os.kill(os.getpid(), signal.SIGKILL)
            process_group.all_gather("here")

    begun = time.monotonic()
    outcomes = run_ranks(3, task)
    assert time.monotonic() - begun < 20
    assert outcomes[dead_rank].status == -signal.SIGKILL
    for rank in {0, 1, 2} - {dead_rank}:
        begins = f"NmtkitError: rank {rank}: another rank has ended, or cannot be reached ("
        assert outcomes[rank].error.startswith(begins)


def test_a_restart_does_not_wait_for_ended_processes(run_ranks):
    """Torchrun's store still has the addresses of the previous attempt."""

    def task():
        if os.environ["RANK"] == "1":
            time.sleep(0.3)
        with join_process_group("cpu") as process_group:
            actual = process_group.all_gather(os.getpid())
            if not environment.restarted():
                os.kill(os.getpid(), signal.SIGKILL)
            return actual

    assert [outcome.status for outcome in run_ranks(2, task)] == [-signal.SIGKILL] * 2
    first, other = run_ranks(2, task, restarts=1)
    assert first.error is None and len({*first.value}) == 2
    assert first.value == other.value


@pytest.mark.parametrize("rank", ["0", "1", "none"])
def test_every_rank_knows_of_a_restart(run_ranks, rank):
    """Of several machines torchrun tells only the one where a process has failed."""

    def task():
        if os.environ["RANK"] != rank:
            os.environ["TORCHELASTIC_RESTART_COUNT"] = "0"
        with join_process_group("cpu") as process_group:
            return process_group.restarted

    assert [outcome.value for outcome in run_ranks(2, task)] == [False, False]
    assert [outcome.value for outcome in run_ranks(2, task, restarts=1)] == [True, True]


def test_each_rank_has_a_gpu_of_its_own(launched_with, monkeypatch):
    launched_with(**LAUNCHER_VARIABLES, LOCAL_RANK="3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ConfigError, match="process 3 of this machine has no GPU, as there are 2"):
        with join_process_group("auto"):
            pass


@pytest.mark.parametrize("device", ["cuda:1", "mps"])
def test_several_processes_do_not_share_one_device(launched_with, device):
    launched_with(**LAUNCHER_VARIABLES)
    with pytest.raises(ConfigError, match=f"--device {device}: is one device, and 4 processes"):
        with join_process_group(device):
            pass


def test_a_restarted_command_does_not_share_windows_again(run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            squares(process_group, [[1]])

    assert [outcome.error for outcome in run_ranks(2, task)] == [None, None]
    for outcome in run_ranks(2, task, restarts=1):
        assert "without --max-restarts" in outcome.error
