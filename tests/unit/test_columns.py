"""The columns of text, beside what terminals and gettext's tools (gnulib's uc_width) do."""

import pytest

from nmtkit.columns import columns


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u0301", 1),  # a combining accent
        ("漢字、", 6),
        ("ｱ", 1),  # half-width katakana
        ("Ａ", 2),  # a full-width letter
        ("한", 2),
        ("\u1112\u1161\u11ab", 2),  # the same syllable in single jamo
        ("ที่", 1),  # Thai: a vowel and a tone mark above
        ("कि", 2),  # a vowel sign with a column of its own (Mc)
        ("\u05d0\u05b8", 1),  # Hebrew niqqud
        ("\u200e\u200b", 0),
        ("a\u00adb", 3),  # a soft hyphen
        ("👍", 2),
    ],
)
def test_columns(text: str, width: int) -> None:
    assert columns(text) == width


def test_the_columns_of_texts_add() -> None:
    texts = ["plain", "漢", "é", "ที่"]
    assert columns("".join(texts)) == sum(map(columns, texts))
