"""Pictures as files: of any kind that matplotlib draws, whole or not at all, the same each time."""

import contextlib
import functools
import io
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from nmtkit.errors import NmtkitError, OutputError
from nmtkit.io.atomic import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

log = logging.getLogger("nmtkit")

FONT = "DejaVu Sans"  # comes with matplotlib: the same picture on every machine, with accents
LAST_RESORT = "Last Resort"  # fonts of this name draw a box for every character
LONGEST_WORD = 40  # characters shown of a word
DOTS_PER_INCH = 150
MANY = 1000  # dots beyond which SVG and PDF hold them as points, not as a drawing each

# Nothing that changes from day to day or from run to run may enter a file.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
SETTINGS = {"svg.hashsalt": "nmtkit", "svg.fonttype": "path", "pdf.fonttype": 42}
NO_GLYPH = "Glyph .* missing from"


def write_picture(
    path: Path, draw: Callable[[], "Figure"], words: Sequence[str], force: bool
) -> None:
    """Write what `draw` gives to a file; the same figure gives the same bytes.

    :param path: its ending says which kind of picture: `.png`, `.svg` or `.pdf`.
    :param words: what is written in it; characters that no font has are told.
    :param force: replace a file that exists.
    :raises NmtkitError: matplotlib is not installed.
    :raises OutputError: the ending is another, the file exists or cannot be written.
    """
    check_picture(path, force)
    figure = draw()
    _log_missing_glyphs([label(word) for word in words])
    content = _rendered(figure, path.suffix.lower())
    with atomic_file(path, force=True) as file:
        file.write(content)


def check_picture(path: Path, force: bool) -> None:
    """See that a picture may be written under a name, before what it shows is computed.

    :raises OutputError: the ending is none of a picture, or the file exists.
    """
    if path.suffix.lower() not in METADATA:
        raise OutputError(f"{path}: pictures are .png, .svg or .pdf; give a name that ends so")
    if path.exists() and not force:
        raise OutputError(f"{path}: exists already; use --force to replace it")


def label(word: str) -> str:
    """The word, cut when very long; a control character, which no SVG may hold, is replaced."""
    word = "".join("\N{REPLACEMENT CHARACTER}" if category(c) == "Cc" else c for c in word)
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


def check_matplotlib() -> None:
    """See that pictures can be drawn, before what they show is computed.

    :raises NmtkitError: matplotlib is not installed.
    """
    try:
        import matplotlib.style  # noqa: F401
    except ImportError as error:
        raise NmtkitError(
            'pictures need matplotlib, which is not installed; run pip install "nmtkit[plots]"'
        ) from error


@contextlib.contextmanager
def plain_settings() -> Iterator[None]:
    """Matplotlib as it comes, whatever the user's matplotlibrc says, and only for this block.

    It is silent about characters that the fonts lack: `write_picture` tells of them once.
    """
    check_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)
        yield


def _rendered(figure: "Figure", suffix: str) -> bytes:
    picture = io.BytesIO()
    with plain_settings():
        figure.savefig(
            picture,
            format=suffix[1:],
            dpi=DOTS_PER_INCH,
            bbox_inches="tight",
            pad_inches=0.1,
            metadata=METADATA[suffix],
        )
    return picture.getvalue()


def families(words: Iterable[str]) -> list[str]:
    """The fonts to write some words in: `FONT`, and as many of those installed here as have what
    it lacks of the characters.

    :raises NmtkitError: matplotlib is not installed.
    """
    return _families(frozenset("".join(map(label, words))))[0]


@functools.cache
def _families(characters: frozenset[str]) -> tuple[list[str], frozenset[str]]:
    """The fonts, and the characters that none of them has."""
    check_matplotlib()
    from matplotlib.font_manager import findfont, get_font

    found, lacking = [FONT], characters - _drawn_by(get_font(findfont(FONT)))
    others = dict(_installed()) if lacking else {}
    while lacking and others:
        best = max(others, key=lambda name: len(lacking & others[name]))
        if not lacking & others[best]:
            break
        found.append(best)
        lacking -= others.pop(best)
    return found, lacking


@functools.cache
def _installed() -> Mapping[str, frozenset[str]]:
    """The other upright fonts of this machine, by name, and what they have pictures of."""
    from matplotlib.font_manager import fontManager, get_font

    fonts: dict[str, frozenset[str]] = {}
    for entry in sorted(fontManager.ttflist, key=lambda entry: entry.name):
        plain = entry.style == "normal" and entry.weight in (400, "normal", "regular")
        if plain and entry.name != FONT and LAST_RESORT not in entry.name:
            with contextlib.suppress(OSError, RuntimeError):  # a font that cannot be read
                font = get_font(entry.fname)
                if font.scalable:
                    fonts.setdefault(entry.name, _drawn_by(font))
    return fonts


def _drawn_by(font: "FT2Font") -> frozenset[str]:
    return frozenset(map(chr, font.get_charmap()))


def _log_missing_glyphs(words: Sequence[str]) -> None:
    """Say which characters no font has, which the picture shows as boxes."""
    _, lacking = _families(frozenset("".join(words)))
    if lacking:
        shown = " ".join(map(ascii, sorted(lacking)))
        log.warning("no font that is installed here has a picture of %s", shown)
