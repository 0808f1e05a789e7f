"""Histograms count each value once, and their bars lead to its sentences."""

import re

from hypothesis import given
from hypothesis import strategies as st

from nmtkit.report.histogram import MAX_BARS, draw_histogram, histogram_of

values = st.lists(st.floats(-100, 100) | st.just(0.0), max_size=50)


@given(values)
def test_each_value_is_in_the_bin_whose_ends_hold_it(numbers):
    histogram = histogram_of(numbers)
    for index, count in enumerate(histogram.counts):
        low, high = histogram.ends(index)
        assert count == sum(low <= number < high for number in numbers if number)
    assert (
        sum(histogram.counts) == len(numbers) - numbers.count(0)
        and len(histogram.counts) <= MAX_BARS + 2
    )
    assert -histogram.low % histogram.width == 0  # 0 is between two bins


@given(values, values)
def test_histograms_with_the_same_ends_share_an_axis(first, second):
    ends = [end for numbers in (first, second) for end in (min([0, *numbers]), max([0, *numbers]))]
    one, two = (histogram_of(numbers, ends) for numbers in (first, second))
    assert (one.low, one.width, len(one.counts)) == (two.low, two.width, len(two.counts))
    assert sum(one.counts) == len(first) - first.count(0)


def test_bars_are_links_with_names():
    histogram = histogram_of([-3.0, 4.0, 4.5])
    svg = draw_histogram('a "<b>', (0, 1), histogram, 2)
    assert '"<b>' not in svg
    bars = re.findall(r'<a class="system-(\d)" href="([^"]+)" aria-label="([^"]+)"', svg)
    assert bars == [
        ("0", "#translations?difference=0:1:-3:-2", "1 sentence: −3 to −2"),
        ("1", "#translations?difference=0:1:4:5", "2 sentences: +4 to +5"),
    ]
