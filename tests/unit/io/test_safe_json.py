"""Parsing untrusted numbers and JSON gives a value, None or a ValueError, and nothing else."""

import pytest

from nmtkit.io.safe_json import parse_json, parse_natural


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("9" * 5000, None)]
    + [
        (text, None) for text in ("", "-1", "+1", "1_0", "1.0", " 1", "1\n", "٣", "²", "nan", "0x1")
    ],
)
def test_a_natural_number_has_at_most_18_ascii_digits(text, number):
    assert parse_natural(text) == number


@pytest.mark.parametrize("text", ["", "{", "[1] 2", "\x00", "[" * 100_000, '{"a":' * 100_000])
def test_invalid_json_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse_json(text)


def test_too_many_digits_are_a_value_error_too():
    with pytest.raises(ValueError, match="^a number has too many digits$"):
        parse_json("9" * 5000)
    assert parse_json('{"a": ["\\ud800"]}') == {"a": ["\ud800"]}


def test_json_may_begin_with_a_byte_order_mark():
    assert parse_json('\ufeff{"a": 1}') == {"a": 1}
    with pytest.raises(ValueError):
        parse_json("\ufeff\ufeff{}")
