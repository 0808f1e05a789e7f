"""Lengths mean the same in scripts with and without blanks."""

import pytest

from nmtkit.text.scripts import is_spaced, length_in_words, unwrapped, why_not_words


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        (" \u3000\t", 0),
        ("one two, three", 3),
        ("été à 3 %", 4),
        ("猫坐在垫子上", 3),
        ("猫坐在垫子上，然后走开了。", 8),
        ("このファイル", 2),
        ("使用 Python 脚本", 3),
        ("ภาษาไทย", 2),
        ("한국어 문장", 2),
        ("x" * 500, 1),
    ],
)
def test_length_in_words(text: str, length: int) -> None:
    assert length_in_words(text) == length


def test_a_line_without_blanks_can_be_too_long() -> None:
    assert length_in_words("猫" * 200) == 100
    assert length_in_words("ก" * 500) == 100


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("words and 3 more", None),
        ("", None),
        ("слова", None),
        ("คำ", "without blanks"),
        ("हिन्दी में", "combining marks"),
        ("می\u200cخواهم", "joiners"),
    ],
)
def test_reasons_not_to_split_at_blanks(text: str, reason: str | None) -> None:
    found = why_not_words([text])
    assert found is reason if reason is None else reason in str(found)


def test_characters_of_words() -> None:
    assert all(map(is_spaced, "aé9\u0301ж한"))
    assert not any(map(is_spaced, "。,. 猫のไ"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨日東\n京に", "昨日東京に"),
        ("东 \r\n\t 京", "东京"),
        ("行って、\n友達", "行って、友達"),
        ("他说：\n“走吧”\n他", "他说：“走吧”他"),
        ("โรง\nเรียน", "โรงเรียน"),
        ("កម្ពុ\nជា", "កម្ពុជា"),
        ("東 京\u3000に", "東 京\u3000に"),
        ("한국\n어", "한국\n어"),
        ("one\ntwo", "one\ntwo"),
        ("使用\nPython\n脚本", "使用\nPython\n脚本"),
        ("“one”\n“two”", "“one”\n“two”"),
    ],
)
def test_line_breaks_within_unspaced_text_go(text: str, expected: str) -> None:
    assert unwrapped(text) == expected
