"""The report on a phrase table: its figure and its files."""

import json

import numpy as np
import pytest

from nmtkit.errors import OutputError
from nmtkit.evaluation.phrase_comparison import ComparedPhrase, PhraseComparison, Sample, ScoredPair
from nmtkit.report.phrase_figures import (
    draw_scores,
    format_phrase_tables,
    phrase_report_json,
    plot_scores,
    write_phrase_report,
)

ABOUT = {"table": "t.gz", "model": "rnn", "samples": 50, "top": 2, "min_words": 4, "seed": 3}
XS, YS = [-12.5, -3.0, -40.0, -3.0], [0.0, -1.5, -6.25, -0.5]


def phrase(src="at the end of", count=754.0, samples=(), unfinished=0):
    pairs = [
        ScoredPair(src, "la fin", -2.0, -9.0),
        ScoredPair(src, "à la fin", -1.0, -8.0),
        ScoredPair(src, "l&apos; <fin> a|b *c* d_e $x", -7.0, -0.5),
    ]
    return ComparedPhrase(src, count, pairs, samples, unfinished)


SAMPLES = [Sample(f"s{n}", -1.0 - n, 7 - n, n == 1) for n in range(6)]


def comparison(frequent, rare=()):
    drawn = [ScoredPair("a", f"t{n}", y, x) for n, (x, y) in enumerate(zip(XS, YS, strict=True))]
    return PhraseComparison(834748, drawn, 12001, frequent, list(rare))


def test_a_dot_for_each_pair_and_the_line_of_equal_scores():
    pytest.importorskip("matplotlib")
    axes = draw_scores(XS, YS, 834748).axes[0]
    dots, line = axes.lines
    assert np.asarray(dots.get_xydata()).tolist() == [[x, y] for x, y in zip(XS, YS, strict=True)]
    assert dots.get_linestyle() == "None" and dots.get_marker() == "o"
    assert (dots.get_alpha() or 1) < 1
    assert np.asarray(line.get_xydata()).tolist() == [[-6.25, -6.25], [0, 0]]
    low, high = axes.get_xlim()
    assert low < -40 and high > 0
    low, high = axes.get_ylim()
    assert low < -6.25 and high > 0


def test_labels_name_what_is_drawn():
    pytest.importorskip("matplotlib")
    axes = draw_scores(XS, YS, 834748).axes[0]
    assert axes.get_xlabel() == "model: log p(target | source)"
    assert axes.get_ylabel() == "translation model: log p(target | source)"
    assert axes.get_title() == "4 of 834,748 phrase pairs"
    legend = axes.get_legend()
    assert legend is not None
    [text] = legend.get_texts()
    assert text.get_text() == axes.lines[1].get_label() == "equally likely"


def test_the_two_colours_differ_in_grey_print():
    """Compare their lightness in grey (weights of ITU-R BT.709)."""
    pytest.importorskip("matplotlib")
    from matplotlib.colors import to_rgb

    dots, line = draw_scores(XS, YS, 4).axes[0].lines
    grey = [
        sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), to_rgb(part.get_color()), strict=True))
        for part in (dots, line)
    ]
    assert abs(grey[0] - grey[1]) > 0.3


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_reproducible_and_not_overwritten(tmp_path, kind):
    pytest.importorskip("matplotlib")
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for path in paths:
        plot_scores(path, XS, YS, 9)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        plot_scores(paths[0], XS, YS, 9)
    plot_scores(paths[0], [-1.0], [0.0], 1, force=True)
    assert paths[0].read_bytes() != paths[1].read_bytes()


def rows(text, heading):
    """Return the cells of the table below a heading."""
    table = text.split(f"## {heading}\n\n")[1].split("\n\n")[0].splitlines()
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in table[2:]]


