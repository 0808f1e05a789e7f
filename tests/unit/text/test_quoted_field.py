"""Quotation marks of spreadsheets around fields."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.quoted_field import quoted, unquoted


@given(st.text('a" '))
def test_what_was_quoted_is_found_again(text: str) -> None:
    assert unquoted(quoted(text)) == text
    assert next(csv.reader([quoted(text)])) == [text]


@pytest.mark.parametrize("field", ["", "a", '"', '"a', 'a"', '"a" b', '"a" and "b"', '"a"b"'])
def test_other_fields_have_no_quotation_marks_around_them(field: str) -> None:
    assert unquoted(field) is None
