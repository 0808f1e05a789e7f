"""A text is its lines and their ends."""

from hypothesis import given
from hypothesis import strategies as st

from nmtkit.serve.fields import clean
from nmtkit.serve.files import safe_name
from nmtkit.serve.lines import count_lines, joined_text, split_text


@given(st.text(st.sampled_from("ab\r\n\u2028 ")))
def test_a_text_is_its_lines_and_their_ends(text):
    lines, endings = split_text(text)
    assert joined_text(lines, endings) == text
    assert len(lines) == text.count("\n") + 1
    assert count_lines(text) == len(lines) - (text.endswith("\n"))
    assert not any("\n" in line for line in lines)


@given(st.text(st.characters(exclude_categories=[])))
def test_what_is_no_text_becomes_text(text):
    clean(text).encode("utf-8")


@given(st.text())
def test_a_name_of_a_file_is_no_path(name):
    found = safe_name(name)
    assert "/" not in found and "\\" not in found and len(found) <= 100
    assert found.isprintable()