def test_table_2_has_the_best_targets_of_both():
    text = format_phrase_tables(comparison([phrase()], [phrase("b", 2.5)]), ABOUT)
    assert rows(text, "Long, frequent source phrases: the likeliest targets") == [
        ["at the end of", "754", "3", "à la fin", "-1.00",
         "l' &lt;fin> a\\|b \\*c\\* d\\_e \\$x", "-0.50"],
        ["", "", "", "la fin", "-2.00", "à la fin", "-8.00"],
    ]  # fmt: skip
    assert rows(text, "Long, rare source phrases: the likeliest targets")[0][:2] == ["b", "2.5"]
    assert text.startswith("# t.gz and rnn\n\n4 of 834,748 phrase pairs drawn")
    assert "12,001 source phrases have 4 or more words and 2 or more targets" in text
    assert "samples" not in text and text.endswith("|\n")


def test_table_3_has_the_five_likeliest_samples():
    text = format_phrase_tables(comparison([phrase(samples=SAMPLES, unfinished=3)]), ABOUT)
    sample_rows = rows(text, "Long, frequent source phrases: samples of the model")
    assert "| sample | times of 50 |" in text
    assert sample_rows[0] == ["at the end of", "s0", "7", "-1.00", "no"]
    assert sample_rows[1] == ["", "s1", "6", "-2.00", "yes"]
    assert [row[1] for row in sample_rows] == ["s0", "s1", "s2", "s3", "s4", "(unfinished)"]
    assert sample_rows[5] == ["", "(unfinished)", "3", "", ""]
    empty = phrase(samples=[Sample("", -0.5, 9, False)])
    text = format_phrase_tables(comparison([], [empty]), ABOUT)
    [row] = rows(text, "Long, rare source phrases: samples of the model")
    assert row == ["at the end of", "(empty)", "9", "-0.50", "no"]
    assert rows(text, "Long, frequent source phrases: samples of the model") == []


def test_each_row_has_as_many_cells_as_its_header():
    text = format_phrase_tables(comparison([phrase(samples=SAMPLES)] * 2, [phrase("a||b")]), ABOUT)
    for table in text.split("\n\n"):
        if table.startswith("|"):
            plain = [line.replace("\\|", "") for line in table.splitlines()]
            assert len({line.count("|") for line in plain}) == 1


def test_a_column_is_named_if_there_is_no_model():
    text = format_phrase_tables(comparison([phrase()]), {**ABOUT, "model": None, "model_column": 5})
    assert text.startswith("# t.gz and the model of column 5\n")


def test_all_files_of_the_folder_agree(tmp_path):
    pytest.importorskip("matplotlib")
    compared = comparison([phrase(samples=SAMPLES, unfinished=3)])
    write_phrase_report(tmp_path, compared, ABOUT, "svg")
    names = ["phrases.json", "phrases.md", "scores.svg", "scores.tsv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    plot_scores(tmp_path / "alone.svg", XS, YS, 834748)
    assert (tmp_path / "scores.svg").read_bytes() == (tmp_path / "alone.svg").read_bytes()
    table = json.loads((tmp_path / "phrases.json").read_text(encoding="utf-8"))
    assert table == phrase_report_json(compared, ABOUT)
    assert table["settings"] == ABOUT and table["rare"] == []
    assert (table["pairs"], table["drawn"], table["certain"]) == (834748, 4, 1)
    [phrase_json] = table["frequent"]
    assert phrase_json["model"] == [
        {"target": "l&apos; <fin> a|b *c* d_e $x", "translation_model": -7.0, "model": -0.5},
        {"target": "à la fin", "translation_model": -1.0, "model": -8.0},
    ]
    assert [pair["target"] for pair in phrase_json["translation_model"]] == ["à la fin", "la fin"]
    assert len(phrase_json["samples"]) == 6 and phrase_json["unfinished"] == 3
    assert phrase_json["samples"][1] == {
        "target": "s1",
        "times": 6,
        "score": -2.0,
        "in_table": True,
    }
    lines = (tmp_path / "scores.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["source", "target", "translation_model", "model"]
    assert [tuple(map(float, line.split("\t")[2:])) for line in lines[1:]] == [
        *zip(YS, XS, strict=True)
    ]
