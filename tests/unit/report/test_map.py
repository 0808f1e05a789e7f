"""Maps: positions, readable labels and enlarged regions."""

import itertools
from typing import Any

import numpy as np
import pytest

from nmtkit.errors import ConfigError, DataError, OutputError
from nmtkit.report.label_placement import MAX_SPARSE_TEXTS, _crosses
from nmtkit.report.map import Map, check_map, draw_map, make_map, plot_map

pytest.importorskip("matplotlib")

RANDOM = np.random.default_rng(5)
MANY = Map([f"word{n}" for n in range(600)], RANDOM.standard_normal((600, 2)) * [3.0, 1.0])
CROWD = Map([f"sentence {n}" for n in range(12)], RANDOM.standard_normal((12, 2)) * 1e-3)


def dots(axes):
    return np.asarray(axes.lines[0].get_xydata())


def written(axes):
    """Return labels and letters with the points that they belong to."""
    return [(text.get_text(), text.xy) for text in axes.texts if hasattr(text, "xy")]


def boxes(figure, axes):
    """Return the boxes of the texts, without their leader lines."""
    from matplotlib.text import Text

    figure.canvas.draw()  # finds the places of annotations
    renderer = figure.canvas.get_renderer()
    return [Text.get_window_extent(text, renderer) for text in axes.texts]


def frames(axes):
    return [
        (x, x + patch.get_width(), y, y + patch.get_height())
        for patch in axes.patches
        for x, y in [patch.get_xy()]
    ]


def test_each_text_is_a_dot_at_its_position():
    figure = draw_map(MANY)
    np.testing.assert_array_equal(dots(figure.axes[0]), MANY.positions)
    positions = dict(zip(MANY.texts, MANY.positions.tolist(), strict=True))
    labels = written(figure.axes[0])
    assert 20 < len(labels) < 300
    assert all(list(position) == positions[text] for text, position in labels)
    assert labels[0][0] == "word0"  # the first has its label whatever comes after


@pytest.mark.parametrize("text_map", [MANY, CROWD], ids=["many", "few"])
def test_no_label_covers_another_or_leaves_the_panel(text_map):
    figure = draw_map(text_map, [text_map.texts[3]])
    for axes in figure.axes:
        panel = axes.get_window_extent()
        label_boxes = boxes(figure, axes)
        for box in label_boxes:
            assert panel.x0 <= box.x0 and box.x1 <= panel.x1
            assert panel.y0 <= box.y0 and box.y1 <= panel.y1
        for first, second in itertools.combinations(label_boxes, 2):
            apart = first.x1 <= second.x0 or second.x1 <= first.x0
            assert apart or first.y1 <= second.y0 + 1 or second.y1 <= first.y0 + 1


def test_each_of_few_texts_has_a_label_that_covers_no_dot():
    figure = draw_map(CROWD)
    axes = figure.axes[0]
    assert len(CROWD.texts) <= MAX_SPARSE_TEXTS and {text for text, _ in written(axes)} == set(
        CROWD.texts
    )
    at = axes.transData.transform(CROWD.positions)
    for box in boxes(figure, axes):
        assert not any(box.contains(x, y) for x, y in at)


def test_one_text_and_coinciding_texts_are_drawn():
    assert written(draw_map(Map(["a"], np.zeros((1, 2)))).axes[0]) == [("a", (0, 0))]
    figure = draw_map(Map(["a", "b", "c"], np.ones((3, 2))), ["b"], nearest=2)
    assert {text for text, _ in written(figure.axes[0])} == {"a", "b", "c", "A"}


def test_a_region_shows_the_nearest_texts_and_is_framed_on_the_map():
    figure = draw_map(MANY, ["word7", "word100"], nearest=15)
    whole_map, *panels = figure.axes
    assert len(panels) == 2 and len(dots(whole_map)) == 600
    for axes, number, frame, letter in zip(panels, (7, 100), frames(whole_map), "AB", strict=True):
        limits = (*axes.get_xlim(), *axes.get_ylim())
        assert frame == pytest.approx(limits)
        positions = {tuple(position) for position in dots(axes).tolist()}
        scale = np.array([np.ptp(whole_map.get_xlim()), np.ptp(whole_map.get_ylim())])
        distances = np.linalg.norm((MANY.positions - MANY.positions[number]) / scale, axis=1)
        nearest = {
            tuple(position) for position in MANY.positions[np.argsort(distances)[:15]].tolist()
        }
        assert nearest <= positions and len(positions) < 60
        assert axes.texts[0].get_text() == letter
        assert dict(written(whole_map))[letter] == pytest.approx((frame[0], frame[3]))
        size = np.array([frame[1] - frame[0], frame[3] - frame[2]])
        np.testing.assert_allclose(size / size[0], scale / scale[0])
    edges = [patch.get_linestyle() for patch in whole_map.patches]
    assert len(set(edges)) == 2  # told apart without colour


