"""Placement of labels beside points, without overlaps."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmtkit.io.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

LABEL_GAP_POINTS = 3.0  # between a dot and its label
MAX_SPARSE_TEXTS = 100  # up to this number dots are large and no label may cover one
MAX_RINGS = ((15, 14), (MAX_SPARSE_TEXTS, 3))
"""Maximum number of texts, and the number of distances from its dot that a label may have."""

DOT_RADIUS_POINTS = 2.0
DENSE_PADDING_POINTS = np.array([9.0, 5.0, 9.0, 5.0])  # space around labels if there are many texts
LEADER_WIDTH_POINTS = 0.4  # width of the line from a dot to a distant label
DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))

_OUTWARD = np.array([-1.0, -1.0, 1.0, 1.0])

LABEL_BACKGROUND = {
    "boxstyle": "square,pad=0.05",
    "facecolor": "white",
    "edgecolor": "none",
    "alpha": 0.7,
}
"""Background of a label among many dots, to keep it readable."""

Box = NDArray[np.float64]
"""Left, bottom, right, top."""

Line = tuple[tuple[float, float], tuple[float, float]]
"""Both ends."""


def place_labels(
    axes: "Axes",
    texts: Sequence[str],
    positions: Vectors,
    font: dict[str, Any],
    obstacles: Sequence["Text"] = (),
    lines: Sequence[Line] = (),
) -> list[int]:
    """Write labels beside their points if there is room; earlier texts have priority.

    Set the limits of the axes first. With up to `MAX_SPARSE_TEXTS` texts no label covers a dot,
    and a label may stand at a distance, joined by a line. With more texts labels may cover dots
    but keep a distance from each other, so that dots remain visible. No line runs through a label.

    :param positions: In data coordinates of the axes. Shape: [texts, 2].
    :param obstacles: Existing texts that must not be covered.
    :param lines: Ends of existing lines that must not be covered, in data coordinates.
    :return: Indices of the texts that were written.
    """
    from matplotlib.font_manager import FontProperties

    canvas: Any = axes.get_figure(root=True)
    renderer = canvas.canvas.get_renderer()
    pixels_per_point = canvas.dpi / 72  # pixels
    properties = FontProperties(family=font["fontfamily"], size=font["fontsize"])
    axes_box = np.array(axes.get_window_extent().extents)
    dots = axes.transData.transform(positions)
    sparse = len(texts) <= MAX_SPARSE_TEXTS
    labels = [np.array(text.get_window_extent(renderer).extents) for text in obstacles]
    occupied = np.array(labels).reshape(-1, 4)
    if sparse:
        radius = DOT_RADIUS_POINTS * pixels_per_point * _OUTWARD
        occupied = np.vstack([occupied, np.hstack([dots, dots]) + radius])
    padding = pixels_per_point * (np.zeros(4) if sparse else DENSE_PADDING_POINTS * _OUTWARD)
    line_height = _size(renderer, "lp", properties)[1]  # matplotlib's minimum height of a text
    background: dict[str, Any] = {} if sparse else {"bbox": LABEL_BACKGROUND}
    rings = next((rings for count, rings in MAX_RINGS if len(texts) <= count), 1)
    drawn = [axes.transData.transform(np.array(line)) for line in lines]
    labelled = []
    for index, text in enumerate(texts):
        size = np.maximum(_size(renderer, text, properties), (0, line_height))
        for offset, has_leader in _offsets(size, pixels_per_point, rings):
            centre = dots[index] + offset
            box = np.concatenate([centre - size / 2, centre + size / 2])
            leader = [np.stack([dots[index], centre])] if has_leader else []
            if (
                _inside(box, axes_box)
                and not _overlaps(box + padding, occupied)
                and not any(_crosses(line, box) for line in drawn)
                and not any(_crosses(leader[0], label) for label in labels if leader)
            ):
                occupied = np.vstack([occupied, box])
                labels.append(box)
                drawn += leader
                labelled.append(index)
                _write(
                    axes,
                    text,
                    positions[index],
                    offset / pixels_per_point,
                    has_leader,
                    font | background,
                )
                break
    return labelled


def _size(renderer: Any, text: str, properties: "FontProperties") -> Box:
    """Return the width and height of a text in pixels."""
    return np.array(renderer.get_text_width_height_descent(text, properties, ismath=False)[:2])


def _offsets(size: Box, pixels_per_point: float, rings: int) -> Iterator[tuple[Box, bool]]:
    """Yield offsets in pixels from a dot to the centre of its label, nearest first.

    The second value is True if the label is so far away that it needs a leader line.
    """
    for ring in range(rings):
        for side in DIRECTIONS:
            distance = LABEL_GAP_POINTS * pixels_per_point * (1 + 2.5 * ring)
            yield np.array(side) * (size / 2 + distance), ring > 0


def _inside(box: Box, axes_box: Box) -> bool:
    return bool((box[:2] >= axes_box[:2]).all() and (box[2:] <= axes_box[2:]).all())


def _overlaps(box: Box, occupied: Box) -> bool:
    """Return True if a box overlaps one of others.

    :param occupied: Shape: [boxes, 4].
    """
    return bool(((box[:2] < occupied[:, 2:]) & (box[2:] > occupied[:, :2])).all(axis=1).any())


def _crosses(line: NDArray[np.float64], box: Box) -> bool:
    """Return True if a line runs through a box (Liang and Barsky 1984).

    :param line: Both ends. Shape: [2, 2].
    """
    start, direction = line[0], line[1] - line[0]
    enter, leave = 0.0, 1.0
    for axis in (0, 1):
        low, high = box[axis] - start[axis], box[axis + 2] - start[axis]
        if direction[axis] == 0:
            if low > 0 or high < 0:
                return False
            continue
        near, far = sorted((low / direction[axis], high / direction[axis]))
        enter, leave = max(enter, near), min(leave, far)
    return bool(enter < leave)


def _write(
    axes: "Axes", text: str, position: Box, offset: Box, has_leader: bool, font: dict[str, Any]
) -> None:
    """Write a label.

    :param offset: From the dot to the centre of the label, in points.
    """
    leader = {
        "arrowstyle": "-",
        "linewidth": LEADER_WIDTH_POINTS,
        "color": "0.5",
        "shrinkA": 0,
        "shrinkB": 2,
    }
    axes.annotate(
        text,
        (float(position[0]), float(position[1])),
        (float(offset[0]), float(offset[1])),
        textcoords="offset points",
        ha="center",
        va="center",
        parse_math=False,
        arrowprops=leader if has_leader else None,
        **font,
    )
