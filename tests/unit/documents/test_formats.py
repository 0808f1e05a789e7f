"""Formats of files."""

import pytest

from nmtkit.documents.formats import format_of


@pytest.mark.parametrize(
    ("name", "format"), [("a.b.HTM", "html"), (".md", "md"), ("md", None), ("a.md.gz", None)]
)
def test_a_format_is_found_by_the_end_of_a_name(name: str, format: str | None) -> None:
    assert format_of(name) == format
