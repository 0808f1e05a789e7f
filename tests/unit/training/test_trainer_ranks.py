"""Ranks that train together: what they do is what one process does with the whole batches."""

import errno
import os
import signal
from typing import Any

import pytest
import torch

from nmtkit.errors import TrainingInterrupted
from nmtkit.io.parameters import parameters_of
from nmtkit.parallel.process_group import SINGLE_PROCESS, join_process_group

WAYS: list[dict[str, Any]] = [
    {"loss_reduction": "batch-sum", "clip_norm": 0.5},
    {
        "loss_reduction": "sentence-mean",
        "gradient_accumulation": 3,
        "optimizer": "sgd",
        "learning_rate": 0.3,
    },
    {
        "loss_reduction": "token-mean",
        "optimizer": "adam",
        "learning_rate": 0.01,
        "label_smoothing": 0.1,
    },
    {
        "loss_reduction": "token-mean",
        "data": {"batch_unit": "tokens", "batch_size": 20, "order": "random"},
    },
]
UPDATES = 8
"""More than an epoch, whose last batch has 3 pairs of the 5: fewer than there are ranks."""


def trained(training, updates=UPDATES):
    """Return the figures of some updates, and the parameters after them."""
    training.model.train()
    figures = [training.update() for _ in range(updates)]
    own = {name: value.clone() for name, value in parameters_of(training.model).items()}
    return [(u.cost, u.norm, u.tokens, u.skipped) for u in figures], own


def close(one, other):
    (figures, parameters), (theirs, expected) = one, other
    assert torch.tensor(figures) == pytest.approx(torch.tensor(theirs), rel=1e-4, nan_ok=True)
    for name, value in parameters.items():
        torch.testing.assert_close(value, expected[name], rtol=1e-4, atol=2e-6, msg=name)


