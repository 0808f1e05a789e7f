"""Figures by bucket: their content, read back from the figure."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtkit.errors import OutputError
from nmtkit.evaluation.buckets import Bucket, Bucketing
from nmtkit.evaluation.comparison import BucketResult, Comparison, Figure, SubsetResult
from nmtkit.evaluation.metrics import MetricScore
from nmtkit.evaluation.significance import Interval
from nmtkit.report.bucket_figures import bucket_curves, draw_buckets, plot_buckets
from nmtkit.report.styles import COLOURS, LINE_STYLES, MARKERS

pytest.importorskip("matplotlib")

BLEU = "BLEU (multi-bleu)"
SYSTEMS = ["Moses", "RNN_$x$"]


def comparison(
    by: str = "length",
    sides: Sequence[str] = ("source",),
    sizes: Sequence[int] = (20, 30, 10),
    systems: Sequence[str] = SYSTEMS,
    intervals: bool = False,
) -> Comparison:
    """Return a comparison with figure 10 s + x for system s at x = 5, 15, 25, plus 1 per side."""
    levels = []
    for number, side in enumerate(sides):
        for size, x in zip(sizes, (5.0, 15.0, 25.0), strict=True):
            values = [x + 10 * s + number for s in range(len(systems))]
            figures = {
                name: Figure(v, Interval(v, v - 2, v + 3) if intervals else None)
                for name, v in zip(systems, values, strict=True)
            }
            bucket = Bucket(x - 5, x + 5, x, np.arange(size))
            result = SubsetResult(size, {BLEU: figures} if size else {}, ())
            levels.append(BucketResult(Bucketing(by, side), bucket, result))
    measures = {name: (MetricScore(BLEU, 1.0, ""),) for name in systems}
    return Comparison(90, measures, levels[0].result, tuple(levels))


def picture(compared: Comparison, measure: str) -> Any:
    return draw_buckets(compared, measure)


def drawn_curves(figure):
    return {line.get_label(): line.get_xydata().tolist() for line in figure.axes[0].get_lines()}


def test_each_system_is_a_curve_through_its_figures() -> None:
    assert drawn_curves(picture(comparison(), BLEU)) == {
        "Moses": [[5, 5], [15, 15], [25, 25]],
        "RNN_$x$": [[5, 15], [15, 25], [25, 35]],
    }


def test_each_side_is_a_curve_with_the_papers_line_style() -> None:
    figure = picture(comparison(sides=["source", "reference", "both"]), BLEU)
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines[:3]] == [
        f"Moses, {side}" for side in ("source", "reference", "both")
    ]
    assert [line.get_linestyle() for line in lines] == ["-", ":", "--"] * 2
    assert len({line.get_marker() for line in lines[:3]}) == 1
    assert lines[0].get_marker() != lines[3].get_marker()
    assert lines[2].get_xydata().tolist() == [[5, 7], [15, 17], [25, 27]]


def test_sides_have_a_separate_legend() -> None:
    figure = picture(comparison(sides=["source", "reference", "both"]), BLEU)
    figure.canvas.draw()
    (axes,) = figure.axes
    from matplotlib.legend import Legend

    sides, systems = (child for child in axes.get_children() if isinstance(child, Legend))
    assert [text.get_text() for text in systems.get_texts()] == SYSTEMS
    assert [text.get_text() for text in sides.get_texts()] == [
        "by source",
        "by reference",
        "by both",
    ]
    styles = [line.get_linestyle() for line in sides.get_lines()]
    assert styles == ["-", ":", "--"] == [line.get_linestyle() for line in axes.get_lines()[:3]]
    assert systems.get_window_extent().y0 >= sides.get_window_extent().y1 - 6
    assert max(part.get_window_extent().x1 for part in (sides, systems)) < figure.bbox.x1


def test_the_legend_of_the_sides_of_a_single_system_is_not_cut_off(tmp_path: Path) -> None:
    """A legend that is also an artist of the axes does not count when the file is cropped."""
    from matplotlib.image import imread

    three = ["source", "reference", "both"]
    heights = []
    for number, sides in enumerate((three[:1], three)):
        compared = comparison(sides=sides, systems=["Moses"])
        plot_buckets(tmp_path / f"{number}.png", compared, BLEU)
        heights.append(imread(tmp_path / f"{number}.png").shape[0])
    legend = picture(compared, BLEU).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [f"by {side}" for side in three]
    assert heights[1] > heights[0] + 20  # pixels


def test_systems_differ_in_colour_line_style_and_marker() -> None:
    names = [f"s{i}" for i in range(5)]
    lines = picture(comparison(systems=names), BLEU).axes[0].get_lines()
    for look in ("get_color", "get_linestyle", "get_marker"):
        looks = [str(getattr(line, look)()) for line in lines]
        assert len(set(looks)) == 5 or look == "get_linestyle" and len(set(looks)) == 4
    assert len({str(line._dash_pattern) for line in lines}) == 5
    shown = [(i % len(COLOURS), i % len(LINE_STYLES), i % len(MARKERS)) for i in range(20)]
    assert len(set(shown)) == 20


def test_axes_are_labelled() -> None:
    labels = {
        "length": "Sentence length (words), source",
        "unknown": "Max. number of unknown words, source",
        "rank": "Mean word-frequency rank, source",
    }
    for by, label in labels.items():
        (axes,) = picture(comparison(by), BLEU).axes
        assert (axes.get_xlabel(), axes.get_ylabel()) == (label, f"{BLEU}, %")
    (axes,) = picture(comparison(sides=["source", "both"]), BLEU).axes
    assert axes.get_xlabel() == "Sentence length (words)"


def test_the_legend_shows_names_literally_and_hides_no_curve() -> None:
    figure = picture(comparison(), BLEU)
    figure.canvas.draw()
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == SYSTEMS
    assert not any(text.get_parse_math() for text in legend.get_texts())
    assert legend.get_window_extent().y0 >= axes.bbox.y1 - 1
    assert picture(comparison(systems=["one"]), BLEU).axes[0].get_legend() is None


@pytest.mark.parametrize("length", [1, 10, 100])
def test_the_legend_is_not_wider_than_the_figure(length: int) -> None:
    names = [letter * length for letter in "abcdef"]
    figure = picture(comparison(systems=names), BLEU)
    figure.canvas.draw()
    assert figure.axes[0].get_legend().get_window_extent().x1 < figure.bbox.x1


def test_intervals_are_drawn_as_error_bars() -> None:
    (axes,) = picture(comparison(intervals=True), BLEU).axes
    bars = [path.vertices.tolist() for c in axes.collections for path in c.get_paths()]
    assert [[5, 3], [5, 8]] in bars and [[25, 33], [25, 38]] in bars and len(bars) == 6
    assert not picture(comparison(), BLEU).axes[0].collections


def test_small_buckets_are_left_out_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    few = comparison(sizes=[20, 9, 0])
    assert [curve.xs for curve in bucket_curves(few, BLEU)] == [(5.0,), (5.0,)]
    with caplog.at_level(logging.WARNING, logger="nmtkit"):
        plot_buckets(tmp_path / "a.png", few, BLEU)
    assert [r.message for r in caplog.records] == [
        "not drawn: 1 bucket with fewer than 10 sentences"
    ]


@pytest.mark.parametrize(
    ("name", "begins"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_the_suffix_selects_the_format_and_files_are_reproducible(
    tmp_path: Path, name: str, begins: bytes
) -> None:
    plot_buckets(tmp_path / name, comparison(), BLEU)
    first = (tmp_path / name).read_bytes()
    plot_buckets(tmp_path / name, comparison(), BLEU, force=True)
    assert first.startswith(begins) and first == (tmp_path / name).read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        plot_buckets(tmp_path / name, comparison(), BLEU)


def test_nothing_to_draw_gives_empty_axes(tmp_path: Path) -> None:
    plot_buckets(tmp_path / "a.svg", comparison(sizes=[0, 1, 2]), BLEU)
    assert (tmp_path / "a.svg").stat().st_size > 0
