"""Checks of a text's form, and when they are inconclusive."""

import pytest

from nmtkit.evaluation.text_checks import (
    find_escape,
    holds_subwords,
    looks_decomposed,
    looks_escaped,
    looks_tokenized,
    looks_unspaced,
    shared_words,
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Il dort ."] * 9 + ["Il dort."], True),
        (["Il dort."] * 9 + ["Il dort ."], False),
        (["Il dort.  "] * 9, False),
        (["Il dort ."] * 4, None),
        (["Il dort ."] * 5 + ["Dort-il ?"] * 50, None),
        ([], None),
    ],
)
def test_looks_tokenized(lines: list[str], expected: bool | None) -> None:
    assert looks_tokenized(lines) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Il dort .", "l&apos; eau"], True),
        (["a &#91; b"], True),
        (["Il dort .", "l' eau"], False),
        (["R & D"], None),
        (["Il dort ."], None),
        ([], None),
    ],
)
def test_looks_escaped(lines: list[str], expected: bool | None) -> None:
    assert looks_escaped(lines) is expected


def test_the_first_escape_is_found() -> None:
    assert find_escape("R & D; l&apos; eau &quot; &eacute;") == "&apos;"
    assert find_escape("R & D; caf&eacute;") is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ad@@ vance", True),
        ("▁an ▁ex ample", True),
        ("a @-@ b", False),
        ("name@@example", False),
        ("▁▂▃ ▁", False),
    ],
)
def test_holds_subwords(line: str, expected: bool) -> None:
    assert holds_subwords(["Il dort .", line]) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("Il est allé", False), ("Il est alle\u0301", True), ("« oui »", None), ("क\u093c", None)],
)
def test_looks_decomposed(line: str, expected: bool | None) -> None:
    assert looks_decomposed([line, "Il dort."]) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("这是一个例子。", True),
        ("これは 例 です X11", True),
        ("นี่คือตัวอย่าง", True),
        ("ຕົວຢ່າງ", True),
        ("これ is an example of 文 in English", False),
        ("예를 들어", False),
        ("Это пример", False),
        ("123 …", False),
    ],
)
def test_looks_unspaced(line: str, expected: bool) -> None:
    assert looks_unspaced([line]) is expected


def test_shared_words_are_those_of_the_same_line() -> None:
    lines = [f"a{n} B{n} c{n} d{n}" for n in range(25)]
    others = [f"x b{n} y" for n in range(25)]
    assert shared_words(lines, others) == 0.25 and shared_words(lines, lines) == 1
    assert shared_words(lines, others[::-1]) == 0.01  # the line in the middle
    assert shared_words(lines[1:], others[1:]) is None
