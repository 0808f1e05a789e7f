"""Atomic and reproducible writing of matplotlib figures, and fonts for their text."""

import contextlib
import functools
import io
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmtkit.errors import NmtkitError, OutputError, counted
from nmtkit.extras import install_command
from nmtkit.io.atomic import atomic_file
from nmtkit.report.figure_text import describe_lines, label_svg, replace_control_characters

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

log = logging.getLogger("nmtkit")

FONT = "DejaVu Sans"  # ships with matplotlib: the same figure on every machine, with accents
LAST_RESORT_FONT = "Last Resort"  # fonts of this name draw a box for every character
MAX_LABEL_CHARACTERS = 40  # maximum length of a word in a figure
MAX_NAMED_CHARACTERS = 20  # of those that no font has, in the log
DOTS_PER_INCH = 150
MAX_VECTOR_DOTS = 1000  # dots beyond this number are rasterized in SVG and PDF

# Keep dates and versions out of files: the same figure gives the same bytes.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
RC_PARAMS = {"svg.hashsalt": "nmtkit", "svg.fonttype": "none", "pdf.fonttype": 42}
"""Text stays text, also in SVG, where it can be searched and read aloud."""

MISSING_GLYPH_WARNING = "Glyph .* missing from"


def write_figure(
    path: Path,
    draw: Callable[[], "Figure"],
    words: Sequence[str],
    force: bool,
    title: str,
    description: str = "",
) -> None:
    """Write the figure that `draw` returns to a file.

    The same figure gives the same bytes.

    :param path: Output file; its suffix selects the format: `.png`, `.svg` or `.pdf`.
    :param words: Text in the figure; characters missing from every font are logged.
    :param force: Replace an existing file.
    :param title: What the figure shows; screen readers read it aloud from SVG.
    :param description: What else they read; by default axes, and the ends of each named line.
    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The suffix is unknown, or the file exists or cannot be written.
    """
    check_figure_path(path, force)
    figure = draw()
    _log_missing_glyphs([shorten_label(word) for word in words])
    content = _render(figure, path.suffix.lower())
    if path.suffix.lower() == ".svg":
        content = label_svg(content, title, description or describe_lines(figure))
    with atomic_file(path, force) as file:
        file.write(content)


def check_figure_path(path: Path, force: bool) -> None:
    """Raise if no figure can be written to a path; call it before expensive work.

    :raises NmtkitError: Matplotlib is not installed.
    :raises OutputError: The suffix is unknown, or the file exists.
    """
    check_matplotlib()
    if path.suffix.lower() not in METADATA:
        raise OutputError(f"{path}: unknown figure format; use .png, .svg or .pdf")
    if path.exists() and not force:
        raise OutputError(f"{path}: exists already; use --force to replace it")


def shorten_label(word: str) -> str:
    """Return a word cut to `MAX_LABEL_CHARACTERS`, without control characters.

    SVG forbids control characters; U+FFFD replaces them.
    """
    word = replace_control_characters(word)
    return word if len(word) <= MAX_LABEL_CHARACTERS else word[: MAX_LABEL_CHARACTERS - 1] + "…"


def check_matplotlib() -> None:
    """Raise if figures cannot be drawn; call it before expensive work.

    :raises NmtkitError: Matplotlib is not installed.
    """
    try:
        import matplotlib.style  # noqa: F401
    except ImportError as error:
        raise NmtkitError(
            "figures need matplotlib, which is not installed; run: " + install_command("plots")
        ) from error


@contextlib.contextmanager
def default_style() -> Iterator[None]:
    """Use matplotlib's default style in this block, whatever the user's matplotlibrc says.

    Warnings about missing glyphs are suppressed: `write_figure` logs them once.
    """
    check_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", RC_PARAMS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING_GLYPH_WARNING, UserWarning)
        yield


def new_figure(size: tuple[float, float]) -> "Figure":
    """Return an empty figure that is not managed by pyplot; call it with `default_style`.

    :param size: Width and height in inches.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    return figure


def _render(figure: "Figure", suffix: str) -> bytes:
    content = io.BytesIO()
    with default_style():
        figure.savefig(
            content,
            format=suffix[1:],
            dpi=DOTS_PER_INCH,
            bbox_inches="tight",
            pad_inches=0.1,
            metadata=METADATA[suffix],
        )
    return content.getvalue()


def font_families(words: Iterable[str]) -> list[str]:
    """Return the fonts for some words: `FONT`, then installed fonts for characters it lacks.

    :raises NmtkitError: Matplotlib is not installed.
    """
    return _choose_fonts(frozenset("".join(map(shorten_label, words))))[0]


@functools.cache
def _choose_fonts(characters: frozenset[str]) -> tuple[list[str], frozenset[str]]:
    """Return font names and the characters that none of these fonts has.

    Fonts are chosen greedily: each time the one with most of the missing characters.
    """
    check_matplotlib()
    from matplotlib.font_manager import findfont, get_font

    fonts, missing = [FONT], characters - _characters_of(get_font(findfont(FONT)))
    available = dict(_installed_fonts()) if missing else {}
    while missing and available:
        best = max(available, key=lambda name: len(missing & available[name]))
        if not missing & available[best]:
            break
        fonts.append(best)
        missing -= available.pop(best)
    return fonts, missing


@functools.cache
def _installed_fonts() -> Mapping[str, frozenset[str]]:
    """Return the characters of every upright installed font except `FONT`, by font name."""
    from matplotlib.font_manager import fontManager, get_font

    fonts: dict[str, frozenset[str]] = {}
    for entry in sorted(fontManager.ttflist, key=lambda entry: entry.name):
        is_upright = entry.style == "normal" and entry.weight in (400, "normal", "regular")
        if is_upright and entry.name != FONT and LAST_RESORT_FONT not in entry.name:
            with contextlib.suppress(OSError, RuntimeError):  # a font that cannot be read
                font = get_font(entry.fname)
                if font.scalable:
                    fonts.setdefault(entry.name, _characters_of(font))
    return fonts


def _characters_of(font: "FT2Font") -> frozenset[str]:
    return frozenset(map(chr, font.get_charmap()))


def _log_missing_glyphs(words: Sequence[str]) -> None:
    """Log the characters that no font has; the figure shows them as boxes."""
    _, missing = _choose_fonts(frozenset("".join(words)))
    if missing:
        named = " ".join(map(ascii, sorted(missing)[:MAX_NAMED_CHARACTERS]))
        others = len(missing) - MAX_NAMED_CHARACTERS
        more = f" and {counted(others, 'other character')}" if others > 0 else ""
        log.warning("no installed font has %s%s", named, more)
