"""Errors on a report's page: counts, and differences of single sentences."""

import dataclasses
import re

from nmtkit.report.page_errors import difference_histograms
from tests.unit.report.reports import line, output, report

SCORES = {"a": [50.0, 60.0, 70.0], "b": [50.0, 60.0, 70.0], "c": [50.0, 60.0, 75.0]}


def test_equal_systems_have_no_histogram_of_differences():
    """Without a difference nothing would be drawn."""
    systems = {name: [output("un", line("one"))] * 3 for name in SCORES}
    made = dataclasses.replace(report(["one"] * 3, ["un"] * 3, systems), sentence_scores=SCORES)
    parts = "".join(difference_histograms(made))
    assert re.findall(r'data-pair="(\d:\d)"', parts) == ["0:2", "1:2"]
    assert re.findall(r"(\d) sentences", parts) == ["3", "2", "2"]