def test_an_unknown_text_is_reported_with_the_closest_match():
    with pytest.raises(DataError, match="no text 'wrd7' to zoom in on; did you mean 'word7'"):
        draw_map(MANY, ["wrd7"])


def test_pca_labels_its_axes_and_tsne_does_not():
    vectors = np.array([[0.0, 0, 0], [2, 0, 0], [1, 1, 0], [1, -1, 0.0]])
    axes = draw_map(make_map("abcd", vectors, "pca")).axes[0]
    assert axes.get_xlabel() == "first principal component, 50% of the variance"
    assert axes.get_ylabel() == "second principal component, 50% of the variance"
    pytest.importorskip("sklearn")
    axes = draw_map(make_map("abcd", vectors, "tsne")).axes[0]
    assert axes.get_xlabel() == "" and not any(
        t.label1.get_visible() for t in axes.xaxis.majorTicks
    )


def test_a_map_without_axis_labels_has_equal_scales():
    axes = draw_map(Map(["a", "b"], np.array([[0.0, 0.0], [9.0, 1.0]]))).axes[0]
    assert np.ptp(axes.get_xlim()) == pytest.approx(np.ptp(axes.get_ylim()))


def test_positions_are_drawn_unchanged_and_longer_vectors_refused():
    text_map = make_map(["a"], np.array([[1.0, 2.0]]), "none")
    assert text_map.positions.tolist() == [[1, 2]] and text_map.axes == ("", "")
    with pytest.raises(
        DataError, match="vectors have 3 numbers, positions have 2; use --method pca"
    ):
        make_map(["a"], np.ones((1, 3)), "none")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_reproducible_and_not_overwritten(tmp_path, kind):
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for path in paths:
        plot_map(path, CROWD, ["sentence 3"], nearest=4)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        plot_map(paths[0], CROWD)


def test_entities_of_moses_are_shown_as_characters():
    text_map = Map(["l&apos;eau", "a &amp; b"], RANDOM.standard_normal((2, 2)))
    assert {text for text, _ in written(draw_map(text_map).axes[0])} == {"l'eau", "a & b"}


def test_no_line_runs_through_a_label():
    """Neither a line from a dot to its label nor the frame of a region."""
    from matplotlib.text import Text  # an annotation's extent would include its line

    texts = [f"text{n}" for n in range(60)]
    positions = np.random.default_rng(3).standard_normal((60, 2))
    figure = draw_map(Map(texts, positions), ["text1"], nearest=8)
    figure.draw_without_rendering()  # places the labels
    axes = figure.axes[0]
    labels: list[Any] = [text for text in axes.texts if text.get_text() in texts]
    boxes = [np.array(Text.get_window_extent(label).extents) for label in labels]
    frame: Any = axes.patches[0]
    lines = [axes.transData.transform(edge) for edge in _edges(frame.get_bbox().extents)]
    for label, box in zip(labels, boxes, strict=True):
        leader = (
            []
            if label.arrow_patch is None
            else [np.array([axes.transData.transform(label.xy), box.reshape(2, 2).mean(0)])]
        )
        for other, its_box in zip(labels, boxes, strict=True):
            assert not any(_crosses(line, its_box) for line in leader if other is not label)
        assert not any(_crosses(line, box) for line in lines)


def _edges(extents):
    left, bottom, right, top = extents
    corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    return [np.array(ends) for ends in zip(corners, [*corners[1:], corners[0]], strict=True)]


def test_words_are_shown_literally(tmp_path):
    words = ["$x$", "a_b", "<b>&nbsp;", "x" * 60, "a\x07b"]
    text_map = Map(words, RANDOM.standard_normal((5, 2)))
    labels = [text for text, _ in written(draw_map(text_map).axes[0])]
    assert sorted(labels) == sorted([*words[:3], "x" * 39 + "…", "a\ufffdb"])
    plot_map(tmp_path / "a.svg", text_map)


def test_more_regions_than_letters_are_refused():
    with pytest.raises(ConfigError, match="12 regions; draw at most 11"):
        check_map(None, None, 12, force=False)
