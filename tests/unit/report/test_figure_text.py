"""Titles and descriptions of figures: what screen readers read aloud from SVG."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from nmtkit.report.alignment import plot_alignment
from nmtkit.report.figure_text import describe_line, describe_lines, label_svg

SVG = "{http://www.w3.org/2000/svg}"
DOCS = Path(__file__).parents[3] / "docs"


def test_a_line_is_described_by_its_ends_and_limits() -> None:
    text = describe_line("RNN", [1.0, 2.0, 3.5], [10.0, 30.25, 20.0])
    assert text == "RNN: from 10 at 1 to 20 at 3.5; lowest 10, highest 30.25."
    assert describe_line("RNN", [2.0], [0.5]) == "RNN: 0.5 at 2."
    assert describe_line("RNN", [], []) == ""


def test_a_title_and_a_description_stand_first_and_are_escaped() -> None:
    content = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'
    root = ElementTree.fromstring(label_svg(content, "a & <b>\x07\uffff", "c > \\1"))
    assert [(child.tag, child.text) for child in root] == [
        (f"{SVG}title", "a & <b>\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"),
        (f"{SVG}desc", "c > \\1"),
        (f"{SVG}g", None),
    ]
    without = ElementTree.fromstring(label_svg(content, "a", ""))
    assert [child.tag for child in without] == [f"{SVG}title", f"{SVG}g"]


def test_only_lines_with_a_name_are_described() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([0, 1], [2, 3], label="named")
    axes.plot([0, 1], [7, 8])
    axes.set_xlabel("pairs")
    axes.set_ylabel("seconds\n(wall)")
    assert describe_lines(figure) == (
        "seconds (wall) against pairs. named: from 2 at 0 to 3 at 1; lowest 2, highest 3."
    )
    assert describe_lines(Figure()) == ""


def test_an_alignment_is_described_by_its_strongest_links(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    weights = np.array([[0.25, 0.75], [0.9, 0.1]])
    plot_alignment(tmp_path / "a.svg", ["pink", "sweater"], ["pull", "rose"], weights)
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    title, description = (root.find(f"{SVG}{tag}") for tag in ("title", "desc"))
    assert title is not None and "pull rose" in str(title.text)
    assert description is not None
    assert "pull from sweater, 0.75; rose from pink, 0.90" in str(description.text)
    assert {"pink", "sweater", "pull", "rose"} <= {t.text for t in root.iter(f"{SVG}text")}


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.svg")), ids=lambda path: path.stem)
def test_figures_in_the_documents_are_text_with_a_description(path: Path) -> None:
    root = ElementTree.parse(path).getroot()
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert any("".join(text.itertext()).strip() for text in root.iter(f"{SVG}text"))
    assert b"DejaVuSans-" not in path.read_bytes()  # outlines of letters
