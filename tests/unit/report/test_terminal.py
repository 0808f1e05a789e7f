"""Alignments in the terminal: content and layout."""

import unicodedata

import numpy as np
import pytest

from nmtkit.report.terminal import render_alignment

ENGLISH = ["the", "blue", "house", "</s>"]
FRENCH = ["la", "maison", "bleue", "</s>"]
WEIGHTS = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 0.25, 0.75, 0.0],
    [0.0, 0.9, 0.1, 0.0],
    [0.0, 0.0, 0.5, 0.5],
]


def cells(text: str) -> int:
    """Return the width in a terminal: wide characters take two cells, combining ones none."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in text)
    none = sum(unicodedata.combining(c) > 0 for c in text)
    return len(text) + wide - none


def matrix_rows(drawing: str) -> list[str]:
    return [line.split("│")[1] for line in drawing.split("\n") if "│" in line]


def test_a_complete_matrix() -> None:
    assert render_alignment(ENGLISH, FRENCH, WEIGHTS).split("\n") == [
        "           h",
        "         b o <",
        "       t l u /",
        "       h u s s",
        "       e e e >",
        "      ┌────────┐",
        "    la│██      │",
        "maison│  ░░▓▓  │",
        " bleue│  ██    │",
        "  </s>│    ▒▒▒▒│",
        "      └────────┘",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["été", "e\u0301te\u0301", "l'", "accord"],
        ["東京", "に", "ｗｉｄｅ", "x"],
        ["soft\u00adhyphen", "\u200fright", "a\u0308\u0323", "\u0301"],
        ["\x1b[31mred", "a\rb", "a\u2028b", "\ud800"],
        ["W" * 2000, "", "x", "y"],
    ],
)
def test_borders_stay_aligned_for_any_words(words: list[str]) -> None:
    for src, tgt in ((words, FRENCH), (ENGLISH, words)):
        drawing = render_alignment(src, tgt, WEIGHTS)
        lines = drawing.split("\n")
        framed = [line for line in lines if line.endswith(("┐", "│", "┘"))]
        assert len(framed) == len(tgt) + 2
        assert len({cells(line) for line in framed}) == 1
        assert matrix_rows(drawing) == matrix_rows(render_alignment(ENGLISH, FRENCH, WEIGHTS))
        assert not set("\x1b\r\u2028\u200f\ud800") & set(drawing)
        assert cells(lines[-1]) < 60


def test_header_columns_are_above_their_weights() -> None:
    words = ["aé", "e\u0301", "東京", "z"]
    lines = render_alignment(words, FRENCH, WEIGHTS).split("\n")
    last = lines[next(i for i, line in enumerate(lines) if "┌" in line) - 1]
    left = lines[-1].index("└") + 1
    assert cells(last[: last.index("é")]) == left
    assert cells(last[: last.index("e\u0301")]) == left + 2
    assert cells(last[: last.index("京")]) == left + 4
    assert cells(last[: last.index("z")]) == left + 6


def test_shades_darken_with_the_weight() -> None:
    weights = np.linspace(0, 1, 101)
    shades = matrix_rows(render_alignment(["x"] * 101, ["y"], weights[None]))[0][::2]
    assert list(shades) == sorted(shades, key=" ░▒▓█".index)
    assert set(shades) == set(" ░▒▓█")


def test_weights_are_clamped_to_0_and_1() -> None:
    assert matrix_rows(render_alignment(["a", "b"], ["c"], [[-0.1, 1.0000001]])) == ["  ██"]


def test_a_wide_matrix_is_split() -> None:
    rng = np.random.default_rng(0)
    src, tgt = [f"s{i}" for i in range(50)], ["un", "deux", "trois"]
    weights = rng.random((3, 50))
    unsplit, cut = (
        render_alignment(src, tgt, weights),
        render_alignment(src, tgt, weights, width=40),
    )
    blocks = cut.split("\n\n")
    assert max(cells(line) for line in cut.split("\n")) <= 40
    assert max(cells(line) for line in unsplit.split("\n")) > 100
    joined = ["".join(rows) for rows in zip(*map(matrix_rows, blocks), strict=True)]
    assert joined == matrix_rows(unsplit)


def test_a_terminal_too_narrow_still_gets_every_column() -> None:
    drawing = render_alignment(ENGLISH, FRENCH, WEIGHTS, width=1)
    assert len(drawing.split("\n\n")) == 4


@pytest.mark.parametrize("width", [12, 20, 33])
def test_long_words_leave_room_for_columns_on_a_narrow_terminal(width: int) -> None:
    tgt = ["x" * 40, "東京" * 12, "e\u0301" * 23, "a"]
    for block in render_alignment(ENGLISH, tgt, WEIGHTS, width=width).split("\n\n"):
        assert max(cells(line) for line in block.split("\n")) <= width
        assert block.count("│") == 2 * len(tgt)
    labels = [
        line.split("│")[0] for line in render_alignment(ENGLISH, tgt, WEIGHTS).split("\n")[-5:]
    ]
    assert labels[0] == "x" * 23 + "…"
    assert labels[1].strip() == "東京" * 5 + "東…" and cells(labels[1]) == 24
    assert labels[2].strip() == "e\u0301" * 23


@pytest.mark.parametrize(("src", "tgt"), [([], FRENCH), (ENGLISH, []), ([], [])])
def test_without_words_the_result_is_empty(src: list[str], tgt: list[str]) -> None:
    assert render_alignment(src, tgt, np.zeros((len(tgt), len(src)))) == ""


def test_a_matrix_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="3 target and 4 source"):
        render_alignment(ENGLISH, FRENCH[:3], WEIGHTS)
