"""How long a training takes until its first limit."""

import pytest

from nmtkit.config import TrainingConfig
from nmtkit.training.time_left import seconds_left, share_done

NO_LIMITS = {"max_updates": 0, "max_epochs": 0, "time_limit": 0.0}


def config(**limits: object) -> TrainingConfig:
    return TrainingConfig(**{**NO_LIMITS, **limits})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "share", "left"),
    [
        ({}, None, None),
        ({"time_limit": 400.0}, 0.25, 300.0),
        ({"max_updates": 200}, 0.5, 100.0),
        ({"max_epochs": 10}, 0.2, 400.0),
        ({"time_limit": 400.0, "max_updates": 200, "max_epochs": 10}, 0.5, 100.0),
        ({"time_limit": 50.0}, 1.0, 0.0),
        ({"schedule": ("100:1.0", "200:0.0")}, 0.5, 100.0),
        ({"schedule": ("100:1.0", "400:0.0"), "max_updates": 200}, 0.5, 100.0),
        ({"schedule": ("100:1.0", "110:0.0"), "time_limit": 400.0}, 0.25, 300.0),  # an estimate
    ],
)
def test_the_nearest_limit_counts(limits, share, left) -> None:
    used = 100.0, 100, 2.0  # seconds, updates, epochs
    assert share_done(config(**limits), *used) == share
    assert seconds_left(config(**limits), *used) == left


def test_before_the_first_update_only_a_time_is_known() -> None:
    assert seconds_left(config(max_updates=9), 0.0, 0, 0.0) is None
    assert seconds_left(config(time_limit=60.0, max_updates=9), 0.0, 0, 0.0) == 60.0


def test_time_and_share_agree_with_the_speed_so_far() -> None:
    for updates in (1, 7, 99):
        seconds = 3.0 * updates
        limited = config(max_updates=100)
        left = seconds_left(limited, seconds, updates, 0.0)
        assert left == pytest.approx(3.0 * (100 - updates))
