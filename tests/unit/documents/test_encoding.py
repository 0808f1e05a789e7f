"""Bytes as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.documents.encoding import decode
from nmtkit.errors import DataError
from tests.unit.documents.stand_ins import translated


@given(st.binary(max_size=50), st.sampled_from(["utf-8", "utf-16", "cp1252", "shift_jis", None]))
def test_bytes_come_back_or_are_refused(data: bytes, declared: str | None) -> None:
    try:
        text, encoding = decode(data, "x", declared)
    except DataError:
        return
    assert encoding.encode(text) == data


@pytest.mark.parametrize("name", ["klingon", "rot13", "base64", "utf-7\x00", "idna"])
def test_unknown_encodings_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="cannot be read and written byte for byte"):
        decode(b"abc\xff", "x", name)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("md", "# a h\u00e9\n\nb\n"),
        ("tsv", "a h\u00e9\tb\n"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\na h\u00e9\n"),
    ],
)
def test_utf_16_without_a_mark_is_known_by_its_first_letters(
    format: str, text: str, encoding: str
) -> None:
    changed = translated(text.encode(encoding), format, str.upper)
    assert not changed.warnings
    assert changed.data == text.replace("a h\u00e9", "A H\u00c9").replace("\nb", "\nB").encode(
        encoding
    )
