"""Figures of alignments: their content, read back from the figure, and the files."""

import hashlib
import logging
import os
import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtkit.errors import NmtkitError, OutputError
from nmtkit.extras import install_command
from nmtkit.report.alignment import draw_alignment, plot_alignment

pytest.importorskip("matplotlib")

ENGLISH = ["the", "blue", "house", "</s>"]
FRENCH = ["la", "maison", "bleue", "d'", "été", "</s>"]
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
KINDS = [".png", ".svg", ".pdf"]


def x_words(figure):
    return [label.get_text() for label in figure.axes[0].get_xticklabels()]


def pixels_of(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


def y_words(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_source_words_label_x_and_target_words_label_y() -> None:
    figure = draw_alignment(ENGLISH, FRENCH, WEIGHTS)
    assert x_words(figure) == ENGLISH
    assert y_words(figure) == FRENCH


def test_weights_are_grey_from_black_0_to_white_1() -> None:
    axes = draw_alignment(ENGLISH, FRENCH, WEIGHTS).axes[0]
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), WEIGHTS)
    assert image.get_clim() == (0, 1)
    assert image.to_rgba(np.array([0.0, 1.0])).tolist() == [[0, 0, 0, 1], [1, 1, 1, 1]]
    half = image.to_rgba(np.array([0.5]))[0, :3]
    assert len(set(half)) == 1 and half[0] == pytest.approx(0.5, abs=0.01)


def test_each_cell_is_below_its_source_word_and_beside_its_target_word() -> None:
    """Compare the pixels of the only white cell with the positions of the labels' ticks."""
    weights = np.zeros((6, 4))
    weights[1, 2] = 1
    figure = draw_alignment(ENGLISH, FRENCH, weights)
    pixels = pixels_of(figure)[:, :, 0]
    axes = figure.axes[0]
    height = pixels.shape[0]

    def shade(row: int, column: int) -> int:
        x, y = axes.transData.transform((axes.get_xticks()[column], axes.get_yticks()[row]))
        return int(pixels[height - 1 - int(y), int(x)])

    assert [[shade(r, c) for c in range(4)] for r in range(6)] == (weights * 255).tolist()
    first, last = axes.transData.transform([(0, 0), (3, 5)])
    assert first[0] < last[0] and first[1] > last[1]  # left to right, top to bottom


def test_source_words_are_vertical_above_the_matrix() -> None:
    figure = draw_alignment(ENGLISH, FRENCH, WEIGHTS)
    figure.canvas.draw()
    axes = figure.axes[0]
    for label in axes.get_xticklabels():
        assert label.get_rotation() == 90
        assert label.get_window_extent().y0 > axes.bbox.y1
    for label in axes.get_yticklabels():
        assert label.get_window_extent().x1 < axes.bbox.x0


@pytest.mark.parametrize("longest", [3, 60, 250, 700])
def test_words_do_not_overlap(longest: int) -> None:
    words = [f"été{i}" for i in range(longest)]
    figure = draw_alignment(words, words[:3], np.zeros((3, longest)))
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert len(boxes) == longest or longest > 250
    assert all(left.x1 <= right.x0 + 1 for left, right in zip(boxes, boxes[1:], strict=False))


def test_omitting_words_of_a_long_sentence_moves_no_other_label() -> None:
    words = [str(i) for i in range(1000)]
    figure = draw_alignment(words, ["a"], np.zeros((1, 1000)))
    labels = x_words(figure)
    assert 50 < len(labels) < 1000
    assert [int(word) for word in labels] == figure.axes[0].get_xticks().tolist()


def test_figure_grows_with_the_sentence_up_to_a_limit() -> None:
    def width(words: int) -> float:
        figure = draw_alignment(["x"] * words, ["y"], np.zeros((1, words)))
        return float(figure.get_size_inches()[0])

    assert width(20) == pytest.approx(2 * width(10))
    assert width(500) == width(2000) == pytest.approx(20)


@pytest.mark.parametrize("word", ["$x$", "a_b", "\\frac{1}{2}$", "$\\undefined$", "50%", "&amp;"])
@pytest.mark.parametrize("kind", KINDS)
def test_words_are_shown_literally(word: str, kind: str, tmp_path: Path) -> None:
    figure = draw_alignment([word], [word], [[1.0]])
    assert x_words(figure) == y_words(figure) == [word]
    label = figure.axes[0].get_xticklabels()[0]
    assert not label.get_parse_math() and not label.get_usetex()
    plot_alignment(tmp_path / f"a{kind}", [word], [word], [[1.0]])  # nothing reads it as TeX


