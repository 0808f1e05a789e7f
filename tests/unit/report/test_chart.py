"""SVG charts draw points at the right coordinates."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.report.chart import Axes, Series, draw_chart, draw_legend_key, round_ticks

AXES = Axes("A & B: <by length>", "Length", "BLEU, %")


def svg_of(series, axes=AXES):
    return ElementTree.fromstring(draw_chart(axes, series))


def lines_of(svg):
    return [
        [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        for line in svg.iter("polyline")
    ]


def test_points_are_at_their_values():
    series = [
        Series(0, "one", ((0.0, 10.0), (5.0, 20.0), (10.0, 30.0))),
        Series(1, "two", ((0.0, 30.0), (10.0, 10.0)), ((25.0, 35.0), None)),
    ]
    first, second = lines_of(svg_of(series))
    assert first[1][0] == pytest.approx((first[0][0] + first[2][0]) / 2, abs=0.1)
    assert first[1][1] == pytest.approx((first[0][1] + first[2][1]) / 2, abs=0.1)
    assert first[0][1] > first[2][1]  # down is less
    assert second == [(first[0][0], first[2][1]), (first[2][0], first[0][1])]


def test_error_bars_span_their_intervals():
    svg = svg_of([Series(0, "a", ((1.0, 5.0), (2.0, 6.0)), ((4.0, 7.0), None))])
    (bar,) = (line for line in svg.iter("line") if line.attrib["class"] == "bar")
    assert float(bar.attrib["y1"]) > float(bar.attrib["y2"])
    assert bar.attrib["x1"] == bar.attrib["x2"]


def test_a_chart_has_a_title_and_escapes_its_text():
    svg = svg_of([Series(2, "a <b>", ((1.0, 5.0), (2.0, 6.0)))])
    assert svg.attrib["role"] == "group" and svg.attrib["aria-label"] == AXES.title
    titles = [title.text for title in svg.iter("title")]
    assert titles == ["a <b>: 5.00", "a <b>: 6.00"]
    texts = {text.text for text in svg.iter("text")}
    assert {AXES.x, AXES.y} <= texts


def test_curves_of_one_point_are_no_chart():
    points = [Series(0, "a", ((1.0, 5.0),)), Series(1, "b", ((2.0, 6.0), (2.0, 7.0)))]
    assert draw_chart(AXES, points) == ""
    assert draw_chart(AXES, [*points, Series(2, "c", ((1.0, 5.0), (2.0, 6.0)))])


def test_non_finite_points_are_left_out():
    series = [Series(0, "a", ((1.0, math.nan), (2.0, 5.0), (3.0, 7.0)))]
    assert len(lines_of(svg_of(series))[0]) == 2
    assert draw_chart(AXES, [Series(0, "a", ((1.0, math.nan),))]) == "" == draw_chart(AXES, [])


def test_a_logarithmic_axis_spaces_doublings_equally():
    axes = Axes("t", "x", "y", logarithmic=True)
    (line,) = lines_of(svg_of([Series(0, "a", ((100, 1), (200, 2), (400, 3)))], axes))
    xs = [x for x, _ in line]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)


def test_counts_have_integer_ticks():
    assert round_ticks(0, 2) == [0, 0.5, 1, 1.5, 2] and round_ticks(0, 2, min_step=1) == [0, 1, 2]
    assert round_ticks(0, 0, min_step=1) == [0, 1]


@pytest.mark.parametrize("value", [-1e30, -1e17, 0, 1e17, 1e30])
def test_ticks_enclose_one_huge_number(value):
    ticks = round_ticks(value, value)
    assert 2 <= len(ticks) <= 20 and ticks[0] <= value <= ticks[-1]


def test_systems_differ_without_colour():
    shapes = [re.sub(r' class="key system-\d"', "", draw_legend_key(n)) for n in range(4)]
    assert len(set(shapes)) == 4


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_ticks_are_round_and_enclose_the_data(low, width):
    ticks = round_ticks(low, low + width)
    steps = {round(b - a, 6) for a, b in zip(ticks, ticks[1:], strict=False)}
    assert len(ticks) >= 2
    slack = 1e-6 * (abs(low) + width + 1)
    assert ticks[0] <= low + slack and ticks[-1] >= low + width - slack
    step = ticks[1] - ticks[0]
    if width > 1e-3 * (abs(low) + 1):
        assert len(steps) == 1 and len(ticks) <= 9
        assert round(step / 10 ** math.floor(math.log10(step) + 1e-9), 6) in (1, 2, 5)
