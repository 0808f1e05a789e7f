"""A system has one colour in figures and on the page, with enough contrast."""

import re
from importlib import resources

from nmtkit.report.chart import SYSTEM_COLOURS
from nmtkit.report.styles import COLOURS


def test_figures_and_the_page_have_the_same_colours():
    css = resources.files("nmtkit.report").joinpath("page.css").read_text(encoding="utf-8")
    light = css[: css.index("@media")]
    page = [re.search(rf"--system-{n}: (#\w+);", light) for n in range(SYSTEM_COLOURS)]
    assert tuple(match[1] for match in page if match) == COLOURS


def test_colours_are_visible_on_paper():
    for colour in COLOURS:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        light = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (red, green, blue)
        ]
        luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
        assert 1.05 / (luminance + 0.05) >= 3
