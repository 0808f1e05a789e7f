"""Limits of a training that goes on with others."""

import dataclasses

import pytest

from nmtkit.config import TrainingConfig
from nmtkit.training.limits import with_time, with_updates

PLANNED = TrainingConfig(max_updates=0, time_limit=60.0, schedule=("0:1.0", "60:1.0", "100:0.0"))


@pytest.mark.parametrize(
    ("seconds", "stays"), [(None, True), (60.0, True), (30.0, True), (90.0, False), (0.0, False)]
)
def test_a_schedule_stays_unless_there_is_more_time(seconds: float | None, stays: bool) -> None:
    asked = dataclasses.replace(PLANNED, schedule=())
    config = with_time(asked, seconds, PLANNED)
    assert config.time_limit == (60.0 if seconds is None else seconds)
    assert config.schedule == (PLANNED.schedule if stays else ())


def test_a_new_training_does_not_begin_with_the_schedule_of_another_ones_time() -> None:
    assert with_time(PLANNED, 90.0, None).schedule == with_time(PLANNED, None, None).schedule == ()
    repeated = dataclasses.replace(PLANNED, time_limit=0.0)
    assert with_time(repeated, None, None).schedule == PLANNED.schedule
    assert with_time(repeated, 90.0, None).schedule == ()


def test_a_time_takes_the_place_of_a_schedule_for_updates() -> None:
    repeated = with_updates(PLANNED, 100, None)
    assert (repeated.time_limit, repeated.schedule) == (0.0, PLANNED.schedule)
    assert with_time(repeated, 30.0, repeated).schedule == ()
    assert with_time(repeated, None, repeated).schedule == PLANNED.schedule


def test_updates_lay_out_the_cooldown_that_a_time_would_have() -> None:
    share = dataclasses.replace(PLANNED, cooldown_share=0.4)
    assert with_updates(share, 50, None).schedule == ("30:1.0", "50:0.0")
