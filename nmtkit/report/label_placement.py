"""Labels of points, so placed that they can be read: none covers another."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmtkit.io.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

APART = 3.0  # points between a dot and its label
FEW = 100  # points that are drawn so large that no label may cover one
RINGS = ((15, 14), (FEW, 3))  # of so many points a label may stand at so many distances
DOT = 2.0  # half of what a dot takes, in points
SPARE = np.array([9.0, 5.0, 9.0, 5.0])  # points around a label where there are many
LEADER = 0.4  # width in points of the line from a dot to a label that stands at a distance
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))

_AROUND = np.array([-1.0, -1.0, 1.0, 1.0])

PAPER = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
"""What stands behind a label among many points, so that it can be read."""

Box = NDArray[np.float64]
"""Left, bottom, right, top."""


def place_labels(
    axes: "Axes",
    texts: Sequence[str],
    places: Vectors,
    font: dict[str, Any],
    others: Sequence["Text"] = (),
) -> list[int]:
    """Write texts beside their points as far as there is room; earlier ones go first.

    The limits of the axes must be set. Of few points each label also stays clear of every dot, and
    may stand at a distance, with a line between, the farther the fewer they are; of many, labels
    keep apart, so that the points can be seen.

    :param places: in the coordinates of the axes. Shape: [texts, 2].
    :param others: what is written there already and must not be covered.
    :return: which of the texts are written.
    """
    from matplotlib.font_manager import FontProperties

    canvas: Any = axes.get_figure(root=True)
    renderer = canvas.canvas.get_renderer()
    point = canvas.dpi / 72  # pixels
    properties = FontProperties(family=font["fontfamily"], size=font["fontsize"])
    room = np.array(axes.get_window_extent().extents)
    dots = axes.transData.transform(places)
    few = len(texts) <= FEW
    taken = [np.array(other.get_window_extent(renderer).extents) for other in others]
    if few:
        taken += [np.array([x, y, x, y]) + DOT * point * _AROUND for x, y in dots]
    spare = point * (np.zeros(4) if few else SPARE * _AROUND)
    line_height = _size(renderer, "lp", properties)[1]  # the least that matplotlib gives a text
    behind: dict[str, Any] = {} if few else {"bbox": PAPER}
    rings = next((rings for count, rings in RINGS if len(texts) <= count), 1)
    written = []
    for number, text in enumerate(texts):
        size = np.maximum(_size(renderer, text, properties), (0, line_height))
        for offset, far in _offsets(size, point, rings):
            middle = dots[number] + offset
            box = np.concatenate([middle - size / 2, middle + size / 2])
            if _inside(box, room) and not _touches(box + spare, taken):
                taken.append(box)
                written.append(number)
                _write(axes, text, places[number], offset / point, far, font | behind)
                break
    return written


def _size(renderer: Any, text: str, properties: "FontProperties") -> Box:
    """Width and height in pixels."""
    return np.array(renderer.get_text_width_height_descent(text, properties, ismath=False)[:2])


def _offsets(size: Box, point: float, rings: int) -> Iterator[tuple[Box, bool]]:
    """From a dot to the middles that its label may have, in pixels, the nearest first; and whether
    it then stands at a distance."""
    for ring in range(rings):
        for side in SIDES:
            away = APART * point * (1 + 2.5 * ring)
            yield np.array(side) * (size / 2 + away), ring > 0


def _inside(box: Box, room: Box) -> bool:
    return bool((box[:2] >= room[:2]).all() and (box[2:] <= room[2:]).all())


def _touches(box: Box, others: Sequence[Box]) -> bool:
    if not others:
        return False
    taken = np.stack(others)
    return bool(((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2])).all(axis=1).any())


def _write(
    axes: "Axes", text: str, place: Box, offset: Box, far: bool, font: dict[str, Any]
) -> None:
    """:param offset: of the label's middle from its dot, in points."""
    leader = {"arrowstyle": "-", "linewidth": LEADER, "color": "0.5", "shrinkA": 0, "shrinkB": 2}
    axes.annotate(
        text,
        (float(place[0]), float(place[1])),
        (float(offset[0]), float(offset[1])),
        textcoords="offset points",
        ha="center",
        va="center",
        parse_math=False,
        arrowprops=leader if far else None,
        **font,
    )
