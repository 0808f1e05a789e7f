"""Digests of pairs: exact copies, near copies, and copies that follow one another."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.preprocessing.duplicates import DigestSet, GroupedDigests, digest, near_digest


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=20), max_size=12))
def test_a_digest_is_new_once(blocks: list[list[int]]) -> None:
    """The sorted runs and their merging find what a set finds."""
    digests, seen = DigestSet(), set[int]()
    for block in blocks:
        expected = []
        for number in block:
            expected.append(number not in seen)
            seen.add(number)
        assert digests.add([digest(str(number).encode()) for number in block]) == expected
    assert len(digests) == len(seen)


def test_a_pair_is_not_the_same_as_its_text_divided_elsewhere() -> None:
    assert digest(b"a", b"b c") != digest(b"a b", b"c")


@pytest.mark.parametrize(
    ("line", "other", "same"),
    [
        ("Page 12: Hello, world!", "page 7 – hello world", True),
        ("Ａｂｃ", "abc", True),
        ("résumé", "resume", False),
        ("1,5", "1, 5", False),
        ("1  5", "1 5", True),
    ],
)
def test_near_copies_have_the_same_letters(line: str, other: str, same: bool) -> None:
    assert (near_digest(line, "x", "both") == near_digest(other, "x", "both")) is same
    assert (near_digest("x", line, "tgt") == near_digest("y", other, "tgt")) is same
    assert near_digest(line, "x", "src") == near_digest(line, "y", "src")


def test_of_consecutive_sources_each_target_is_new_once() -> None:
    digests = GroupedDigests()
    assert digests.add([b"a", b"a", b"b"], [b"1", b"1", b"1"]) == [True, False, True]
    assert digests.add([b"b", b"c"], [b"1", b"2"]) == [False, True]
