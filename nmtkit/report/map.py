"""Maps of texts by their vectors, with enlarged regions.

As figures 4 and 5 of Cho et al. 2014 (words and phrases, by Barnes-Hut t-SNE) and figure 2 of
Sutskever et al. 2014 (sentences, by PCA).

Each text is a dot, labelled if there is room: labels are placed in the order of the texts, without
overlaps. A region surrounds a chosen text; it is framed on the whole map and drawn enlarged in a
panel of its own with the same letter.
"""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import ConfigError, DataError
from nmtkit.io.vectors import Vectors
from nmtkit.report.figure_io import (
    FONT,
    MAX_VECTOR_DOTS,
    check_figure_path,
    default_style,
    font_families,
    new_figure,
    shorten_label,
    write_figure,
)
from nmtkit.report.label_placement import MAX_SPARSE_TEXTS, place_labels
from nmtkit.report.projection import DEFAULT_PERPLEXITY, check_sklearn, principal_components, tsne
from nmtkit.report.styles import COLOURS
from nmtkit.text.detokenizer import unescaped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

PANEL_INCHES = 5.0  # side of a panel
MARGIN_SHARE = 0.06  # margin around the dots, as a share of a side
DOT_COLOUR, FRAME_COLOUR = COLOURS[:2]  # colour-blind readers can distinguish them
LETTER_STYLE: dict[str, Any] = {
    "fontsize": 12,
    "fontweight": "bold",
    "color": FRAME_COLOUR,
    "fontfamily": FONT,
}
LETTER_HEIGHT = 0.06  # height of a letter above a frame, as a share of the panel's height
LETTERS = "ABCDEFGHIJK"
FRAME_LINE_STYLES = ("-", "--", ":", "-.")
MIN_REGION_SIDE = 1e-6
FRAME_ZORDER = 2.5  # below labels, whose zorder is 3
Method = Literal["pca", "tsne", "none"]


