"""Lines of subtitles, divided where readers expect it."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.documents.line_division import MAX_UNDIVIDED, NOT_FIRST, divided_line


@pytest.mark.parametrize(
    ("line", "most", "lines"),
    [
        ("one two three four", 2, ["one two", "three four"]),
        ("one", 2, ["one"]),
        ("", 2, [""]),
        ("我们今天去北京看长城", 2, ["我们今天去北京看长城"]),
        (
            "我们今天去北京看长城，明天去上海看朋友。",
            2,
            ["我们今天去北京看长城，", "明天去上海看朋友。"],
        ),
        ("私は昨日東京に行って友達に会いました", 2, ["私は昨日東京に行って", "友達に会いました"]),
        (
            "私は昨日「東京」に行った。とても楽しい。",
            2,
            ["私は昨日「東京」に行った。", "とても楽しい。"],
        ),
        ("สวัสดีครับคุณสมชาย ผมชื่อแดง", 2, ["สวัสดีครับคุณสมชาย", "ผมชื่อแดง"]),
        ('<font color="a b">one two</font>', 2, ['<font color="a b">one', "two</font>"]),
        ("{\\fad(1, 2)}one two", 2, ["{\\fad(1, 2)}one", "two"]),
    ],
)
def test_lines_are_divided(line: str, most: int, lines: list[str]) -> None:
    assert divided_line(line, most) == lines


LINES = st.text("私はーッ。、」「（）ゃ々か\u3099東ンAb1 <>", max_size=80).map(
    lambda text: " ".join(text.split())
)


@given(LINES, st.integers(1, 5))
def test_division_loses_nothing_and_keeps_marks_where_they_belong(line: str, most: int) -> None:
    lines = divided_line(line, most)
    assert len(lines) <= most
    assert "".join(lines).replace(" ", "") == line.replace(" ", "")
    for before, after in zip(lines, lines[1:], strict=False):
        if f"{before} {after}" not in line:
            assert not re.match(f"[\u3099{NOT_FIRST}]", after)
            assert not before.endswith(("「", "（", "A", "b", "1"))
    if " " not in line and 2 * len(line) <= MAX_UNDIVIDED:
        assert lines == [line]


@pytest.mark.parametrize("most", [2, 1000, 50_000])
@pytest.mark.parametrize("unit", ["私", "私 ", "a ", "<"])
def test_long_lines_are_no_problem(unit: str, most: int) -> None:
    """Take time that grows with the length."""
    begin = time.process_time()
    assert len(divided_line((unit * 50_000).rstrip(), most)) <= most
    assert time.process_time() - begin < 20
