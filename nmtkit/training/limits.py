"""Limits of a training: the settings with a time, or with a number of updates."""

import dataclasses

from nmtkit.config import TrainingConfig
from nmtkit.training.schedule import Point, Schedule


def with_time(
    config: TrainingConfig, seconds: float | None, old: TrainingConfig | None
) -> TrainingConfig:
    """Return the settings of a training that ends after a time.

    :param seconds: time of the whole training; None: that of the settings, 0 for no limit.
    :param old: settings of the training that is resumed: its schedule stays, unless it was laid out
        for less time, or for a number of updates and a time is asked for now. A new training with a
        time has none of another one, whose settings it may have.
    """
    limit = config.time_limit if seconds is None else seconds
    schedule = config.schedule
    if old is None and (config.time_limit or seconds):
        schedule = ()
    elif old is not None and (old.time_limit or seconds):
        is_longer = not limit or limit > old.time_limit
        schedule = () if is_longer else old.schedule
    return dataclasses.replace(config, time_limit=limit, schedule=schedule)


def with_updates(
    config: TrainingConfig, updates: int, old: TrainingConfig | None
) -> TrainingConfig:
    """Return the settings of a training that ends after some updates, however long they take.

    A schedule that ends there is kept, so that a planned training can be repeated on another
    machine. Otherwise the cooldown is that share of the updates which it would be of a time.

    :param old: settings of the training that is resumed.
    """
    known = [Schedule.of(settings) for settings in (config, old) if settings is not None]
    fitting = [schedule for schedule in known if schedule.end == updates]
    if fitting:
        schedule = fitting[0]
    elif config.cooldown_share:
        start = min(round((1 - config.cooldown_share) * updates), updates - 1)
        schedule = Schedule([Point(start, 1.0), Point(updates, 0.0)])
    else:
        return dataclasses.replace(config, time_limit=0.0, schedule=(), max_updates=updates)
    return dataclasses.replace(
        config, time_limit=0.0, schedule=schedule.texts(), max_updates=0, cooldown=0
    )