def test_a_very_long_word_is_truncated() -> None:
    (word,) = x_words(draw_alignment(["x" * 2000], ["y"], [[1.0]]))
    assert word == "x" * 39 + "…"


def test_matplotlibrc_is_neither_used_nor_changed() -> None:
    import matplotlib

    changed: Any = {"text.usetex": True, "axes.grid": True, "image.origin": "lower"}
    changed |= {"figure.facecolor": "black", "xtick.color": "red"}
    expected = pixels_of(draw_alignment(ENGLISH, FRENCH, WEIGHTS))
    with matplotlib.rc_context(changed):
        before = dict(matplotlib.rcParams)
        figure = draw_alignment(ENGLISH, FRENCH, WEIGHTS)
        np.testing.assert_array_equal(pixels_of(figure), expected)
        assert dict(matplotlib.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not _pyplot_knows_figures()


def _pyplot_knows_figures() -> bool:
    return bool(sys.modules["matplotlib.pyplot"].get_fignums())


def test_a_matrix_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="6 target and 4 source"):
        draw_alignment(ENGLISH, FRENCH, WEIGHTS.T)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("src", "tgt"), [([], []), (["a"], []), ([], ["b"])])
def test_empty_sentences_give_a_figure(
    src: list[str], tgt: list[str], kind: str, tmp_path: Path
) -> None:
    plot_alignment(tmp_path / f"a{kind}", src, tgt, np.zeros((len(tgt), len(src))))
    assert (tmp_path / f"a{kind}").stat().st_size > 0


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("b.PNG", b"\x89PNG")],
)
def test_the_suffix_selects_the_format(name: str, begins: bytes, tmp_path: Path) -> None:
    plot_alignment(tmp_path / name, ENGLISH, FRENCH, WEIGHTS)
    assert (tmp_path / name).read_bytes().startswith(begins)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_svg_stays_well_formed_whatever_the_words(tmp_path: Path) -> None:
    words = ["<script>", "a--b", "]]>", "&", "a\x01\x0c\r\x85b", "\u2028"]
    plot_alignment(tmp_path / "a.svg", words, words, np.eye(6))
    root = ET.parse(tmp_path / "a.svg").getroot()
    assert not root.findall(".//{*}script")


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """The other process has another hash seed and another time."""
    code = (
        "import sys, numpy as np; from nmtkit.report.alignment import plot_alignment\n"
        "for path in sys.argv[1:]:\n"
        f"    plot_alignment(path, {ENGLISH!r}, {FRENCH!r}, np.eye(6, 4))"
    )
    paths = [tmp_path / f"other{kind}" for kind in KINDS]
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, *map(str, paths)], env=env, check=True)
    for path in paths:
        own_path = path.with_stem("here")
        plot_alignment(own_path, ENGLISH, FRENCH, np.eye(6, 4))
        assert _sha256(path) == _sha256(own_path)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_characters_missing_from_all_fonts_are_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, logger="nmtkit"):
        warnings.simplefilter("error")
        plot_alignment(
            tmp_path / "a.png", ["\U0003fff0x\U0003fff1", "été"], ["\U0003fff0"], [[1.0, 0.0]]
        )
    assert [r.message for r in caplog.records] == [
        r"no installed font has '\U0003fff0' '\U0003fff1'"
    ]


def test_accents_are_in_the_font(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = ["àâäçéèêëîïôöùûüÿœæÀÉÎŒ«»’", "ßøåłżğş", "привет", "καλημέρα"]
    plot_alignment(tmp_path / "a.png", words, ["a"], [[1.0] * 4])
    assert not caplog.records


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a.jpg: unknown figure format; use .png, .svg or .pdf"):
        plot_alignment(tmp_path / "a.jpg", ENGLISH, FRENCH, WEIGHTS)


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"mine")
    with pytest.raises(OutputError, match="a.png: exists already; use --force"):
        plot_alignment(path, ENGLISH, FRENCH, WEIGHTS)
    assert path.read_bytes() == b"mine"
    plot_alignment(path, ENGLISH, FRENCH, WEIGHTS, force=True)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="a.png: cannot be written: No space left"):
        plot_alignment(tmp_path / "a.png", ENGLISH, FRENCH, WEIGHTS)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="a.png: its folder does not exist"):
        plot_alignment(tmp_path / "none" / "a.png", ENGLISH, FRENCH, WEIGHTS)


def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(NmtkitError, match=re.escape(install_command("plots"))):
        plot_alignment(tmp_path / "a.png", ENGLISH, FRENCH, WEIGHTS)
    assert not list(tmp_path.iterdir())
