"""Spaces beside tags stand where they stood in the source."""

import pytest

from nmtkit.text.markup import parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.tag_spacing import NO_SPACES, Part, TagSpaces, source_spaces, spaced


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([("a ", None), ("<b>", TagSpaces("", " ")), ("c", None)], "a<b> c"),
        ([("a", None), ("<b>", TagSpaces(" ", "")), (" c", None)], "a <b>c"),
        ([("a ", None), ("<b>", TagSpaces(" ", " ")), ("c", None)], "a <b> c"),
        ([("a", None), ("<b>", TagSpaces(" ", " ")), ("c", None)], "a<b>c"),
        ([("a ", None), ("<b>", NO_SPACES), ("c", None)], "a <b>c"),
        ([("a", None), ("</i>", TagSpaces("", " ")), (" ", None), ("<b>", TagSpaces(" ", "")),
          ("c", None)], "a</i> <b>c"),
        ([("a ", None), ("<i>", TagSpaces(" ", "")), ("<b>", TagSpaces(" ", "")),
          ("c", None)], "a <i><b>c"),
        ([("a ", None), ("<i>", TagSpaces("", "")), ("<b>", TagSpaces(" ", " ")),
          ("</b>", TagSpaces("", " ")), ("c", None)], "a<i> <b></b>c"),
        ([("a ", None), ("<i>", TagSpaces(" ", " ")), ("<b>", TagSpaces(" ", " ")),
          ("c", None)], "a <i> <b> c"),
    ],
)  # fmt: skip
def test_spaces(parts: list[Part], expected: str) -> None:
    assert spaced(parts) == expected


def test_spaces_of_a_source() -> None:
    spaces = source_spaces(parse_markup("a <b> c</b>\n<i><u>d</u> </i>", Markup.HTML))
    assert spaces == {
        (0, True): (" ", " "),
        (0, False): ("", "\n"),
        (1, True): ("\n", ""),
        (2, True): ("", ""),
        (2, False): ("", " "),
        (1, False): (" ", ""),
    }
