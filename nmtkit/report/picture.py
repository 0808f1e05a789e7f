"""Pictures as files: of any kind that matplotlib draws, whole or not at all, the same each time."""

import contextlib
import io
import logging
import os
import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from nmtkit.errors import NmtkitError, OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

log = logging.getLogger("nmtkit")

FONT = "DejaVu Sans"  # comes with matplotlib: the same picture on every machine, with accents
LONGEST_WORD = 40  # characters shown of a word
DOTS_PER_INCH = 150

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
    :param words: what is written in it; characters that the font lacks are told.
    :param force: replace a file that exists.
    :raises NmtkitError: matplotlib is not installed.
    :raises OutputError: the ending is another, the file exists or cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in METADATA:
        raise OutputError(f"{path}: pictures are .png, .svg or .pdf; give a name that ends so")
    if path.exists() and not force:
        raise OutputError(f"{path}: exists already; use --force to replace it")
    figure = draw()
    _log_missing_glyphs([label(word) for word in words])
    _write_whole(path, _rendered(figure, suffix))


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
    """Matplotlib as it comes, whatever the user's matplotlibrc says, and only for this block."""
    check_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", SETTINGS]):
        yield


def _rendered(figure: "Figure", suffix: str) -> bytes:
    picture = io.BytesIO()
    with plain_settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)  # said once, in our words
        figure.savefig(
            picture,
            format=suffix[1:],
            dpi=DOTS_PER_INCH,
            bbox_inches="tight",
            pad_inches=0.1,
            metadata=METADATA[suffix],
        )
    return picture.getvalue()


def _log_missing_glyphs(words: Sequence[str]) -> None:
    """Say which characters the font lacks, which the picture shows as boxes."""
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(FONT)).get_charmap()
    missing = sorted({c for word in words for c in word if ord(c) not in known})
    if missing:
        log.warning("the font %s has no picture of %s", FONT, " ".join(map(ascii, missing)))


def _write_whole(path: Path, content: bytes) -> None:
    """Write beside the name, then rename: what stands under the name is whole."""
    target = path.resolve()  # a symbolic link is written through, not replaced
    written = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(written, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(written, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        written.unlink(missing_ok=True)
