"""Panels of a figure."""

from plotting import Panel, figure_of
from timing import Spread


def test_a_system_has_the_same_style_in_all_panels() -> None:
    points = [(2.0, Spread.of([1.0])), (40.0, Spread.of([2.0]))]
    panels = [
        Panel("first", "x", "y", {"a": points, "b": points}, logarithmic="x"),
        Panel("second", "x", "y", {"b": points}, logarithmic="x", ticks=[5]),
    ]
    figure = figure_of(panels)
    colours = [{line.get_label(): line.get_color() for line in a.lines} for a in figure.axes]
    assert colours[0]["b"] == colours[1]["b"] != colours[0]["a"]
    assert [list(axes.get_xticks()) for axes in figure.axes] == [[2, 40], [2, 5, 40]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == ["a", "b"]
