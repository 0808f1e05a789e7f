"""Maps: texts drawn where their vectors are, with regions drawn again larger.

As figures 4 and 5 of Cho et al. 2014 (words and phrases, by Barnes-Hut t-SNE) and figure 2 of
Sutskever et al. 2014 (sentences, by PCA).

Every text is a dot. Beside it stands what it says as far as there is room: in the order of the
texts, each that would cover no other. A region is found by a text that it is around, framed on the
whole map and drawn beside it under the same letter.
"""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import ConfigError, DataError
from nmtkit.io.vectors import Vectors
from nmtkit.report.figure_io import (
    DOTS_PER_INCH,
    FONT,
    MANY,
    check_matplotlib,
    check_picture,
    families,
    label,
    plain_settings,
    write_picture,
)
from nmtkit.report.label_placement import FEW, place_labels
from nmtkit.report.projection import (
    PERPLEXITY,
    check_sklearn,
    neighbours_in_the_plane,
    principal_components,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SIDE = 5.0  # inches of a panel
MARGIN = 0.06  # of a side, around what is drawn
DOT = "#0072B2"  # a blue that the colour-blind see, too
FRAME = "#D55E00"
LETTER: dict[str, Any] = {"fontsize": 12, "fontweight": "bold", "color": FRAME, "fontfamily": FONT}
ABOVE = 0.06  # of the height of a panel: the room for a letter above a frame
LETTERS = "ABCDEFGHIJK"
FRAMES = ("-", "--", ":", "-.")
TINY = 1e-6
ON_TOP = 5  # above labels, which matplotlib draws at 3
Method = Literal["pca", "tsne", "none"]


@dataclass(frozen=True)
class Map:
    """Texts and their places.

    places: Shape: [texts, 2].
    axes: what x and y are; empty where they mean nothing.
    """

    texts: Sequence[str]
    places: Vectors
    axes: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Region:
    """A part of the plane."""

    left: float
    right: float
    bottom: float
    top: float

    def holds(self, places: Vectors) -> NDArray[np.bool_]:
        """Which of the places are in it, its edge counted."""
        x, y = places.T
        inside: NDArray[np.bool_] = np.logical_and.reduce(
            (self.left <= x, x <= self.right, self.bottom <= y, y <= self.top)
        )
        return inside


def check_map(plot: Path | None, method: str | None, zooms: int, force: bool) -> None:
    """See that a map can be made, before its vectors are read and the work is done.

    :param plot: the picture, if there is to be one.
    :param zooms: regions of it.
    :raises NmtkitError: matplotlib or scikit-learn is needed and not installed, or there are more
        regions than letters.
    :raises OutputError: the picture's name has another ending, or exists.
    """
    if plot:
        check_matplotlib()
        check_picture(plot, force)
    if method == "tsne":
        check_sklearn()
    if zooms > len(LETTERS):
        raise ConfigError(f"{zooms} regions; draw at most {len(LETTERS)} in one picture")


def make_map(
    texts: Sequence[str],
    vectors: Vectors,
    method: Method,
    perplexity: float = PERPLEXITY,
    seed: int = 1,
) -> Map:
    """Bring vectors into the plane.

    :param method: "pca"; "tsne", to which `perplexity` and `seed` belong; or "none": the vectors
        are places already.
    :raises DataError: with "none" a vector has not two numbers.
    :raises ConfigError: there are too few vectors for t-SNE.
    :raises NmtkitError: scikit-learn is needed and not installed.
    """
    if method == "tsne":
        return Map(texts, neighbours_in_the_plane(vectors, perplexity, seed))
    if method == "pca":
        places, shares = principal_components(vectors)
        first, second = (f"{share:.0%} of the variance" for share in shares)
        axes = f"first principal component, {first}", f"second principal component, {second}"
        return Map(texts, places, axes)
    if vectors.shape[1] != 2:
        raise DataError(f"vectors of {vectors.shape[1]} numbers are no places; use pca or tsne")
    return Map(texts, vectors)


def plot_map(
    path: str | Path, drawn: Map, zooms: Sequence[str] = (), nearest: int = 40, force: bool = False
) -> None:
    """Write the picture of `map_figure` to a file: whole, or not at all.

    :param path: its ending says which kind of picture: `.png`, `.svg` or `.pdf`.
    :raises NmtkitError: matplotlib is not installed.
    :raises DataError: there is no text that a region is to be around.
    :raises OutputError: the ending is another, the file exists or cannot be written.
    """
    write_picture(Path(path), lambda: map_figure(drawn, zooms, nearest), drawn.texts, force)


def map_figure(drawn: Map, zooms: Sequence[str] = (), nearest: int = 40) -> "Figure":
    """Draw a map, and regions of it larger.

    :param zooms: texts of the map; each has a panel with the region around it.
    :param nearest: texts in such a region, where there are so many.
    :return: a figure with one pair of axes for the whole, first, and one for each region.
    :raises DataError: there is no such text.
    """
    whole = whole_region(drawn.places, square=not any(drawn.axes))
    regions = [region_around(drawn, text, whole, nearest) for text in zooms]
    with plain_settings():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        columns = 1 if not regions else 2
        rows = math.ceil((1 + len(regions)) / columns)
        figure = Figure(figsize=(columns * SIDE, rows * SIDE), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        figure.subplots_adjust(0, 0, 1, 1, wspace=0.06, hspace=0.06)
        axes = _panel(figure, (rows, columns, 1), whole)
        letters = [_frame(axes, region, number) for number, region in enumerate(regions)]
        _draw(axes, drawn, whole, letters)
        if any(drawn.axes) and not regions:
            _describe(axes, drawn.axes)
        for number, region in enumerate(regions):
            axes = _panel(figure, (rows, columns, 2 + number), region)
            _draw(axes, drawn, region, [_name(axes, number)])
    return figure


def whole_region(places: Vectors, square: bool) -> Region:
    """All places and a margin.

    :param square: as wide as high, so that distances along x and y are drawn alike.
    """
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    spread = np.full(2, spread.max()) if square else spread
    (left, bottom), (right, top) = (
        (low + high) / 2 + sign * spread * (0.5 + MARGIN) for sign in (-1, 1)
    )
    return Region(left, right, bottom, top)


def region_around(drawn: Map, text: str, whole: Region, nearest: int) -> Region:
    """The region, of the shape of the whole, with a text and those nearest to it.

    :raises DataError: the map has no such text.
    """
    if text not in drawn.texts:
        near = difflib.get_close_matches(text, list(drawn.texts), n=1)
        remedy = f"did you mean '{near[0]}'?" if near else "give a text of the map as it stands"
        raise DataError(f"the map has no text '{text}' to zoom in on; {remedy}")
    start = np.array([whole.left, whole.bottom])
    scale = np.array([whole.right, whole.top]) - start
    scaled = (drawn.places - start) / scale  # the whole is from 0 to 1
    away = np.linalg.norm(scaled - scaled[list(drawn.texts).index(text)], axis=1)
    near_ones = scaled[np.argsort(away, kind="stable")[:nearest]]
    low, high = near_ones.min(axis=0), near_ones.max(axis=0)
    half = min(0.5, max(float((high - low).max()), TINY) * (0.5 + MARGIN))
    middle = np.clip((low + high) / 2, half, 1 - half)
    left, bottom = start + (middle - half) * scale
    right, top = start + (middle + half) * scale
    return Region(left, right, bottom, top)


def _panel(figure: "Figure", place: tuple[int, int, int], region: Region) -> "Axes":
    axes: Axes = figure.add_subplot(*place)
    axes.set_xlim(region.left, region.right)
    axes.set_ylim(region.bottom, region.top)
    axes.tick_params(labelsize=8, bottom=False, left=False, labelbottom=False, labelleft=False)
    return axes


def _draw(axes: "Axes", drawn: Map, region: Region, letters: Sequence["Text"]) -> None:
    """The dots of a region and their labels, clear of the letters of regions."""
    inside: list[int] = np.flatnonzero(region.holds(drawn.places)).tolist()
    few = len(inside) <= FEW
    axes.plot(
        *drawn.places[inside].T,
        "o",
        color=DOT,
        markersize=3.5 if few else 1.5,
        markeredgewidth=0,
        alpha=1 if few else 0.5,
        rasterized=len(inside) > MANY,
    )
    texts = [label(drawn.texts[number]) for number in inside]
    font: dict[str, Any] = {"fontfamily": families(texts), "fontsize": 8 if few else 7}
    place_labels(axes, texts, drawn.places[inside], font, letters)


def _describe(axes: "Axes", names: tuple[str, str]) -> None:
    axes.tick_params(bottom=True, left=True, labelbottom=True, labelleft=True)
    axes.set_xlabel(names[0], fontfamily=FONT)
    axes.set_ylabel(names[1], fontfamily=FONT)


def _name(axes: "Axes", number: int) -> "Text":
    """The letter of a region, in the corner of its panel, whose edge is as its frame."""
    for spine in axes.spines.values():
        spine.set(edgecolor=FRAME, linestyle=FRAMES[number % len(FRAMES)], linewidth=1.2)
    place: dict[str, Any] = {"transform": axes.transAxes, "ha": "left", "va": "top"}
    return axes.text(0.015, 0.985, LETTERS[number], **place, **LETTER)


def _frame(axes: "Axes", region: Region, number: int) -> "Text":
    """The edge of a region on the whole map, with its letter."""
    from matplotlib.patches import Rectangle

    corner = region.left, region.bottom
    size = region.right - region.left, region.top - region.bottom
    line: dict[str, Any] = {
        "edgecolor": FRAME,
        "linestyle": FRAMES[number % len(FRAMES)],
        "linewidth": 1.2,
    }
    axes.add_patch(Rectangle(corner, *size, fill=False, zorder=ON_TOP, **line))
    above = region.top < axes.get_ylim()[1] - ABOVE * np.ptp(axes.get_ylim())
    place: dict[str, Any] = {"textcoords": "offset points", "va": "bottom" if above else "top"}
    start, offset = (region.left, region.top), (0, 1) if above else (3, -2)
    return axes.annotate(LETTERS[number], start, offset, ha="left", **place, **LETTER)
