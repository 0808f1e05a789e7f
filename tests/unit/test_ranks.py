"""Ranks: what they have in common, and what becomes of them when one is gone."""

import os
import signal
import time

import pytest
import torch
from torch import nn

from nmtkit import launched
from nmtkit.errors import ConfigError, DataError
from nmtkit.ranks import ALONE, joined
from nmtkit.workers import can_fork

TOLD = {"RANK": "3", "WORLD_SIZE": "4", "MASTER_ADDR": "there", "MASTER_PORT": "29500"}


@pytest.fixture
def environment(monkeypatch):
    for name in (*launched.NEEDED, "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)

    def tell(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return tell


def test_a_process_that_was_told_nothing_is_alone(environment):
    assert (launched.rank(), launched.size(), launched.local_rank()) == (0, 1, 0)
    assert not launched.restarted()
    with joined() as ranks:
        assert ranks is ALONE and ranks.first


def test_one_of_several_knows_its_number(environment):
    environment(**TOLD, LOCAL_RANK="1", TORCHELASTIC_RESTART_COUNT="2")
    assert (launched.rank(), launched.size(), launched.local_rank()) == (3, 4, 1)
    assert launched.restarted()


@pytest.mark.parametrize("missing", TOLD)
def test_what_is_told_in_part_does_not_count(environment, missing):
    environment(**{name: value for name, value in TOLD.items() if name != missing})
    assert (launched.rank(), launched.size()) == (0, 1)


def squares(window, first):
    return [(number * number, first + place) for place, number in enumerate(window)]


def test_alone_every_operation_is_what_one_process_does():
    layer = nn.Linear(2, 1)
    layer.weight.grad = torch.ones(1, 2)
    figures = torch.tensor([3.0])
    state = torch.get_rng_state()
    ALONE.wait()
    ALONE.draw_apart(1, 2)
    ALONE.make_equal(layer.parameters())
    assert ALONE.add_up(layer.parameters(), figures) is figures
    assert layer.bias.grad is None and torch.equal(layer.weight.grad, torch.ones(1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert ALONE.told(lambda: 5) == ALONE.in_turn(lambda: 5) == 5
    assert ALONE.everyones(5) == [5]
    assert list(ALONE.shared([[1, 2], [3]], squares)) == [[(1, 1), (4, 2)], [(9, 3)]]


def gradients(rank):
    """Those of a layer's weight and bias; a rank without work has none."""
    layer = nn.Linear(2, 1)
    if rank:
        layer.weight.grad = torch.tensor([[rank, 10.0 * rank]])
    if rank == 2:
        layer.bias.grad = torch.tensor([7.0])
    return layer


def test_ranks_have_in_common_what_they_share(together, tmp_path):
    log = tmp_path / "order"

    def turn():
        with open(log, "a") as file:
            file.write(os.environ["RANK"])

    def read():
        assert os.environ["RANK"] == "0"
        yield from ([1, 2, 3, 4, 5, 6, 7], [], [8, 9])

    def task():
        os.environ["LOCAL_RANK"] = ["0", "1", "0"][int(os.environ["RANK"])]  # two machines
        found: dict[str, object] = {}
        with joined("cpu") as ranks:
            found["told"] = ranks.told(lambda: ("from", ranks.rank))
            found["everyones"] = ranks.everyones(ranks.rank**2)
            ranks.in_turn(turn)
            tensors = [torch.full((2, 2), float(ranks.rank)), torch.tensor(ranks.rank)]
            ranks.make_equal(tensors)
            found["equal"] = [tensor.sum().item() for tensor in tensors]
            for _ in range(2):  # the second time over what the first has left
                layer = gradients(ranks.rank)
                sums = ranks.add_up(layer.parameters(), torch.tensor([1.0, ranks.rank]))
                found["sums"] = sums.tolist()
                found["gradients"] = [p.grad.tolist() for p in layer.parameters()]
            found["shared"] = list(ranks.shared(read(), squares))
            found["can fork"] = can_fork()
        return found

    first, *others = [outcome.value for outcome in together(3, task)]
    shared = [[(n * n, n) for n in range(1, 8)], [], [(64, 8), (81, 9)]]
    assert first == {
        "told": ("from", 0), "everyones": [0, 1, 4], "equal": [0.0, 0], "sums": [3.0, 3.0],
        "gradients": [[[3.0, 30.0]], [7.0]], "shared": shared, "can fork": False,
    }  # fmt: skip
    assert others == [{**first, "shared": []}] * 2
    assert log.read_text() == "021"


def test_each_rank_draws_numbers_of_its_own_and_the_same_ones_again(together):
    def task():
        with joined("cpu") as ranks:
            drawn = []
            for seed, number in [(1, 1), (1, 2), (2, 1), (1, 1)]:
                ranks.draw_apart(seed, number)
                drawn.append(torch.rand(1).item())
            return drawn

    drawn = [outcome.value for outcome in together(2, task)]
    assert all(numbers[0] == numbers[3] for numbers in drawn)
    assert len({number for numbers in drawn for number in numbers}) == 6


def test_what_fails_on_rank_0_is_told_there_and_ends_the_others(together):
    def fail():
        raise DataError("corpus: no such file")

    def task():
        with joined("cpu") as ranks:
            ranks.told(fail)

    first, *others = [outcome.error for outcome in together(3, task)]
    assert first == "DataError: corpus: no such file"
    assert others == [
        f"NmtkitError: rank {rank}: rank 0 has failed, and says why" for rank in (1, 2)
    ]


@pytest.mark.parametrize("lost", [0, 2])
def test_a_rank_that_dies_ends_the_others_at_once(together, lost):
    def task():
        with joined("cpu") as ranks:
            ranks.wait()
            if ranks.rank == lost:
                os.kill(os.getpid(), signal.SIGKILL)
            ranks.everyones("here")

    begun = time.monotonic()
    outcomes = together(3, task)
    assert time.monotonic() - begun < 20
    assert outcomes[lost].status == -signal.SIGKILL
    for rank in {0, 1, 2} - {lost}:
        begins = f"NmtkitError: rank {rank}: another rank has ended, or cannot be reached ("
        assert outcomes[rank].error.startswith(begins)


def test_a_restart_asks_nobody_who_is_gone(together):
    """Torchrun's store still has the addresses of the attempt before."""

    def task():
        if os.environ["RANK"] == "1":
            time.sleep(0.3)
        with joined("cpu") as ranks:
            found = ranks.everyones(os.getpid())
            if not launched.restarted():
                os.kill(os.getpid(), signal.SIGKILL)
            return found

    assert [outcome.status for outcome in together(2, task)] == [-signal.SIGKILL] * 2
    first, other = together(2, task, restarts=1)
    assert first.error is None and len({*first.value}) == 2
    assert first.value == other.value


@pytest.mark.parametrize("rank", ["0", "1", "none"])
def test_a_restart_is_known_whoever_was_told(together, rank):
    """Of several machines torchrun tells only the one where a process has failed."""

    def task():
        if os.environ["RANK"] != rank:
            os.environ["TORCHELASTIC_RESTART_COUNT"] = "0"
        with joined("cpu") as ranks:
            return ranks.restarted

    assert [outcome.value for outcome in together(2, task)] == [False, False]
    assert [outcome.value for outcome in together(2, task, restarts=1)] == [True, True]


def test_each_rank_has_a_gpu_of_its_own(environment, monkeypatch):
    environment(**TOLD, LOCAL_RANK="3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ConfigError, match="process 3 of this machine has no GPU, as there are 2"):
        with joined("auto"):
            pass


def test_work_on_windows_is_not_begun_anew(together):
    def task():
        with joined("cpu") as ranks:
            list(ranks.shared([[1]], squares))

    assert [outcome.error for outcome in together(2, task)] == [None, None]
    for outcome in together(2, task, restarts=1):
        assert "without --max-restarts" in outcome.error
