"""Features of an n-best list as columns of a matrix, and their weights as a vector."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.smt.nbest import Entry, Features
from nmtkit.smt.numbers import MAX_NUMBER
from nmtkit.smt.weights import HIDDEN_PREFIX, REST_FEATURE, Weights

Vector: TypeAlias = NDArray[np.float64]

SCORE_DIGITS = 9
"""Decimal places to which scores are rounded if the weights sum to 1.

Sums of the same numbers in a different order then compare equal.
"""


@dataclass(frozen=True)
class FeatureColumns:
    """Layout of the features, which all lines of a list share.

    sizes: number of values of each feature, in order.
    """

    sizes: dict[str, int]

    @classmethod
    def from_entry(cls, entry: Entry) -> "FeatureColumns":
        """Return the layout of the first line of a list.

        :raises DataError: the features are malformed, or one is called `Rest0`.
        """
        features = entry.features
        if REST_FEATURE in features:
            raise DataError(
                f"{entry.location}: the feature name '{REST_FEATURE}' is reserved for the part of"
                " totals that the features do not explain; give it another name"
            )
        return cls({name: len(values) for name, values in features.items()})

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(self.sizes.values())

    def row(self, entry: Entry) -> list[float]:
        """Return the feature values of a line, one per column.

        :raises DataError: the features differ from the first line's, or a value is not a number, or
            too large.
        """
        words = entry.feature_field.split()
        if [words[i] for i in self._name_positions if i < len(words)] == self._names:
            try:
                values = [float(words[i]) for i in self._value_positions]
            except (ValueError, IndexError):
                pass
            else:
                small = all(-MAX_NUMBER <= value <= MAX_NUMBER for value in values)
                if small and len(words) == len(self._names) + len(values):
                    return values
        return self._parsed_row(entry)

    def named_weights(self, vector: Sequence[float]) -> Features:
        """Group a weight vector by the names of the features."""
        weights = iter(vector)
        return {
            name: tuple(float(next(weights)) for _ in range(size))
            for name, size in self.sizes.items()
        }

    def weight_vector(self, weights: Features, path: str) -> Vector:
        """Return one weight per column; 0 for a feature without weights.

        `UnknownWordPenalty0`, which Moses does not print, and `Rest0` have no column.

        :param path: file of the weights, for messages.
        :raises DataError: the list lacks a feature, or has it with another number of values.
        """
        for name, values in weights.items():
            self._check_weights(name, len(values), path)
        return np.array(
            [w for name, size in self.sizes.items() for w in weights.get(name, (0.0,) * size)],
            dtype=np.float64,
        )

    def is_hidden(self, name: str) -> bool:
        """Return whether Moses counts a feature in the totals and leaves it out of the list."""
        return name.startswith(HIDDEN_PREFIX) and name not in self.sizes

    def rest_weight(self, weights: Features, original: Features | None) -> float:
        """Return the weight of `Rest0`: its own, or how much that of unknown words has changed.

        Moses counts unknown words in the totals with the original weight of `UnknownWordPenalty0`.
        """
        if REST_FEATURE in weights:
            return weights[REST_FEATURE][0]
        for name, (before, *_) in (original or {}).items():
            if self.is_hidden(name) and name in weights and abs(before) > 1 / MAX_NUMBER:
                return weights[name][0] / before
        return 1.0

    def without_weights(self, weights: Features) -> list[str]:
        """Return the features of the list that have no weights."""
        return [name for name in self.sizes if name not in weights]

    @cached_property
    def _name_positions(self) -> list[int]:
        """Positions of the names among the words of the feature field."""
        positions, position = [], 0
        for size in self.sizes.values():
            positions.append(position)
            position += 1 + size
        return positions

    @cached_property
    def _value_positions(self) -> list[int]:
        sizes = self.sizes.values()
        return [
            position + 1 + i
            for position, size in zip(self._name_positions, sizes, strict=True)
            for i in range(size)
        ]

    @cached_property
    def _names(self) -> list[str]:
        return [f"{name}=" for name in self.sizes]

    def _parsed_row(self, entry: Entry) -> list[float]:
        """Return the values like `row`, more slowly, with messages for malformed lines."""
        features = entry.features
        sizes = {name: len(values) for name, values in features.items()}
        if list(sizes.items()) != list(self.sizes.items()):
            raise DataError(
                f"{entry.location}: has the features {_format_sizes(sizes)}, but the first line has"
                f" {_format_sizes(self.sizes)}; every line must have the same in the same order"
            )
        return [value for values in features.values() for value in values]

    def _check_weights(self, name: str, size: int, path: str) -> None:
        if name == REST_FEATURE or self.is_hidden(name):
            if size != 1:
                raise DataError(f"{path}: '{name}' has {size} weights; give one number")
            return
        if name not in self.sizes:
            raise DataError(
                f"{path}: has weights for '{name}', which is not a feature of the list; it has"
                f" {_format_sizes(self.sizes)}"
            )
        if size != self.sizes[name]:
            raise DataError(
                f"{path}: has {size} weights for '{name}', which has {self.sizes[name]} values in"
                " the list"
            )


@dataclass(frozen=True)
class LinearScorer:
    """Log-linear model: the score of a line is the weighted sum of its columns and of `Rest0`.

    weights: Shape: [columns].
    original: weights that the totals were computed with; None to ignore the totals.
        Shape: [columns].
    rest: weight of `Rest0`.
    """

    weights: Vector
    original: Vector | None = None
    rest: float = 0.0

    @classmethod
    def from_weights(cls, columns: FeatureColumns, weights: Weights) -> "LinearScorer":
        """Return the scorer for a list with these columns.

        :raises DataError: list and weights do not match, or `Rest0` has a weight but the original
            weights are missing.
        """
        check_rest(weights)
        vector = columns.weight_vector(weights.values, weights.path)
        if weights.original is None:
            return cls(vector)
        original = columns.weight_vector(weights.original, weights.original_path or weights.path)
        return cls(vector, original, columns.rest_weight(weights.values, weights.original))

    def scores(self, features: Vector, totals: Vector) -> Vector:
        """Compute the score of each line. Shape: [lines].

        :param features: Shape: [lines, columns].
        :param totals: Shape: [lines].
        """
        if self.original is None:
            return round_scores(features @ self.weights, self.weights)
        # Equals weights · features + rest · Rest0. With the original weights the score is exactly
        # the total.
        difference = self.weights - self.rest * self.original
        return round_scores(self.rest * totals + features @ difference, self.weights)


def check_rest(weights: Weights) -> None:
    """Check that weights without original ones have none for `Rest0`.

    :raises DataError: `Rest0` has a weight, but cannot be computed.
    """
    if weights.original is None and REST_FEATURE in weights.values:
        raise DataError(
            f"{weights.path}: has a weight for '{REST_FEATURE}' but no section"
            " [original-weight] to compute it from; give the file as 'nmtkit nbest tune' wrote it"
        )


def round_scores(scores: Vector, weights: Vector) -> Vector:
    """Round scores to `SCORE_DIGITS` relative to the size of the weights."""
    size = float(np.abs(weights).sum())
    digits = SCORE_DIGITS - math.ceil(math.log10(size)) if size else SCORE_DIGITS
    return np.asarray(np.round(scores, min(digits, 100)), dtype=np.float64)


def round_weights(weights: Vector) -> Vector:
    """Round weights to nine digits, as in files."""
    return np.array([float(f"{weight:.9g}") for weight in weights])


def _format_sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} ({size})" for name, size in sizes.items()) or "none"
