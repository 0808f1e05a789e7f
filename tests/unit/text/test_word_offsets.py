"""Words found in their text."""

from itertools import accumulate
from typing import Literal
from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.tokenizer import Detokenizer, Tokenizer
from nmtkit.text.word_offsets import original_offsets, word_offsets

words = st.lists(st.text("abcé’ß,.", min_size=1, max_size=6), max_size=8)


@given(words, st.data())
def test_words_are_found_between_any_spaces(words: list[str], data: st.DataObject) -> None:
    gaps = [data.draw(st.sampled_from(["", " ", "\xa0"])) for _ in words]
    text = "".join(gap + word for gap, word in zip(gaps, words, strict=True))
    assert [text[start:end] for start, end in word_offsets(words, text)] == words


@given(words, st.text("abc’', ", max_size=30))
def test_offsets_of_any_text_are_in_order(words: list[str], text: str) -> None:
    offsets = word_offsets(words, text)
    flat = [0, *(value for pair in offsets for value in pair), len(text)]
    assert flat == sorted(flat) and len(offsets) == len(words)


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        (["It", "'s", "5", "%"], "It’s 5 %", ["It", "s", "5", "%"]),
        (["the", "End"], "The end", ["The", "end"]),
        (["a", "@-@", "b", "c"], "a-b c", ["a", "", "b", "c"]),
        (["ı", "ii", "ışık", "i"], "I İİ Işık İ", ["I", "İİ", "Işık", "İ"]),
        (["ż", "ii"], "z\u0307 I\u0307I\u0307", ["z\u0307", "I\u0307I\u0307"]),
        (["x", "missing", "tail", "end"], "x tail end", ["x", "", "tail", "end"]),
    ],
)
def test_what_differs_is_skipped(words: list[str], text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in word_offsets(words, text)] == expected


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("line", ["un café noir", "😀 é open", "Tiếng Việt có dấu", "की फ़ाइल खोलें"])
def test_accents_may_be_marks_of_their_own(line: str, form: Literal["NFC", "NFD"]) -> None:
    words = [normalize(form, word) for word in line.split()]
    for text in (normalize("NFC", line), normalize("NFD", line)):
        assert [text[start:end] for start, end in word_offsets(words, text)] == text.split()


@pytest.mark.parametrize(
    "line",
    [
        "\u0625\u0646\u0651\u064e الله",
        "\u05de\u05bc\u05b8 ב",
        "e\u0302\u0323 a",
        "n\u0301\u0329 m",
        "\u0f40\u0f74\u0f71 \u0f40",
    ],
)
def test_the_order_of_marks_does_not_matter(line: str) -> None:
    words = normalize("NFC", line).split()
    assert [line[start:end] for start, end in word_offsets(words, line)] == line.split()


@given(st.lists(st.text("aeか\u0302\u0323\u3099", min_size=1, max_size=4), max_size=6))
def test_no_offset_is_between_a_character_and_its_marks(words: list[str]) -> None:
    text = "".join(words)
    for offset in {value for pair in word_offsets(words, text) for value in pair} - {0, len(text)}:
        assert not category(text[offset]).startswith("M")


@pytest.mark.parametrize("line", ["Il l’a dit : « Ça coûte 5 % ! »", "Where's John's dog-house?"])
def test_tokenised_words_are_found(line: str) -> None:
    language = "fr" if "«" in line else "en"
    tokens = Tokenizer(language).text(line).split()
    found = [line[start:end] for start, end in word_offsets(tokens, line)]
    assert found == tokens
    text = Detokenizer(language).detokenize(tokens)
    assert [text[start:end] for start, end in word_offsets(tokens, text)] == tokens


@given(words, st.text("abc’', ", max_size=30), st.data())
def test_offsets_move_to_the_text_that_was_normalised(
    words: list[str], text: str, data: st.DataObject
) -> None:
    offsets = word_offsets(words, text)
    assert original_offsets(offsets, range(len(text) + 1)) == offsets
    steps = [data.draw(st.integers(0, 2)) for _ in range(len(text) + 1)]
    origins = [*accumulate(steps)]
    moved = original_offsets(offsets, origins)
    flat = [0, *(value for pair in moved for value in pair), origins[-1]]
    assert flat == sorted(flat)
    for (start, end), (first, last) in zip(offsets, moved, strict=True):
        assert first >= origins[start] or start == end
        assert start == end or last >= origins[end]
