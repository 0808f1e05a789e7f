"""Sentences of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.sentences import MAX_CHARACTERS, Lines, find_sentences


def split(text: str, language: str = "en", lines: Lines = Lines.FOLD) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text, language, lines)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", " One. Two!  Three? ", ["One.", "Two!", "Three?"]),
        ("en", "Mr. Smith met J. Doe. They left.", ["Mr. Smith met J. Doe.", "They left."]),
        ("en", "See No. 5. Then 3.5 km.", ["See No. 5. Then 3.5 km."]),
        ("en", 'He said "Go." She went.', ['He said "Go."', "She went."]),
        ("en", "Wait... what? No", ["Wait... what?", "No"]),
        ("en", "e.g. this. one", ["e.g. this. one"]),
        ("en", "A | B", ["A", "|", "B"]),
        ("de", "Am 10. Mai z. B. kam er. Er blieb.", ["Am 10. Mai z. B. kam er.", "Er blieb."]),
        ("ja", "これは。次です！「はい。」と", ["これは。", "次です！", "「はい。」", "と"]),
        ("hi", "यह है। वह है।", ["यह है।", "वह है।"]),
        ("xx", "One. Two", ["One.", "Two"]),
        ("en", "", []),
        ("en", " \n ", []),
    ],
)
def test_sentences(language: str, text: str, expected: list[str]) -> None:
    assert split(text, language) == expected


@pytest.mark.parametrize(
    ("lines", "text", "expected"),
    [
        (Lines.FOLD, "One\nTwo", ["One\nTwo"]),
        (Lines.KEEP, "One\nTwo", ["One", "Two"]),
        (Lines.KEEP, "One goes\non here.\nTwo", ["One goes\non here.", "Two"]),
        (Lines.KEEP, "Options:\nlist them\n\n- a\n- b", ["Options:", "list them", "a", "b"]),
        (Lines.WRAP, "One met\nBob\n- No", ["One met\nBob", "No"]),
        (Lines.HARD, "One  \nTwo\nthree", ["One", "Two\nthree"]),
    ],
)
def test_line_breaks(lines: Lines, text: str, expected: list[str]) -> None:
    assert split(text, lines=lines) == expected


@given(st.text("ab .,。\n-", max_size=300), st.sampled_from(Lines))
def test_sentences_are_in_order_and_lose_no_letter(text: str, lines: Lines) -> None:
    spans = find_sentences(text, "en", lines)
    ends = [0, *(offset for span in spans for offset in span), len(text)]
    assert ends == sorted(ends)
    between = [text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
    assert not any(character.isalpha() for gap in between for character in gap)
    assert all(text[start:end].strip() == text[start:end] for start, end in spans)


@pytest.mark.parametrize("word", ["a", "word ", "word, "])
def test_long_sentences_are_divided(word: str) -> None:
    text = word * 3 * MAX_CHARACTERS
    parts = split(text)
    assert all(len(part) <= MAX_CHARACTERS for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    if word != "a":
        assert all(part.startswith("word") for part in parts)
