"""Random draws that are the same under every Python version."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws from a seed by `random.Random.random` alone.

    Python promises the same sequence for `random()` in all versions, but not for `choice`,
    `choices` or `shuffle`, so these are built here.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        """Return True with this probability (0 to 1)."""
        return self._random() < probability

    def uniform(self) -> float:
        """Return a number from 0 to below 1."""
        return self._random()

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items with equal probability."""
        return items[int(self._random() * len(items))]

    def weighted(self, items: Sequence[tuple[float, T]]) -> T:
        """Return an item of (weight, item) pairs; weights need not sum to 1."""
        remaining = self._random() * sum(weight for weight, _ in items)
        for weight, item in items:
            remaining -= weight
            if remaining < 0:
                return item
        return items[-1][1]
