"""How far a training is, and how long it takes until the first of its limits."""

from nmtkit.config import TrainingConfig
from nmtkit.training.schedule import Schedule


def last_update(config: TrainingConfig) -> int:
    """Return the number of updates after which a training ends, or 0 if its settings do not say.

    The schedule of a time limit ends where the training is expected to, which moves.
    """
    end = 0 if config.time_limit else Schedule.of(config).end
    return min(filter(None, (config.max_updates, end)), default=0)


def share_done(config: TrainingConfig, seconds: float, updates: int, epochs: float) -> float | None:
    """Return the share of a training that is done: that of the limit which is reached first.

    :param seconds: time of the training so far.
    :return: from 0 to 1; None without a limit.
    """
    limits = (
        (seconds, config.time_limit),
        (updates, last_update(config)),
        (epochs, config.max_epochs),
    )
    shares = [used / limit for used, limit in limits if limit]
    return min(max(shares), 1.0) if shares else None


def seconds_left(
    config: TrainingConfig, seconds: float, updates: int, epochs: float
) -> float | None:
    """Return the seconds until the first limit is reached, if updates take as long as before.

    :param seconds: time of the training so far.
    :return: 0 or more; None without a limit, or if nothing says when it is reached.
    """
    share = share_done(config, seconds, updates, epochs)
    if not share:
        return config.time_limit or None
    return seconds * (1 / share - 1)
