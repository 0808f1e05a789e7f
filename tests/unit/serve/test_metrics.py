"""Figures for Prometheus have all their digits."""

import pytest

from nmtkit.serve.metrics import Counter, Histogram, number_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0"), (1234567.0, "1234567"), (2.0**53 - 1, "9007199254740991"), (0.1, "0.1"),
     (1234567.25, "1234567.25"), (1e-7, "1e-07")],
)  # fmt: skip
def test_numbers_are_exact(value: float, expected: str) -> None:
    assert number_text(value) == expected and float(expected) == value


def test_a_counter_counts_on_after_a_million() -> None:
    counter = Counter("name", "help", "label")
    counter.add("a", amount=1_234_567)
    counter.add("a")
    assert list(counter.lines())[-1] == 'name{label="a"} 1234568'


def test_a_histogram_has_the_exact_sum() -> None:
    histogram = Histogram("name", "help")
    histogram.add(1234567.0)
    histogram.add(0.0625)
    lines = list(histogram.lines())
    assert "name_sum 1234567.0625" in lines and "name_count 2" in lines
