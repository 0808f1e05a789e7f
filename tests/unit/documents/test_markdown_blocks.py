"""A translation that begins with another word stays a paragraph."""

import pytest

from nmtkit.documents.markdown_blocks import as_paragraph
from tests.unit.documents.stand_ins import translated


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("- a", r"\- a"),
        ("# a", r"\# a"),
        ("12. a", r"12\. a"),
        ("1) a", r"1\) a"),
        ("> a", r"\> a"),
        ("a\n---", "a\n" + r"\---"),
        ("===", r"\==="),
        ("* * *", r"\* * *"),
        ("```a", r"\```a"),
        ("~~~ a", r"\~~~ a"),
        ("<!-- c --> a *b*", "a *b* <!-- c -->"),
        ("<?php c ?> <!-- d -->a\\\nb", "a <?php c ?> <!-- d -->\\\nb"),
        ("<!-- c -->\na", "<!-- c -->\na"),
        *((same, same) for same in ("-a", "#a", "1.a", "*a* b", "`a`", "~~a~~", "2024 a", "= a")),
    ],
)
def test_no_line_begins_another_block(translation: str, expected: str) -> None:
    assert as_paragraph(translation, "a b") == expected
    assert as_paragraph(expected, "a b") == expected


def test_what_begins_the_source_may_begin_the_translation() -> None:
    """A heading may begin with a number, or with a comment."""
    for source, translation in (("1. a", "1. b"), ("<!-- c --> a", "<!-- c --> b")):
        assert as_paragraph(translation, source) == translation


def test_paragraphs_stay_paragraphs() -> None:
    signs = {"see": "#", "so": "-"}
    changed = translated("see 5\n\n- so 6\n", "md", lambda word: signs.get(word, word))
    assert changed.data.decode() == "\\# 5\n\n- \\- 6\n"
