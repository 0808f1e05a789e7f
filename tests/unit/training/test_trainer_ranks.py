"""Ranks that train together do what one process does with the whole batches."""

import errno
import os
import signal
from typing import Any

import pytest
import torch

from nmtkit.errors import TrainingInterrupted
from nmtkit.io.parameters import parameters_of
from nmtkit.parallel.process_group import SINGLE_PROCESS, join_process_group

SETTINGS: list[dict[str, Any]] = [
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
"""More than an epoch, whose last batch has only 3 pairs: fewer than there are ranks."""


def trained(trainer, updates=UPDATES):
    """Make some updates; return their figures and the parameters after them."""
    trainer.model.train()
    figures = [trainer.update() for _ in range(updates)]
    parameters = {name: value.clone() for name, value in parameters_of(trainer.model).items()}
    return [(u.cost, u.norm, u.tokens, u.skipped) for u in figures], parameters


def close(actual, expected):
    (figures, parameters), (expected_figures, expected_parameters) = actual, expected
    assert torch.tensor(figures) == pytest.approx(
        torch.tensor(expected_figures), rel=1e-4, nan_ok=True
    )
    for name, value in parameters.items():
        torch.testing.assert_close(value, expected_parameters[name], rtol=1e-4, atol=2e-6, msg=name)


def equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture
def make_rank_trainer(make_trainer):
    """`make_rank_trainer(process_group, ...)`: as `make_trainer`, with 23 pairs in batches of 5."""

    def make(process_group=SINGLE_PROCESS, data=None, **changes):
        return make_trainer(
            process_group=process_group,
            data={"batch_size": 5, "sort_pool": 3, **(data or {})},
            **changes,
        )

    return make


@pytest.mark.parametrize("size", [2, 4])
def test_updates_equal_those_of_one_process(make_rank_trainer, run_ranks, size):
    def task():
        with join_process_group("cpu") as process_group:
            return [trained(make_rank_trainer(process_group, **settings)) for settings in SETTINGS]

    single_process = [trained(make_rank_trainer(**settings)) for settings in SETTINGS]
    rank_0, *other_ranks = [outcome.value for outcome in run_ranks(size, task)]
    for result, expected in zip(rank_0, single_process, strict=True):
        close(result, expected)
    for rank in other_ranks:
        assert all(
            equal(expected_result[1], rank_result[1])
            for expected_result, rank_result in zip(rank_0, rank, strict=True)
        )
        assert [figures for figures, _ in rank] == [figures for figures, _ in rank_0]


def test_a_rank_without_pairs_computes_nothing(make_rank_trainer, run_ranks):
    """Batches of one pair, on two ranks: the second never has any."""

    def task():
        with join_process_group("cpu") as process_group:
            trainer = make_rank_trainer(process_group, data={"batch_size": 1})
            calls = []
            loss = trainer.model.loss

            def counted(*batch):
                calls.append(batch)
                return loss(*batch)

            trainer.model.loss = counted
            return trained(trainer, 3), len(calls)

    results, calls = zip(*(outcome.value for outcome in run_ranks(2, task)), strict=True)
    assert calls == (3, 0)
    close(results[0], trained(make_rank_trainer(data={"batch_size": 1}), 3))
    assert equal(results[0][1], results[1][1])


def broken(trainer, updates):
    """Return the trainer with a cost of NaN at some updates of this process."""
    loss = trainer.model.loss
    costs = iter(range(1, 100))
    trainer.model.loss = lambda *batch: (
        loss(*batch) * (float("nan") if next(costs) in updates else 1)
    )
    return trainer


def test_an_update_that_is_not_finite_on_one_rank_is_skipped_on_all(make_rank_trainer, run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            return trained(
                broken(make_rank_trainer(process_group), {2} if process_group.rank == 1 else set())
            )

    expected = trained(broken(make_rank_trainer(), {2}))
    assert [skipped for *_, skipped in expected[0]] == [False, True] + [False] * (UPDATES - 2)
    rank_0, rank_1 = (outcome.value for outcome in run_ranks(2, task))
    close(rank_0, expected)
    assert equal(rank_0[1], rank_1[1])


def test_too_many_skipped_updates_stop_all_ranks(make_rank_trainer, run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            trainer = make_rank_trainer(process_group, max_nonfinite=3, max_updates=100)
            broken(trainer, range(2, 100) if process_group.rank == 1 else []).run()

    outcomes = run_ranks(2, task)
    assert all("3 times in a row" in outcome.error for outcome in outcomes)


def test_a_rank_short_of_memory_splits_its_part(make_rank_trainer, run_ranks):
    def task():
        with join_process_group("cpu") as process_group:
            trainer = make_rank_trainer(process_group)
            loss = trainer.model.loss

            def loss_of_single_pairs(src, *arguments):
                if process_group.rank == 1 and len(src) > 1:
                    raise MemoryError
                return loss(src, *arguments)

            trainer.model.loss = loss_of_single_pairs
            return trained(trainer)

    rank_0, rank_1 = (outcome.value for outcome in run_ranks(2, task))
    close(rank_0, trained(make_rank_trainer()))
    assert equal(rank_0[1], rank_1[1])


# Stopping and resuming


def run(trainer, interrupted_after=0, signals=()):
    """Train to the end or to signals during an update; return the update and the signal."""
    update, count = trainer.update, 0

    def counted():
        nonlocal count
        count += 1
        if count == interrupted_after:
            for number in signals:
                os.kill(os.getpid(), number)
        return update()

    trainer.update = counted
    trainer.resume()
    try:
        trainer.run()
    except TrainingInterrupted as end:
        return trainer.progress.updates, end.signal
    return trainer.progress.updates, None


@pytest.fixture
def train(make_rank_trainer, run_ranks):
    """`train(2, stop=7)`: 12 updates by two ranks, or until the last rank gets signals.

    :return: for each rank its last update and the signal, and its parameters.
    """

    def call(size, folder="model", dropout=0.0, stop=0, signals=(signal.SIGTERM,)):
        def task():
            with join_process_group("cpu") as process_group:
                settings = {"folder": folder, "max_updates": 12, "validate_every": 5}
                trainer = make_rank_trainer(process_group, dropout=dropout, **settings)
                end = run(trainer, stop, signals if process_group.rank == size - 1 else ())
                return end, dict(parameters_of(trainer.model))

        outcomes = run_ranks(size, task)
        assert [outcome.error for outcome in outcomes] == [None] * size
        return [outcome.value for outcome in outcomes]

    return call


def test_a_signal_to_one_rank_stops_all_after_the_same_update(train, tmp_path):
    ends = [end for end, _ in train(3, stop=7)]
    assert ends == [(7, signal.SIGTERM)] * 3
    saved = [path.name for path in (tmp_path / "model" / "checkpoints").iterdir()]
    assert sorted(saved) == ["00000005", "00000007.interrupted"]


def test_a_signal_sent_twice_at_once_still_saves(train, tmp_path):
    """A cluster may signal every process, and torchrun forwards its own signal too."""
    twice = (signal.SIGTERM, signal.SIGTERM)
    ends = [end for end, _ in train(2, stop=3, signals=twice)]
    assert ends == [(3, signal.SIGTERM)] * 2
    assert (tmp_path / "model" / "checkpoints" / "00000003.interrupted").is_dir()


@pytest.mark.parametrize(("ranks_before", "ranks_after"), [(2, 3), (3, 1), (1, 2)])
def test_any_number_of_ranks_can_resume(train, ranks_before, ranks_after):
    train(ranks_before, stop=7, signals=[signal.SIGINT])
    (end, parameters), *other_ranks = train(ranks_after)
    assert end == (12, None)
    _, uninterrupted = train(1, "whole")[0]
    for name, value in parameters.items():
        torch.testing.assert_close(value, uninterrupted[name], rtol=1e-4, atol=2e-6, msg=name)
    assert all(equal(parameters, rank_parameters) for _, rank_parameters in other_ranks)


def test_resuming_is_exact_with_dropout(train):
    train(2, dropout=0.4, stop=7)
    (_, parameters), _ = train(2, dropout=0.4)
    (_, uninterrupted), _ = train(2, "whole", dropout=0.4)
    assert equal(parameters, uninterrupted)
    (_, without_dropout), _ = train(2, "other")
    assert not equal(without_dropout, uninterrupted)


def test_ranks_have_different_dropout_masks(make_rank_trainer, run_ranks):
    """Both ranks have the same batch: with the same dropout mask, costs would be equal."""

    def task():
        with join_process_group("cpu") as process_group:
            trainer = make_rank_trainer(process_group, dropout=0.5)
            batch = next(iter(make_rank_trainer().batches))
            trainer.model.train()
            trainer.process_group.seed_per_rank(1, 0)
            return float(trainer.model.loss(*batch[:4]).detach())

    cost_0, cost_1 = (outcome.value for outcome in run_ranks(2, task))
    assert cost_0 != cost_1


def test_only_rank_0_writes(make_rank_trainer, run_ranks, monkeypatch, tmp_path):
    def task():
        with join_process_group("cpu") as process_group:
            if not process_group.is_main:
                for name in ("save_checkpoint", "write_parameters", "load_newest_checkpoint"):
                    monkeypatch.setattr(f"nmtkit.training.checkpoint_store.{name}", None)
            trainer = make_rank_trainer(
                process_group, max_updates=4, validate_every=2, average_checkpoints=2
            )
            trainer.resume()
            trainer.run()
            return dict(parameters_of(trainer.model)), dict(trainer.averaged)

    outcomes = run_ranks(2, task)
    assert [outcome.error for outcome in outcomes] == [None, None]
    (parameters_0, mean_0), (parameters_1, mean_1) = (outcome.value for outcome in outcomes)
    assert (
        equal(parameters_0, parameters_1)
        and equal(mean_0, mean_1)
        and not equal(parameters_0, mean_0)
    )
    assert (tmp_path / "model" / "params.best.safetensors").is_file()


def test_a_full_disk_on_rank_0_stops_all_ranks(make_rank_trainer, run_ranks, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    def task():
        with join_process_group("cpu") as process_group:
            if process_group.is_main:
                monkeypatch.setattr("nmtkit.training.checkpoint_store.save_checkpoint", full)
            make_rank_trainer(process_group, max_updates=8, validate_every=2).run()

    error_0, error_1 = (outcome.error for outcome in run_ranks(2, task))
    assert "No space left" in error_0 and "another rank has ended" in error_1


@pytest.mark.parametrize("killed_rank", [0, 1])
def test_a_killed_rank_stops_the_others_and_nothing_is_lost(
    make_rank_trainer, run_ranks, train, killed_rank
):
    def task():
        with join_process_group("cpu") as process_group:
            settings = {"folder": "killed", "max_updates": 12, "validate_every": 5}
            run(
                make_rank_trainer(process_group, **settings),
                7 if process_group.rank == killed_rank else 0,
                [signal.SIGKILL],
            )

    outcomes = run_ranks(2, task)
    assert outcomes[killed_rank].status == -signal.SIGKILL
    assert "another rank has ended" in outcomes[1 - killed_rank].error
    (end, parameters), _ = train(2, "killed")
    (_, uninterrupted), _ = train(2, "whole")
    assert end == (12, None) and equal(parameters, uninterrupted)


def test_with_a_time_limit_all_ranks_end_by_the_clock_of_rank_0(make_rank_trainer, run_ranks):
    class Clock:
        """A stopwatch whose laps take as many seconds as the rank has, plus one."""

        def __init__(self, rank):
            self.rank = rank

        def lap(self):
            return 1.0 + self.rank

    def task():
        with join_process_group("cpu") as process_group:
            limits = {"max_updates": 0, "time_limit": 40.0, "cooldown_share": 0.5}
            trainer = make_rank_trainer(process_group, validate_every=10, **limits)
            trainer.stopwatch = Clock(process_group.rank)
            trainer.run()
            return trainer.progress.updates, trainer.schedule.texts(), parameters_of(trainer.model)

    first, second = (outcome.value for outcome in run_ranks(2, task))
    assert first[:2] == second[:2]
    assert 25 <= first[0] <= 40 and first[1][-1] == f"{first[0]}:0.0"
    assert equal(first[2], second[2])
