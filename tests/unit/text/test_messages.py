"""Messages of ICU: where their variants are, and what stands for them."""

import pytest

from nmtkit.text.messages import find_variants, plain_message


def test_variants_have_their_texts_and_numbers() -> None:
    line = "x {n, plural, =1 {a } one { b} other{c {d}} few {} many { }} {y}"
    found = list(find_variants(line, 2, len(line) - 4))
    assert [(line[one.start : one.end], one.number) for one in found] == [
        ("a", "1"), ("b", "1"), ("c {d}", "5"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("{n, plural, one {# file} other {# files in {dir}}}", "5 files in dir"),
        ("{s, select, a {x} other {y {n, plural, other {{d, date, short} z}}}}", "y d z"),
        ("{n, plural, other {}}", "5"),
        ("{n, plural, other {#}}", "5"),
    ],
)
def test_a_variant_stands_for_a_message(message: str, text: str) -> None:
    assert plain_message(message) == text


def test_time_grows_with_the_length() -> None:
    word = "水" * 300_000
    assert plain_message(f"{{n, plural, other {{{word}}}}}") == word
