"""Figures of grConv's pyramid: positions and darkness."""

import pytest

from nmtkit.errors import OutputError
from nmtkit.report.composition import draw_composition, plot_composition

WORDS = ["élan", "$b$", "</s>"]
LEVELS = [[[0.8, 0.15, 0.05], [0.05, 0.05, 0.9]], [[0.2, 0.2, 0.6]]]


def lines_and_discs(figure):
    """Return lines as ((x, y) from, (x, y) to, darkness), and discs as ((x, y), darkness)."""
    lines, discs = {}, {}
    for line in figure.axes[0].lines:
        points = list(zip(*line.get_data(), strict=True))
        if len(points) == 2:
            lines[points[1], points[0]] = 1 - float(line.get_color())
        else:
            discs[points[0]] = 1 - float(line.get_color())
    return lines, discs


def test_edges_above_a_tenth_are_drawn_darker_for_larger_weights():
    pytest.importorskip("matplotlib")
    lines, discs = lines_and_discs(draw_composition(WORDS, LEVELS))
    assert set(lines) == {
        ((0.5, 1), (0, 0)),  # 0.15
        ((1.5, 1), (2, 0)),  # 0.9
        ((1.0, 2), (0.5, 1)),  # 0.2
        ((1.0, 2), (1.5, 1)),  # 0.6
    }
    assert set(discs) == {(0.5, 1), (1.0, 2)}
    assert lines[(1.5, 1), (2, 0)] > lines[(1.0, 2), (1.5, 1)] > lines[(1.0, 2), (0.5, 1)]
    assert discs[0.5, 1] > discs[1.0, 2]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_reproducible_and_not_overwritten(tmp_path, kind):
    pytest.importorskip("matplotlib")
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for path in paths:
        plot_composition(path, WORDS, LEVELS)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        plot_composition(paths[0], WORDS, LEVELS)
    plot_composition(paths[0], WORDS, [], force=True)


def test_a_single_word_and_a_long_sentence_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    plot_composition(tmp_path / "one.png", ["</s>"], [])
    nodes = [[[0.0, 0.05, 0.05]] * (79 - level) for level in range(79)]
    figure = draw_composition(["word"] * 80, nodes)
    assert figure.get_figwidth() <= 20
