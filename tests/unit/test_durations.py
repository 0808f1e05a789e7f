"""Durations are read and written in the same units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.durations import format_duration, parse_duration, write_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("2d", 172_800), ("1.5h", 5400), (" 2 H ", 7200)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "m", "30 minutes", "-5m", "5m1h", "1e3s", "٣m", "inf"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it as 90s, 30m, 1h30m or 2d"):
        parse_duration(text)


@given(st.integers(1, 10**10))
def test_a_duration_is_read_as_it_was_written(milliseconds: int) -> None:
    text = write_duration(milliseconds / 1000)
    assert round(1000 * parse_duration(text)) == milliseconds and " " not in text


@given(st.integers(1, 10_000_000))
def test_a_message_has_two_units(seconds: int) -> None:
    back = parse_duration(format_duration(seconds))
    assert back <= seconds
    assert back > seconds - 86_400 and (back == seconds or seconds > 3600)


def test_no_time() -> None:
    assert format_duration(0.2) == "0s"
