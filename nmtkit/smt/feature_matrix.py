"""The features of an n-best list as the columns of a matrix, weights as a vector beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.smt.nbest import Entry, Features
from nmtkit.smt.weights import HIDDEN, REST, Weights

Vector: TypeAlias = NDArray[np.float64]

DIGITS = 9
"""Scores are compared to so many behind the point, where weights sum to 1: sums of the same numbers
in another order are then alike."""


@dataclass(frozen=True)
class FeatureColumns:
    """Which features a list has, each line the same ones in the same order.

    sizes: how many values each feature has, by its name.
    """

    sizes: dict[str, int]

    @classmethod
    def of(cls, entry: Entry) -> "FeatureColumns":
        """Those of the first line of a list.

        :raises DataError: its features are not as they should be, or one is called `Rest0`.
        """
        features = entry.features
        if REST in features:
            raise DataError(
                f"{entry.where}: the feature '{REST}' would be taken for what totals have beyond"
                " the features; give it another name"
            )
        return cls({name: len(values) for name, values in features.items()})

    @property
    def width(self) -> int:
        """How many columns there are."""
        return sum(self.sizes.values())

    def values(self, entry: Entry) -> list[float]:
        """The features of a line, column for column.

        :raises DataError: they are not those of the first line, or one is no number.
        """
        words = entry.fields[2].split()
        if [words[i] for i in self._named if i < len(words)] == self._names:
            try:
                values = [float(words[i]) for i in self._valued]
            except (ValueError, IndexError):
                pass
            else:
                if len(words) == len(self._named) + len(values):
                    return values
        return self._checked(entry)

    def split(self, vector: Sequence[float]) -> Features:
        """A number for each column, by the names of the features."""
        rest = iter(vector)
        return {
            name: tuple(float(next(rest)) for _ in range(size)) for name, size in self.sizes.items()
        }

    def vector(self, features: Features, path: str) -> Vector:
        """A number for each column from those that have a name; 0 where a feature has none.

        What Moses hides (`UnknownWordPenalty0`) and `Rest0` are no columns, and left out.

        :param path: where they come from, for messages.
        :raises DataError: a name is not in the list, or has more or fewer values there.
        """
        for name, values in features.items():
            self._check(name, len(values), path)
        return np.array(
            [w for name, size in self.sizes.items() for w in features.get(name, (0.0,) * size)],
            dtype=np.float64,
        )

    def without_weights(self, features: Features) -> list[str]:
        """The features of the list that these weights do not name."""
        return [name for name in self.sizes if name not in features]

    @cached_property
    def _named(self) -> list[int]:
        """Where the names stand among the words of the features."""
        places, place = [], 0
        for size in self.sizes.values():
            places.append(place)
            place += 1 + size
        return places

    @cached_property
    def _valued(self) -> list[int]:
        sizes = self.sizes.values()
        return [
            place + 1 + i
            for place, size in zip(self._named, sizes, strict=True)
            for i in range(size)
        ]

    @cached_property
    def _names(self) -> list[str]:
        return [f"{name}=" for name in self.sizes]

    def _checked(self, entry: Entry) -> list[float]:
        """The same by the long way, which knows what to say of a line that is wrong."""
        features = entry.features
        sizes = {name: len(values) for name, values in features.items()}
        if list(sizes.items()) != list(self.sizes.items()):
            raise DataError(
                f"{entry.where}: has the features {_told(sizes)}, but the first line has"
                f" {_told(self.sizes)}; every line must have the same in the same order"
            )
        return [value for values in features.values() for value in values]

    def _check(self, name: str, size: int, path: str) -> None:
        if name == REST or (name not in self.sizes and name.startswith(HIDDEN)):
            if size != 1:
                raise DataError(f"{path}: '{name}' has {size} weights; it is one number")
            return
        if name not in self.sizes:
            raise DataError(
                f"{path}: has weights of '{name}', which is no feature of the list; it has"
                f" {_told(self.sizes)}"
            )
        if size != self.sizes[name]:
            raise DataError(
                f"{path}: has {size} weights of '{name}', which has {self.sizes[name]} values in"
                " the list"
            )


@dataclass(frozen=True)
class LinearScorer:
    """What gives a line its score: the weighted sum of its columns and of `Rest0`.

    weights: one for each column. Shape: [columns].
    original: the weights that the totals were made with. Shape: [columns]; None: the totals count
        for nothing.
    rest: the weight of `Rest0`.
    """

    weights: Vector
    original: Vector | None = None
    rest: float = 0.0

    @classmethod
    def of(cls, columns: FeatureColumns, weights: Weights) -> "LinearScorer":
        """Weights beside the columns of a list.

        :raises DataError: they do not fit, or they have `Rest0` but not what it is measured of.
        """
        vector = columns.vector(weights.values, weights.path)
        if weights.original is None:
            if REST in weights.values:
                raise DataError(
                    f"{weights.path}: weighs '{REST}' but has no section [original-weight], from"
                    " which it is measured; give the file as 'nmtkit tune' wrote it"
                )
            return cls(vector)
        original = columns.vector(weights.original, weights.path)
        return cls(vector, original, weights.values.get(REST, (1.0,))[0])

    def scores(self, features: Vector, totals: Vector) -> Vector:
        """The score of each line.

        :param features: [lines, columns]
        :param totals: [lines]
        """
        if self.original is None:
            return rounded(features @ self.weights, self.weights)
        # The same as weights · features + rest · Rest0, but exact where the weights are the
        # original ones: then the score is the total.
        difference = self.weights - self.rest * self.original
        return rounded(self.rest * totals + features @ difference, self.weights)


def rounded(scores: Vector, weights: Vector) -> Vector:
    """Scores without what rounding has added to them, whatever the size of the weights."""
    size = float(np.abs(weights).sum())
    digits = DIGITS - math.ceil(math.log10(size)) if size else DIGITS
    return np.asarray(np.round(scores, min(digits, 100)), dtype=np.float64)


def shortened(weights: Vector) -> Vector:
    """Weights of nine digits, as they are written."""
    return np.array([float(f"{weight:.9g}") for weight in weights])


def _told(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} ({size})" for name, size in sizes.items()) or "none"
