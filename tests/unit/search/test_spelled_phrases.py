"""Phrases without blanks are found in whatever tokens they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.search.constraints import ConstrainedSentence, Constraints
from nmtkit.search.spelled_phrases import SpelledPhrases
from nmtkit.search.word_boundaries import WordBoundaries

TEXTS = [
    "",
    "あ",
    "い",
    "ああ",
    "あい",
    "いあ",
    "うあ",
    "あいう",
    "いうあ",
    " ",
    "ああいあ",
    "A",
    " あ",
    "\ufffd",
]


def sentence(*phrases: str) -> ConstrainedSentence:
    spelled = SpelledPhrases(text.encode() for text in TEXTS)
    automata = tuple(spelled.automaton(phrase) for phrase in phrases)
    boundaries = WordBoundaries([(text == "A", text == "A") for text in TEXTS])
    return ConstrainedSentence(Constraints(automata=automata), boundaries)


@pytest.mark.parametrize(
    "phrases", [["あ"], ["ああい"], ["あいあい", "いう"], ["あ いう"], ["いああいあ"]]
)
@given(tokens=st.lists(st.sampled_from(range(1, len(TEXTS))), max_size=12))
def test_a_text_is_allowed_if_it_lacks_the_phrases(phrases: list[str], tokens: list[int]) -> None:
    """Search forbids the last token of the first phrase, and no other token before it."""
    constrained, text = sentence(*phrases), ""
    assert constrained.allows(tokens) == (not any(one in _text(tokens) for one in phrases))
    state = constrained.start
    for token in tokens:
        is_there = any(phrase in text + TEXTS[token] for phrase in phrases)
        assert (token in constrained.view(state).rule.banned) == is_there
        if is_there:
            return
        text += TEXTS[token]
        state = constrained.move(state, token).state


def _text(tokens: list[int]) -> str:
    return "".join(TEXTS[token] for token in tokens)


@pytest.mark.parametrize(
    ("text", "is_there"),
    [("การ", True), ("การ์ด", False), ("การ์ดการ", True), ("ดการด", True), ("การการ์", True)],
)
def test_a_mark_behind_a_phrase_makes_another_word_of_it(text: str, is_there: bool) -> None:
    after = SpelledPhrases([text.encode()]).automaton("การ").following.get(0)
    assert (after is not None and after.is_end) == is_there
