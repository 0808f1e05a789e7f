"""Ending a training after a given time: when the cooldown begins, and where it ends."""

import bisect
import collections
import math

from nmtkit.config import TrainingConfig
from nmtkit.training.schedule import Schedule

AIM = 0.987
"""Share of the time after which a training should have ended."""

TOLERANCE = 0.008
"""Share of the time by which the end that is expected may differ from `AIM`."""

TOLERANCE_OF_REST = 0.1
"""Share of the time that is left by which it may differ: what is far away can be mended later."""

ASSUMED_VALIDATION = 0.02
"""Least share of the time that a validation is assumed to take before there is one."""

SKIPPED_SHARE = 0.25
"""Share of the updates between two validations. A validation that is nearer to the end is left out,
as the one at the end would measure the same again."""

RECENT_UPDATES = 200
"""Updates by whose mean time those that follow are estimated: several pools of short batches."""


def last_validation_before(end: int, every: int) -> int:
    """Return the updates after which no validation is due until the one at the end.

    :param every: number of updates between two validations.
    """
    return end - math.ceil(SKIPPED_SHARE * every)


class Costs:
    """Seconds that the parts of a training take, by those measured so far.

    validation_tokens: tokens that can be trained on in the time of a validation, about.
    """

    def __init__(self, validation: float, validate_every: int) -> None:
        """Start without measurements.

        :param validation: seconds that a validation, with saving, is assumed to take at least.
        :param validate_every: number of updates between two validations.
        """
        self.validate_every = validate_every
        self.validation_tokens = 0.0
        self._assumed_validation = validation
        self._validation: float | None = None
        self._updates = collections.deque[tuple[float, int]](maxlen=RECENT_UPDATES)

    def add_update(self, seconds: float, tokens: int) -> None:
        """Take the time of an update into account.

        :param tokens: target tokens that were trained on.
        """
        self._updates.append((seconds, tokens))

    def add_validation(self, seconds: float) -> None:
        """Take the time of a validation into account."""
        self._validation = seconds

    @property
    def validation(self) -> float:
        """Seconds of a validation: of the last one, or before it by the speed of the updates."""
        if self._validation is not None:
            return self._validation
        tokens = sum(tokens for _, tokens in self._updates)
        expected = self.validation_tokens * self._seconds() / max(tokens, 1)
        return max(self._assumed_validation, expected)

    def _seconds(self) -> float:
        """Return the seconds of the last updates."""
        return sum(seconds for seconds, _ in self._updates)

    @property
    def update(self) -> float:
        """Mean seconds of the last updates."""
        return self._seconds() / max(len(self._updates), 1)

    def between(self, updates: int, end: int) -> float:
        """Return the expected seconds from now to the end, with the validation there.

        :param updates: number of updates so far.
        """
        every = self.validate_every
        before_the_end = last_validation_before(end, every) // every - updates // every
        validations = max(before_the_end, 0) + 1
        return (end - updates) * self.update + validations * self.validation

    def end_within(self, seconds: float, updates: int) -> int:
        """Return the end that is reached within some seconds, at least one update from now."""
        most = updates + int(seconds / max(self.update, 1e-6))
        ends = range(updates + 1, max(most, updates) + 1)
        found = bisect.bisect_right(ends, seconds, key=lambda end: self.between(updates, end))
        return ends[found - 1] if found else updates + 1


class TimeLimit:
    """Revises a schedule, so that a training ends with its cooldown after a given time.

    The steady part lasts until the time that is left is that of the cooldown; how many updates fit
    into it follows from the time of the last updates. Where other work makes them slower or faster,
    the end is moved again.
    """

    def __init__(self, seconds: float, cooldown: float, costs: Costs) -> None:
        """Lay out nothing yet.

        :param seconds: the time, from the start of the training, over all runs.
        :param cooldown: share of the time in which the learning rate falls to 0.
        """
        self.seconds = seconds
        self.cooldown = cooldown
        self.costs = costs

    @classmethod
    def of(cls, config: TrainingConfig) -> "TimeLimit | None":
        """Return the limit that the settings give, or None."""
        if not config.time_limit:
            return None
        costs = Costs(ASSUMED_VALIDATION * config.time_limit, config.validate_every)
        return cls(config.time_limit, config.cooldown_share, costs)

    def revise(self, schedule: Schedule, updates: int, used: float) -> Schedule:
        """Return the schedule to go on with: the same object if nothing changes.

        :param updates: number of updates so far.
        :param used: seconds used so far.
        """
        left = AIM * self.seconds - used
        if schedule.end:
            expected = self.costs.between(updates, schedule.end)
            tolerance = max(TOLERANCE * self.seconds, TOLERANCE_OF_REST * left)
            in_time = abs(expected - left) <= tolerance
            if in_time or schedule.end <= updates + 1:
                return schedule
        elif self._is_steady(left):
            return schedule
        return schedule.ending(updates, self.costs.end_within(left, updates))

    def _is_steady(self, left: float) -> bool:
        """Return whether more time is left than the cooldown and the validation at the end take."""
        validation = self.costs.validation
        return left - validation > self.cooldown * (self.seconds - validation)