@dataclass(frozen=True)
class Map:
    """Texts and their positions.

    positions: Shape: [texts, 2].
    axes: labels of x and y; empty if the axes have no meaning.
    """

    texts: Sequence[str]
    positions: Vectors
    axes: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Region:
    """A rectangle in the plane."""

    left: float
    right: float
    bottom: float
    top: float

    def edges(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """Return the ends of its four sides."""
        corners = [
            (self.left, self.bottom),
            (self.right, self.bottom),
            (self.right, self.top),
            (self.left, self.top),
        ]
        return list(zip(corners, [*corners[1:], corners[0]], strict=True))

    def contains(self, positions: Vectors) -> NDArray[np.bool_]:
        """Return a mask of the positions inside the region, edges included."""
        x, y = positions.T
        inside: NDArray[np.bool_] = np.logical_and.reduce(
            (self.left <= x, x <= self.right, self.bottom <= y, y <= self.top)
        )
        return inside


def check_map(plot: Path | None, method: str | None, zooms: int, force: bool) -> None:
    """Raise if a map cannot be made; call it before vectors are read.

    :param plot: Path of the figure, if there is one.
    :param zooms: Number of enlarged regions.
    :raises NmtkitError: Matplotlib or scikit-learn is needed and not installed, or there are more
        regions than letters.
    :raises OutputError: The figure's suffix is unknown, or the file exists.
    """
    if plot:
        check_figure_path(plot, force)
    if method == "tsne":
        check_sklearn()
    if zooms > len(LETTERS):
        raise ConfigError(f"{zooms} regions; draw at most {len(LETTERS)} in one figure")


def make_map(
    texts: Sequence[str],
    vectors: Vectors,
    method: Method,
    perplexity: float = DEFAULT_PERPLEXITY,
    seed: int = 1,
) -> Map:
    """Project vectors into the plane.

    :param method: "pca"; "tsne", which uses `perplexity` and `seed`; or "none" if the vectors are
        positions already.
    :raises DataError: Method "none", but vectors do not have two numbers.
    :raises ConfigError: There are too few vectors for t-SNE.
    :raises NmtkitError: Scikit-learn is needed and not installed.
    """
    if method == "tsne":
        return Map(texts, tsne(vectors, perplexity, seed))
    if method == "pca":
        positions, variance_shares = principal_components(vectors)
        first, second = (f"{share:.0%} of the variance" for share in variance_shares)
        axes = f"first principal component, {first}", f"second principal component, {second}"
        return Map(texts, positions, axes)
    if vectors.shape[1] != 2:
        raise DataError(
            f"vectors have {vectors.shape[1]} numbers, positions have 2; use --method pca or tsne"
        )
    return Map(texts, vectors)


def plot_map(
    path: str | Path,
    text_map: Map,
    zooms: Sequence[str] = (),
    nearest: int = 40,
    force: bool = False,
) -> None:
    """Write the figure of `draw_map` to a file, complete or not at all.

    :param path: Output file; its suffix selects the format: `.png`, `.svg` or `.pdf`.
    :raises NmtkitError: Matplotlib is not installed.
    :raises DataError: The map does not have a text of `zooms`.
    :raises OutputError: The suffix is unknown, or the file exists or cannot be written.
    """
    across, up = text_map.axes
    title = f"Map of {len(text_map.texts):,} texts; similar ones are near each other"
    description = f"{up} against {across}." if across and up else "Axes have no meaning."
    draw = partial(draw_map, text_map, zooms, nearest)
    write_figure(Path(path), draw, text_map.texts, force, title, description)


def draw_map(text_map: Map, zooms: Sequence[str] = (), nearest: int = 40) -> "Figure":
    """Draw a map and enlarged regions of it.

    :param zooms: Texts of the map; the region around each has a panel.
    :param nearest: Number of texts in a region, if there are enough.
    :return: A figure with one pair of axes for the whole map, then one for each region.
    :raises DataError: The map does not have a text of `zooms`.
    """
    map_region = whole_region(text_map.positions, square=not any(text_map.axes))
    regions = [region_around(text_map, text, map_region, nearest) for text in zooms]
    with default_style():
        columns = 1 if not regions else 2
        rows = math.ceil((1 + len(regions)) / columns)
        figure = new_figure((columns * PANEL_INCHES, rows * PANEL_INCHES))
        figure.subplots_adjust(0, 0, 1, 1, wspace=0.06, hspace=0.06)
        axes = _add_panel(figure, (rows, columns, 1), map_region)
        letters = [_draw_frame(axes, region, number) for number, region in enumerate(regions)]
        _draw_points(axes, text_map, map_region, letters, regions)
        if any(text_map.axes) and not regions:
            _label_axes(axes, text_map.axes)
        for number, region in enumerate(regions):
            axes = _add_panel(figure, (rows, columns, 2 + number), region)
            _draw_points(axes, text_map, region, [_draw_letter(axes, number)])
    return figure


def whole_region(positions: Vectors, square: bool) -> Region:
    """Return the region of all positions with a margin.

    :param square: Make it as wide as high, so that x and y have the same scale.
    """
    low, high = positions.min(axis=0), positions.max(axis=0)
    extent = np.where(high > low, high - low, 1.0)
    extent = np.full(2, extent.max()) if square else extent
    (left, bottom), (right, top) = (
        (low + high) / 2 + sign * extent * (0.5 + MARGIN_SHARE) for sign in (-1, 1)
    )
    return Region(left, right, bottom, top)


def region_around(text_map: Map, text: str, map_region: Region, nearest: int) -> Region:
    """Return the region around a text and its nearest neighbours.

    :param map_region: Region of the whole map, whose proportions the result has.
    :param nearest: Number of texts in the region, if there are enough.
    :raises DataError: The map does not have the text.
    """
    if text not in text_map.texts:
        matches = difflib.get_close_matches(text, list(text_map.texts), n=1)
        remedy = f"did you mean '{matches[0]}'?" if matches else "give a text exactly as in the map"
        raise DataError(f"the map has no text '{text}' to zoom in on; {remedy}")
    corner = np.array([map_region.left, map_region.bottom])
    scale = np.array([map_region.right, map_region.top]) - corner
    normalized = (text_map.positions - corner) / scale  # the whole map spans 0 to 1
    distances = np.linalg.norm(normalized - normalized[list(text_map.texts).index(text)], axis=1)
    neighbours = normalized[np.argsort(distances, kind="stable")[:nearest]]
    low, high = neighbours.min(axis=0), neighbours.max(axis=0)
    half = min(0.5, max(float((high - low).max()), MIN_REGION_SIDE) * (0.5 + MARGIN_SHARE))
    centre = np.clip((low + high) / 2, half, 1 - half)
    left, bottom = corner + (centre - half) * scale
    right, top = corner + (centre + half) * scale
    return Region(left, right, bottom, top)


def _add_panel(figure: "Figure", position: tuple[int, int, int], region: Region) -> "Axes":
    axes: Axes = figure.add_subplot(*position)
    axes.set_xlim(region.left, region.right)
    axes.set_ylim(region.bottom, region.top)
    axes.tick_params(labelsize=8, bottom=False, left=False, labelbottom=False, labelleft=False)
    return axes


def _draw_points(
    axes: "Axes",
    text_map: Map,
    region: Region,
    letters: Sequence["Text"],
    frames: Sequence[Region] = (),
) -> None:
    """Draw the dots of a region and their labels.

    Labels cover neither the regions' letters nor the lines of their frames. Entities, which Moses
    writes for some characters, are shown as characters.
    """
    inside: list[int] = np.flatnonzero(region.contains(text_map.positions)).tolist()
    sparse = len(inside) <= MAX_SPARSE_TEXTS
    axes.plot(
        *text_map.positions[inside].T,
        "o",
        color=DOT_COLOUR,
        markersize=3.5 if sparse else 1.5,
        markeredgewidth=0,
        alpha=1 if sparse else 0.5,
        rasterized=len(inside) > MAX_VECTOR_DOTS,
    )
    texts = [shorten_label(unescaped(text_map.texts[number])) for number in inside]
    font: dict[str, Any] = {"fontfamily": font_families(texts), "fontsize": 8 if sparse else 7}
    edges = [edge for frame in frames for edge in frame.edges()]
    place_labels(axes, texts, text_map.positions[inside], font, letters, edges)


def _label_axes(axes: "Axes", names: tuple[str, str]) -> None:
    axes.tick_params(bottom=True, left=True, labelbottom=True, labelleft=True)
    axes.set_xlabel(names[0], fontfamily=FONT)
    axes.set_ylabel(names[1], fontfamily=FONT)


def _draw_letter(axes: "Axes", number: int) -> "Text":
    """Draw a region's letter in the corner of its panel, and the panel's edge like its frame."""
    for spine in axes.spines.values():
        spine.set(
            edgecolor=FRAME_COLOUR,
            linestyle=FRAME_LINE_STYLES[number % len(FRAME_LINE_STYLES)],
            linewidth=1.2,
        )
    alignment: dict[str, Any] = {"transform": axes.transAxes, "ha": "left", "va": "top"}
    return axes.text(0.015, 0.985, LETTERS[number], **alignment, **LETTER_STYLE)


def _draw_frame(axes: "Axes", region: Region, number: int) -> "Text":
    """Draw the frame of a region on the whole map, with its letter."""
    from matplotlib.patches import Rectangle

    lower_left = region.left, region.bottom
    size = region.right - region.left, region.top - region.bottom
    line: dict[str, Any] = {
        "edgecolor": FRAME_COLOUR,
        "linestyle": FRAME_LINE_STYLES[number % len(FRAME_LINE_STYLES)],
        "linewidth": 1.2,
    }
    axes.add_patch(Rectangle(lower_left, *size, fill=False, zorder=FRAME_ZORDER, **line))
    above = region.top < axes.get_ylim()[1] - LETTER_HEIGHT * np.ptp(axes.get_ylim())
    alignment: dict[str, Any] = {"textcoords": "offset points", "va": "bottom" if above else "top"}
    corner, offset = (region.left, region.top), (0, 1) if above else (3, -2)
    return axes.annotate(LETTERS[number], corner, offset, ha="left", **alignment, **LETTER_STYLE)
