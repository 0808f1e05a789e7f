"""The fonts of pictures: one that all machines have, and others for what it lacks."""

import logging
import warnings

import pytest

from nmtkit.report import figure_io
from nmtkit.report.alignment import alignment_figure, plot_alignment

pytest.importorskip("matplotlib")

NOWHERE = "\U0003fff0"  # not assigned, so in no font


@pytest.fixture
def installed(monkeypatch):
    """`installed({"name": "characters"})`: a machine with just these other fonts."""

    def install(fonts):
        found = {name: frozenset(characters) for name, characters in fonts.items()}
        monkeypatch.setattr(figure_io, "_installed", lambda: found)
        figure_io._families.cache_clear()

    yield install
    figure_io._families.cache_clear()


def test_what_the_usual_font_has_is_written_in_it_alone(installed):
    installed({"Mine": "aéж"})
    assert figure_io.families(["aé", "ж", ""]) == ["DejaVu Sans"]


def test_for_what_it_lacks_the_fonts_are_taken_that_have_most(installed):
    fonts = {"One": "東", "Two": "東京", "Three": "अ", "Four": "京अ", "Five": "x"}
    installed(fonts)
    for _ in range(2):  # nothing is used up
        assert figure_io.families(["東京", "xअ"]) == ["DejaVu Sans", "Two", "Three"]
    assert figure_io.families([NOWHERE]) == ["DejaVu Sans"]


def test_a_font_that_is_there_is_used_and_nothing_is_complained_of(tmp_path, caplog):
    """matplotlib brings fonts of mathematics with it, which have what DejaVu Sans lacks."""
    others = frozenset().union(*figure_io._installed().values())
    from matplotlib.font_manager import findfont, get_font

    lacking = sorted(others - figure_io._drawn_by(get_font(findfont(figure_io.FONT))))
    assert lacking
    words = [f"a{lacking[0]}", lacking[-1]]
    fonts = figure_io.families(words)
    assert fonts[0] == "DejaVu Sans" and len(fonts) > 1
    figure = alignment_figure(words, ["x"], [[1.0, 0.0]])
    assert figure.axes[0].get_xticklabels()[0].get_fontfamily() == fonts
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, logger="nmtkit"):
        warnings.simplefilter("error")
        for kind in ("png", "svg", "pdf"):
            plot_alignment(tmp_path / f"a.{kind}", words, ["x"], [[1.0, 0.0]])
    assert not caplog.records


def test_fonts_that_draw_a_box_for_everything_are_none():
    assert not any("Last Resort" in name for name in figure_io._installed())
    assert not any(NOWHERE in characters for characters in figure_io._installed().values())
