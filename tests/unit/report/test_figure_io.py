"""Fonts of figures: the default font, and installed ones for missing characters."""

import logging
import warnings

import pytest

from nmtkit.errors import OutputError
from nmtkit.report import figure_io
from nmtkit.report.alignment import draw_alignment, plot_alignment

pytest.importorskip("matplotlib")

NOWHERE = "\U0003fff0"  # not assigned, so in no font


@pytest.fixture
def installed(monkeypatch):
    """`installed({"name": "characters"})` simulates a machine with only these other fonts."""

    def install(fonts):
        found = {name: frozenset(characters) for name, characters in fonts.items()}
        monkeypatch.setattr(figure_io, "_installed_fonts", lambda: found)
        figure_io._choose_fonts.cache_clear()

    yield install
    figure_io._choose_fonts.cache_clear()


def test_the_default_font_alone_is_used_if_it_has_all_characters(installed):
    installed({"Mine": "aéж"})
    assert figure_io.font_families(["aé", "ж", ""]) == ["DejaVu Sans"]


def test_missing_characters_come_from_the_fonts_with_most_of_them(installed):
    fonts = {"One": "東", "Two": "東京", "Three": "अ", "Four": "京अ", "Five": "x"}
    installed(fonts)
    for _ in range(2):  # nothing is used up
        assert figure_io.font_families(["東京", "xअ"]) == ["DejaVu Sans", "Two", "Three"]
    assert figure_io.font_families([NOWHERE]) == ["DejaVu Sans"]


def test_only_some_of_many_missing_characters_are_named(caplog):
    figure_io._log_missing_glyphs([chr(ord(NOWHERE) - n) for n in range(3000)])
    assert len(caplog.text) < 500
    assert "and 2,980 other characters" in caplog.text


def test_an_installed_font_is_used_without_warnings(tmp_path, caplog):
    """Matplotlib ships mathematical fonts, which have characters that DejaVu Sans lacks."""
    others = frozenset().union(*figure_io._installed_fonts().values())
    from matplotlib.font_manager import findfont, get_font

    lacking = sorted(others - figure_io._characters_of(get_font(findfont(figure_io.FONT))))
    assert lacking
    words = [f"a{lacking[0]}", lacking[-1]]
    fonts = figure_io.font_families(words)
    assert fonts[0] == "DejaVu Sans" and len(fonts) > 1
    figure = draw_alignment(words, ["x"], [[1.0, 0.0]])
    assert figure.axes[0].get_xticklabels()[0].get_fontfamily() == fonts
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, logger="nmtkit"):
        warnings.simplefilter("error")
        for kind in ("png", "svg", "pdf"):
            plot_alignment(tmp_path / f"a.{kind}", words, ["x"], [[1.0, 0.0]])
    assert not caplog.records


def test_last_resort_fonts_are_ignored():
    assert not any("Last Resort" in name for name in figure_io._installed_fonts())
    assert not any(NOWHERE in characters for characters in figure_io._installed_fonts().values())


def test_a_file_that_is_made_while_a_figure_is_drawn_stays(tmp_path):
    path = tmp_path / "a.png"

    def draw():
        path.write_text("another")
        with figure_io.default_style():
            return figure_io.new_figure((1, 1))

    with pytest.raises(OutputError, match="exists already"):
        figure_io.write_figure(path, draw, [], False, "a")
    assert path.read_text() == "another"