def equal(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def begun(begin):
    """`begun(ranks, ...)`: as `begin`, with batches of 5 pairs and 23 in all."""

    def make(process_group=SINGLE_PROCESS, data=None, **changes):
        return begin(
            process_group=process_group,
            data={"batch_size": 5, "sort_pool": 3, **(data or {})},
            **changes,
        )

    return make


@pytest.mark.parametrize("size", [2, 4])
def test_updates_equal_those_of_one_process(begun, run_ranks, size):
    def task():
        with join_process_group("cpu") as process_group:
            return [trained(begun(process_group, **way)) for way in WAYS]

    alone = [trained(begun(**way)) for way in WAYS]
    first, *others = [outcome.value for outcome in run_ranks(size, task)]
    for found, expected in zip(first, alone, strict=True):
        close(found, expected)
    for other in others:
        assert all(equal(ours[1], theirs[1]) for ours, theirs in zip(first, other, strict=True))
        assert [figures for figures, _ in other] == [figures for figures, _ in first]


def test_a_rank_without_pairs_computes_nothing(begun, run_ranks):
    """Batches of one pair, on two ranks: the second never has any."""

    def task():
        with join_process_group("cpu") as process_group:
            training = begun(process_group, data={"batch_size": 1})
            calls = []
            loss = training.model.loss

            def counted(*batch):
                calls.append(batch)
                return loss(*batch)

            training.model.loss = counted
            return trained(training, 3), len(calls)

    found, calls = zip(*(outcome.value for outcome in run_ranks(2, task)), strict=True)
    assert calls == (3, 0)
    close(found[0], trained(begun(data={"batch_size": 1}), 3))
    assert equal(found[0][1], found[1][1])


def broken(training, updates):
    """The same training, with a cost that is not a number at some updates of this process."""
    loss = training.model.loss
    costs = iter(range(1, 100))
    training.model.loss = lambda *batch: (
        loss(*batch) * (float("nan") if next(costs) in updates else 1)
    )
    return training


def test_an_update_that_is_not_finite_on_one_rank_is_skipped_on_all(begun, run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            return trained(broken(begun(process_group), {2} if process_group.rank == 1 else set()))

    expected = trained(broken(begun(), {2}))
    assert [skipped for *_, skipped in expected[0]] == [False, True] + [False] * (UPDATES - 2)
    first, other = (outcome.value for outcome in run_ranks(2, task))
    close(first, expected)
    assert equal(first[1], other[1])


def test_too_many_skipped_updates_stop_all_ranks(begun, run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            training = begun(process_group, max_nonfinite=3, max_updates=100)
            broken(training, range(2, 100) if process_group.rank == 1 else []).run()

    outcomes = run_ranks(2, task)
    assert all("the 3th time in a row" in outcome.error for outcome in outcomes)


def test_a_rank_short_of_memory_splits_its_part(begun, run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            training = begun(process_group)
            loss = training.model.loss

            def poor(src, *others):
                if process_group.rank == 1 and len(src) > 1:
                    raise MemoryError
                return loss(src, *others)

            training.model.loss = poor
            return trained(training)

    first, other = (outcome.value for outcome in run_ranks(2, task))
    close(first, trained(begun()))
    assert equal(first[1], other[1])


# Where it stops, and goes on


def run(training, interrupted_after=0, signals=()):
    """Train to the end, or to a signal that comes during an update; where that was, and why."""
    update, count = training.update, 0

    def counted():
        nonlocal count
        count += 1
        if count == interrupted_after:
            for number in signals:
                os.kill(os.getpid(), number)
        return update()

    training.update = counted
    training.resume()
    try:
        training.run()
    except TrainingInterrupted as end:
        return training.progress.updates, end.signal
    return training.progress.updates, None


@pytest.fixture
def train(begun, run_ranks):
    """`train(2, stop=7)`: 12 updates by two ranks, or to signals that the last of them gets.

    :return: of each rank where it ended and why, and its parameters.
    """

    def call(size, folder="model", dropout=0.0, stop=0, signals=(signal.SIGTERM,)):
        def life():
            with join_process_group("cpu") as process_group:
                settings = {"folder": folder, "max_updates": 12, "validate_every": 5}
                training = begun(process_group, dropout=dropout, **settings)
                found = run(training, stop, signals if process_group.rank == size - 1 else ())
                return found, dict(parameters_of(training.model))

        outcomes = run_ranks(size, life)
        assert [outcome.error for outcome in outcomes] == [None] * size
        return [outcome.value for outcome in outcomes]

    return call


def test_a_signal_to_one_rank_stops_all_after_the_same_update(train, tmp_path):
    ends = [found for found, _ in train(3, stop=7)]
    assert ends == [(7, signal.SIGTERM)] * 3
    saved = [path.name for path in (tmp_path / "model" / "checkpoints").iterdir()]
    assert sorted(saved) == ["00000005", "00000007.interrupted"]


def test_a_signal_sent_twice_at_once_still_saves(train, tmp_path):
    """A cluster may signal every process, and torchrun forwards its own signal too."""
    twice = (signal.SIGTERM, signal.SIGTERM)
    ends = [found for found, _ in train(2, stop=3, signals=twice)]
    assert ends == [(3, signal.SIGTERM)] * 2
    assert (tmp_path / "model" / "checkpoints" / "00000003.interrupted").is_dir()


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 1), (1, 2)])
def test_any_number_of_ranks_can_resume(train, before, after):
    train(before, stop=7, signals=[signal.SIGINT])
    (end, parameters), *others = train(after)
    assert end == (12, None)
    _, whole = train(1, "whole")[0]
    for name, value in parameters.items():
        torch.testing.assert_close(value, whole[name], rtol=1e-4, atol=2e-6, msg=name)
    assert all(equal(parameters, other) for _, other in others)


def test_resuming_is_exact_with_dropout(train):
    train(2, dropout=0.4, stop=7)
    (_, parameters), _ = train(2, dropout=0.4)
    (_, whole), _ = train(2, "whole", dropout=0.4)
    assert equal(parameters, whole)
    (_, undropped), _ = train(2, "other")
    assert not equal(undropped, whole)


def test_ranks_have_different_dropout_masks(begun, run_ranks):
    """Both ranks have the same batch: with the same dropout mask, costs would be equal."""

    def task():
        with join_process_group("cpu") as process_group:
            training = begun(process_group, dropout=0.5)
            batch = next(iter(begun().batches))
            training.model.train()
            training.process_group.seed_per_rank(1, 0)
            return float(training.model.loss(*batch[:4]).detach())

    one, other = (outcome.value for outcome in run_ranks(2, task))
    assert one != other


def test_only_rank_0_writes(begun, run_ranks, monkeypatch, tmp_path):
    def task():
        with join_process_group("cpu") as process_group:
            if not process_group.is_main:
                for name in ("save_checkpoint", "write_parameters", "load_newest_checkpoint"):
                    monkeypatch.setattr(f"nmtkit.training.trainer.{name}", None)
            training = begun(process_group, max_updates=4, validate_every=2, average_checkpoints=2)
            training.resume()
            training.run()
            return dict(parameters_of(training.model)), dict(training.averaged)

    outcomes = run_ranks(2, task)
    assert [outcome.error for outcome in outcomes] == [None, None]
    (first, mean), (second, mean_there) = (outcome.value for outcome in outcomes)
    assert equal(first, second) and equal(mean, mean_there) and not equal(first, mean)
    assert (tmp_path / "model" / "params.best.safetensors").is_file()


def test_a_full_disk_on_rank_0_stops_all_ranks(begun, run_ranks, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    def task():
        with join_process_group("cpu") as process_group:
            if process_group.is_main:
                monkeypatch.setattr("nmtkit.training.trainer.save_checkpoint", full)
            begun(process_group, max_updates=8, validate_every=2).run()

    first, other = (outcome.error for outcome in run_ranks(2, task))
    assert "No space left" in first and "another rank has ended" in other


@pytest.mark.parametrize("lost", [0, 1])
def test_a_killed_rank_stops_the_others_and_nothing_is_lost(begun, run_ranks, train, lost):
    def life():
        with join_process_group("cpu") as process_group:
            settings = {"folder": "killed", "max_updates": 12, "validate_every": 5}
            run(
                begun(process_group, **settings),
                7 if process_group.rank == lost else 0,
                [signal.SIGKILL],
            )

    outcomes = run_ranks(2, life)
    assert outcomes[lost].status == -signal.SIGKILL
    assert "another rank has ended" in outcomes[1 - lost].error
    (end, parameters), _ = train(2, "killed")
    (_, whole), _ = train(2, "whole")
    assert end == (12, None) and equal(parameters, whole)
