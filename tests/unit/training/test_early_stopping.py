"""Validations without improvement end a training, or lower the learning rate."""

import dataclasses
import logging

import pytest

from nmtkit.config import TrainingConfig
from nmtkit.training.early_stopping import update_early_stopping
from nmtkit.training.progress import Progress
from nmtkit.training.validation import Validation


def validation(cost=1.0, bleu=None):
    return Validation(cost, 9 * cost, bleu)


@pytest.mark.parametrize(
    ("costs", "stale", "decays"),
    [
        ([3.0], [0], [0]),
        ([3.0, 2.0, 1.0], [0, 0, 0], [0, 0, 0]),
        ([1.0, 1.0, 1.0], [0, 1, 2], [0, 0, 1]),
        ([1.0, 2.0, 0.5, 0.6], [0, 1, 0, 1], [0, 0, 0, 0]),
        ([1.0, 2.0, 3.0, 2.0, 1.5, 1.2], [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2]),
        ([1.0, 2.0, 3.0, 0.9, 1.0, 1.0], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 2]),
        ([2.0, float("nan"), 1.0], [0, 1, 0], [0, 0, 0]),
        ([float("nan"), 1.0, 2.0], [None, 0, 1], [0, 0, 0]),
        ([float("inf"), 5.0], [0, 0], [0, 0]),
    ],
)
def test_early_stopping_counts_validations_without_improvement(costs, stale, decays):
    config = TrainingConfig(lr_decay_patience=2)
    progress, counters = Progress(updates=1), []
    for cost in costs:
        progress = update_early_stopping(progress, validation(cost), config)
        counters.append((progress.stale, progress.decays))
    expected = list(zip(stale, decays, strict=True))
    assert [
        row for row, counts in zip(counters, expected, strict=True) if counts[0] is not None
    ] == [counts for counts in expected if counts[0] is not None]
    best = min(cost for cost in costs if cost == cost)
    assert progress.best == best and progress.best_cost == best
    assert progress.updates == 1


@pytest.mark.parametrize(
    ("figures", "stale", "decays"),
    [
        ([(3.0, 10.0), (2.0, 20.0)], [0, 0], [0, 0]),
        ([(3.0, 10.0), (4.0, 20.0), (5.0, 30.0)], [0, 0, 0], [0, 0, 1]),
        ([(3.0, 10.0), (2.0, 10.0), (1.0, 9.0)], [0, 1, 2], [0, 0, 0]),
        ([(3.0, 0.0), (2.0, 0.1)], [0, 0], [0, 0]),
    ],
)
def test_bleu_decides_early_stopping_and_cost_the_decay(figures, stale, decays):
    config = TrainingConfig(early_stopping_metric="bleu", lr_decay_patience=2)
    progress, counters = Progress(), []
    for cost, bleu in figures:
        progress = update_early_stopping(progress, validation(cost, bleu), config)
        counters.append((progress.stale, progress.decays))
    assert counters == list(zip(stale, decays, strict=True))
    assert progress.best == -max(bleu for _, bleu in figures)
    assert progress.best_cost == min(cost for cost, _ in figures)


def test_patience_0_never_decays():
    progress = Progress()
    for _ in range(50):
        progress = update_early_stopping(progress, validation(), TrainingConfig())
    assert (progress.decays, progress.stale) == (0, 49)


def test_a_decay_is_logged(caplog):
    config = TrainingConfig(lr_decay=0.25, lr_decay_patience=1)
    with caplog.at_level(logging.INFO, "nmtkit"):
        update_early_stopping(
            update_early_stopping(Progress(), validation(), config), validation(), config
        )
    assert caplog.messages == ["learning rate multiplied by 0.25 from now on"]


def test_chrf_decides_early_stopping():
    config = TrainingConfig(early_stopping_metric="chrf")
    progress = Progress()
    for chrf, stale in ((30.0, 0), (29.0, 1), (31.5, 0), (31.5, 1)):
        figures = dataclasses.replace(validation(9.0 - progress.stale, bleu=1.0), chrf=chrf)
        progress = update_early_stopping(progress, figures, config)
        assert progress.stale == stale
    assert progress.best == -31.5
