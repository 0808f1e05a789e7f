"""Sparklines: heights in order, figures at the ends, lines that fit the terminal."""

import math

import pytest

from nmtkit.training.learning_curve import ValidationPoint
from nmtkit.training.sparkline import BLOCKS, sparkline, validation_sparklines


def validations(costs, bleu):
    return [
        ValidationPoint(n, n / 10, float(n), cost, cost * 20, of_bleu, False)
        for n, (cost, of_bleu) in enumerate(zip(costs, bleu, strict=True))
    ]


def test_blocks_range_from_the_lowest_to_the_highest_value():
    assert sparkline([8.0, 1.0, 4.5, 2.0], 9) == "█▁▅▂"
    assert sparkline(list(range(8)), 8) == BLOCKS


def test_too_many_values_are_averaged():
    assert sparkline([0, 2, 7, 9, 14, 16, 21, 23], 4) == sparkline([1, 8, 15, 22], 4)
    for count in range(1, 60):
        values = [float(value) for value in range(count)]
        blocks = sparkline(values, 13)
        assert len(blocks) == min(count, 13) and list(blocks) == sorted(blocks)


@pytest.mark.parametrize(
    ("values", "blocks"),
    [([3.0], "▁"), ([2.0] * 3, "▁▁▁"), ([1.0, math.nan, 2.0, math.inf], "▁ █ ")],
)
def test_single_equal_and_infinite_values(values, blocks):
    assert sparkline(values, 5) == blocks


def test_first_and_last_figures_stand_beside_the_curve():
    points = validations([4.8124, 3.0, 2.1046], [3.14, 12.0, 21.36])
    assert validation_sparklines(points, 100) == "dev cost 4.812 █▃▁ 2.105, BLEU 3.1 ▁▄█ 21.4"


def test_without_bleu_there_is_one_curve():
    points = validations([4.0, 3.0, 2.0], [None, None, 5.0])
    assert validation_sparklines(points, 100) == "dev cost 4.000 █▅▁ 2.000"


def test_one_validation_gives_an_empty_line():
    assert (
        validation_sparklines([], 80) == validation_sparklines(validations([4.0], [1.0]), 80) == ""
    )


@pytest.mark.parametrize("columns", [60, 72, 92, 400])
def test_the_line_fits_the_terminal(columns):
    points = validations([12.0] * 100, [55.5] * 100)
    assert len(validation_sparklines(points, columns)) <= columns
    assert len(validation_sparklines(points, 20)) == len(
        validation_sparklines(points, 53)
    )  # at least one block each
