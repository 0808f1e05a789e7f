"""Signs of emphasis open and close, as CommonMark says."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.documents.markdown_emphasis import with_visible_emphasis


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("**注意：**保存文件。", "**注意**：保存文件。"),
        ("これは**「重要」**な点", "これは「**重要**」な点"),
        ("点击**“保存”**按钮", "点击“**保存**”按钮"),
        ("前**（注）**后", "前（**注**）后"),
        ("~~旧：~~新", "~~旧~~：新"),
        ("**注意：** 保存", "**注意：** 保存"),
        ("**注意：**", "**注意：**"),
        ("**注意：**（保存）", "**注意：**（保存）"),
        ("*你好*，世界", "*你好*，世界"),
        ("**：**保存", "**：**保存"),
        ("**é.** c", "**é.** c"),
        ("`**a：**b`é", "`**a：**b`é"),
    ],
)
def test_punctuation_is_moved_out_where_signs_would_be_text(text: str, visible: str) -> None:
    assert with_visible_emphasis(text) == visible


def closes(text: str, end: int, start: int) -> bool:
    """Return whether a run of signs is right-flanking."""
    before, after = text[start - 1], text[end : end + 1]
    is_sign = unicodedata.category(before)[0] in "PS"
    return not is_sign or not after or after.isspace() or unicodedata.category(after)[0] in "PS"


@given(st.text("字：。「」a ", min_size=1, max_size=6), st.text("字a，", min_size=1, max_size=3))
def test_an_emphasis_with_a_letter_is_closed(inside: str, behind: str) -> None:
    inside = f"字{inside.strip()}"
    text = with_visible_emphasis(f"**{inside}**{behind}")
    assert text.replace("*", "") == inside + behind
    _, second = re.finditer(r"\*\*", text)
    assert closes(text, second.end(), second.start())
