"""The learning rate's schedule as points, and the end that a time limit leads to."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.config import TrainingConfig
from nmtkit.errors import ConfigError
from nmtkit.training.schedule import Point, Schedule
from nmtkit.training.time_limit import RECENT_UPDATES, Costs, TimeLimit, last_validation_before

POINTS = ("0:0.01", "100:1.0", "600:1.0", "1000:0.0")


def test_factors_are_linear_between_points() -> None:
    schedule = Schedule.parse(POINTS, "x")
    assert schedule.end == 1000
    factors = [schedule.factor(u) for u in (0, 50, 100, 350, 600, 800, 999, 1000, 2000)]
    assert factors == pytest.approx([0.01, 0.505, 1, 1, 1, 0.5, 0.0025, 0, 0])
    assert Schedule([]).factor(7) == 1
    assert Schedule([Point(5, 1.0), Point(9, 0.0)]).factor(2) == 1  # before the first point


def test_points_are_read_as_they_are_written() -> None:
    schedule = Schedule.parse(POINTS, "x").ending(733, 900)
    assert Schedule.parse(schedule.texts(), "x").points == schedule.points


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (("100",), "'100' is no point of a schedule"),
        (("a:1",), "no point"),
        (("1:-1",), "no point"),
        (("5:1", "5:0"), "5:0.0 does not come after 5:1.0"),
        (("9:1", "5:0"), "does not come after"),
    ],
)
def test_malformed_points_are_refused(points: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match="training.schedule: ") as caught:
        Schedule.of(TrainingConfig(schedule=points))
    assert message in str(caught.value)


@given(
    now=st.integers(1, 999),
    end=st.integers(1, 3000),
    earlier=st.integers(0, 998),
)
def test_a_new_end_changes_no_factor_before(now: int, end: int, earlier: int) -> None:
    old = Schedule.parse(POINTS, "x")
    new = old.ending(now, end)
    assert new.end == max(end, now + 1)
    assert new.factor(new.end) == 0
    if earlier <= now:
        assert new.factor(earlier) == old.factor(earlier)
        again = Schedule.parse(new.texts(), "x")
        assert again.factor(earlier) == old.factor(earlier)


def run(
    limit: TimeLimit, update: list[float], validation: float, every: int, most: int = 100_000
) -> tuple[float, Schedule]:
    """Return the time that a training takes, and its schedule.

    :param update: seconds of the updates; the list is repeated.
    """
    schedule, used, updates = Schedule([]), 0.0, 0
    while not (schedule.end and updates >= schedule.end) and updates < most:
        seconds = update[updates * len(update) // 1000 % len(update)]
        updates, used = updates + 1, used + seconds
        limit.costs.add_update(seconds, 700)
        schedule = limit.revise(schedule, updates, used)
        if updates % every == 0 or updates == schedule.end:
            used += validation
            limit.costs.add_validation(validation)
    return used, schedule


def test_ends_that_move_during_the_cooldown_change_no_factor_before() -> None:
    """A rounded factor at each new point would bend the lines between the older ones."""
    for seed in range(100):
        chance = random.Random(seed)
        schedule, updates = Schedule([]).ending(75, 75 + chance.randint(20, 60)), 75
        used = {}
        while updates < schedule.end:
            used[updates] = schedule.factor(updates)
            if chance.random() < 0.05:
                schedule = schedule.ending(updates, updates + chance.randint(2, 40))
            updates += 1
        again = Schedule.parse(schedule.texts(), "x")
        assert {number: again.factor(number) for number in used} == used


@pytest.mark.parametrize(
    "update",
    [[0.1], [0.1, 0.2], [0.3, 0.1, 0.1, 0.4], [0.02], [0.5, 0.05]],
    ids=str,
)
@pytest.mark.parametrize("validation", [0.5, 3.0])
@pytest.mark.parametrize("seconds", [120.0, 600.0])
def test_a_training_ends_at_its_time(
    seconds: float, update: list[float], validation: float
) -> None:
    limit = TimeLimit(seconds, 0.4, Costs(2.0, validate_every=250))
    used, schedule = run(limit, update, validation, every=250)
    assert 0.97 * seconds <= used <= seconds
    assert len(schedule.points) < 60


def test_a_steady_machine_needs_no_second_plan() -> None:
    limit = TimeLimit(300.0, 0.4, Costs(2.0, validate_every=250))
    _, schedule = run(limit, [0.1], 2.0, every=250)
    assert [point.factor for point in schedule.points] == [1, 0]
    share = 1 - schedule.points[0].updates / schedule.end
    assert share == pytest.approx(0.4, abs=0.03)


def test_a_time_that_is_over_ends_after_the_next_update() -> None:
    limit = TimeLimit(60.0, 0.4, Costs(2.0, validate_every=250))
    limit.costs.add_update(0.1, 700)
    assert limit.revise(Schedule([]), 7, used=70.0).end == 8


def test_without_a_limit_there_is_none() -> None:
    assert TimeLimit.of(TrainingConfig()) is None
    assert TimeLimit.of(TrainingConfig(time_limit=60.0)) is not None


def test_the_learning_rate_has_fallen_below_a_share_after_its_last_highest_point() -> None:
    schedule = Schedule.parse(POINTS, "x")
    updates = (0, 10, 100, 600, 601, 900, 901, 2000)
    assert [schedule.has_fallen(u, 1.0) for u in updates] == [False] * 4 + [True] * 4
    assert [schedule.has_fallen(u, 0.25) for u in updates] == [False] * 6 + [True] * 2
    assert not Schedule([]).has_fallen(5, 1.0)  # it has no end yet


def test_the_first_validation_takes_what_the_updates_promise() -> None:
    """A large dev set, whose only validation is the last step, took the training over its time."""
    costs = Costs(2.0, validate_every=1000)
    costs.validation_tokens = 70_000
    used, _ = run(TimeLimit(120.0, 0.4, costs), [0.2], 20.0, every=1000)  # 3,500 tokens/s
    assert 0.97 * 120.0 <= used <= 120.0
    assert Costs(2.0, validate_every=10).validation == 2.0


@pytest.mark.parametrize("validation", [10.0, 60.0, 90.0])
def test_a_large_dev_set_leaves_a_cooldown(validation: float) -> None:
    """Where its validation took more than the cooldown's share, the learning rate never fell."""
    costs = Costs(2.0, validate_every=10_000)
    costs.validation_tokens = validation * 3500
    _, schedule = run(TimeLimit(120.0, 0.4, costs), [0.2], validation, every=10_000)
    share = 1 - schedule.points[0].updates / schedule.end
    assert share == pytest.approx(0.4, abs=0.05)


def test_no_validation_comes_shortly_before_that_at_the_end() -> None:
    assert [last_validation_before(100, every) for every in (1, 10, 80)] == [99, 97, 80]
    costs = Costs(2.0, validate_every=80)
    costs.add_update(1.0, 700)
    assert costs.between(70, 100) == 30 + 2 * 2
    assert costs.between(70, 99) == costs.between(80, 109) == 29 + 2


def test_only_the_last_updates_tell_the_speed() -> None:
    costs = Costs(2.0, validate_every=250)
    for seconds, count in ((0.1, 1000), (0.3, RECENT_UPDATES)):
        for _ in range(count):
            costs.add_update(seconds, 700)
    assert costs.update == pytest.approx(0.3)


@pytest.mark.parametrize("left", [1, 0])
def test_a_schedule_that_ends_with_the_next_update_is_not_prolonged(left: int) -> None:
    limit = TimeLimit(60.0, 0.4, Costs(2.0, validate_every=250))
    limit.costs.add_update(0.1, 700)
    schedule = Schedule.parse(POINTS, "x")
    assert limit.revise(schedule, schedule.end - left, used=0.0) is schedule
    assert limit.revise(schedule, schedule.end - 2, used=0.0) is not schedule
