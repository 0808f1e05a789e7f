"""Title and description of a figure, for readers who do not see it.

SVG has both as elements, `<title>` and `<desc>`, which screen readers read aloud and browsers
show; the words in the figure stay text beside them.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from unicodedata import category
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNLABELLED = "_"  # matplotlib's own labels of lines begin with it
OPENING_TAG = re.compile(rb"<svg[^>]*>")


def describe_lines(figure: "Figure") -> str:
    """Return what the panels of a figure show: axes, and where each named line starts and ends.

    :return: One paragraph; empty if no panel has a label.
    """
    return " ".join(text for axes in figure.axes for text in _panel_sentences(axes))


def _panel_sentences(axes: "Axes") -> Iterator[str]:
    title, across, up = (
        " ".join(text.split()) for text in (axes.get_title(), axes.get_xlabel(), axes.get_ylabel())
    )
    if title:
        yield f"{title}."
    if up:
        yield f"{up} against {across}." if across else f"{up}."
    for line in axes.get_lines():
        label = str(line.get_label())
        if not label.startswith(UNLABELLED):
            sentence = describe_line(label, line.get_xdata(), line.get_ydata())
            if sentence:
                yield sentence


def describe_line(name: str, xs: Any, ys: Any) -> str:
    """Return a sentence with the ends, the minimum and the maximum of a line; empty without points.

    :param xs: Positions along x. Shape: [points].
    :param ys: Heights. Shape: [points].
    """
    points = [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
    if not points:
        return ""
    (first, start), (last, end) = points[0], points[-1]
    if len(points) == 1:
        return f"{name}: {start:.4g} at {first:.4g}."
    heights = [y for _, y in points]
    limits = f"lowest {min(heights):.4g}, highest {max(heights):.4g}"
    return f"{name}: from {start:.4g} at {first:.4g} to {end:.4g} at {last:.4g}; {limits}."


def label_svg(content: bytes, title: str, description: str) -> bytes:
    """Return an SVG file with a title and a description as its first elements.

    :param content: The file, without either.
    :param description: Left out if empty.
    """
    elements = f"\n <title>{_escape(title)}</title>"
    if description:
        elements += f"\n <desc>{_escape(description)}</desc>"
    return OPENING_TAG.sub(lambda tag: tag[0] + elements.encode("utf-8"), content, count=1)


def replace_control_characters(text: str) -> str:
    """Return a text with U+FFFD for each character that XML forbids.

    Besides control characters these are U+FFFE, U+FFFF, and bytes of a file's name that are not
    UTF-8.
    """
    forbidden = {"Cc", "Cs"}
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if category(c) in forbidden or c in "\ufffe\uffff" else c
        for c in text
    )


def _escape(text: str) -> str:
    return escape(replace_control_characters(text))
