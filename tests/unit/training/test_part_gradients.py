"""Gradients of the parts of a batch: the same as of the whole, in forks and in turn."""

import os
import signal
import sys

import pytest
import torch

from nmtkit.errors import NmtkitError
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.training import part_gradients
from nmtkit.training.part_gradients import possible_parts
from tests.unit.training.conftest import WORDS
from tests.unit.training.tensors import close, equal, gradients, parameters

DATA = {"batch_size": 4, "batch_unit": "sentences"}


@pytest.fixture
def threads() -> None:
    """Use two threads, as for two parts."""
    torch.set_num_threads(2)


def forks(trainer):
    return trainer.gradient._add._forks


def train(trainer, updates=5):
    torch.manual_seed(7)
    return [trainer.update() for _ in range(updates)]


@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_gradient_is_that_of_the_whole_batch(make_trainer, count):
    settings = {"clip_norm": 0.0, "learning_rate": 0.0, "optimizer": "sgd", "data": DATA}
    whole, parts = make_trainer(**settings), make_trainer(**settings, batch_parts=count)
    for _ in range(4):
        expected, update = whole.update(), parts.update()
        assert update.cost == pytest.approx(expected.cost, rel=1e-5)
        assert (update.tokens, update.norm) == (expected.tokens, pytest.approx(expected.norm))
        close(gradients(parts), gradients(whole))


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")
@pytest.mark.parametrize(("accumulation", "size"), [(1, 4), (2, 4), (1, 2)])
def test_forks_compute_the_same_as_one_process(make_trainer, threads, accumulation, size):
    """In batches of two, the last one of an epoch leaves nothing to the fork."""
    settings = {
        "dropout": 0.4,
        "batch_parts": 2,
        "gradient_accumulation": accumulation,
        "optimizer": "adam",
        "learning_rate": 0.01,
        "data": {**DATA, "batch_size": size},
    }
    forked, single = make_trainer(folder="forked", **settings), make_trainer(**settings)
    for trainer in (forked, single):
        trainer.gradient.sample_words(WordSampler([1] * WORDS, 4))
    updates = train(forked, 15)
    assert len(forks(forked)) == 1 and torch.get_num_threads() == 2
    torch.set_num_threads(1)
    assert train(single, 15) == updates
    assert not forks(single)
    assert equal(parameters(forked), parameters(single))


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")
def test_a_killed_fork_is_reported(make_trainer, threads):
    trainer = make_trainer(batch_parts=2)
    trainer.update()
    os.kill(forks(trainer)[0]._worker._process.pid, signal.SIGKILL)
    with pytest.raises(NmtkitError, match="a worker process .* was killed"):
        train(trainer)


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")
@pytest.mark.parametrize("where", ["fork", "own"])
def test_smaller_batches_are_tried_if_memory_runs_out(make_trainer, threads, where, monkeypatch):
    settings = {"clip_norm": 0.0, "learning_rate": 0.0, "optimizer": "sgd", "data": DATA}
    expected = make_trainer(**settings)
    expected.update()
    trainer = make_trainer(**settings, batch_parts=2)
    cost, process = trainer.model.loss, os.getpid()

    def loss(src, *others):
        if len(src) > 1 and (os.getpid() == process) == (where == "own"):
            raise MemoryError
        return cost(src, *others)

    monkeypatch.setattr(trainer.model, "loss", loss)
    trainer.update()
    assert forks(trainer)
    close(gradients(trainer), gradients(expected))


def test_there_are_as_many_parts_as_threads_at_most(monkeypatch):
    cpu = torch.device("cpu")
    monkeypatch.setattr(part_gradients, "_can_fork", lambda: True)
    for threads, expected in ((1, [1]), (2, [1, 2]), (7, [1, 2, 4]), (8, [1, 2, 4, 8])):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert possible_parts(cpu) == expected
        assert possible_parts(torch.device("meta")) == [1]
    monkeypatch.setattr(part_gradients, "_can_fork", lambda: False)
    assert possible_parts(cpu) == [1]
