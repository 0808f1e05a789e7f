"""Bytes as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.documents.encoding import decode
from nmtkit.errors import DataError


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
