"""Case as marker tokens is undone exactly, whatever the text is."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.text.case_markers import CaseMarkers, capitalize
from nmtkit.text.markers import JOINED

WORDS = st.sampled_from(
    ["⇧", "⇪", "￭", "￭⇧", "I", "İ", "ı", "ß", "ẞ", "ǅ", "ΟΔΟΣ", "ﬁ", "ŉ", "NASA"]
)
TOKENS = WORDS | st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)


@given(st.lists(TOKENS, max_size=8), st.sampled_from(["en", "tr", "el"]))
@settings(max_examples=50)
@example(["￭⇧", "￭", "⇧", "Éa", "A"], "en")
def test_undoing_restores_any_words(words: list[str], language: str) -> None:
    markers = CaseMarkers(language)
    marked = markers.apply(" ".join(words)).split(" ") if words else []
    assert markers.undo(marked) == words
    assert all(marked)


@pytest.mark.parametrize(
    ("language", "words", "marked"),
    [
        ("en", "Paris is in EUROPE", "⇧ paris is in ⇪ europe"),
        ("en", "I saw McDonald", "⇧ i saw McDonald"),
        ("en", "<B> http://A.b {NAME} %S", "<B> http://A.b {NAME} %S"),
        ("tr", "Isparta İZMİR", "⇧ ısparta ⇪ izmir"),
        ("tr-TR", "İzmir", "⇧ izmir"),
        ("de", "Straße STRASSE", "⇧ straße ⇪ strasse"),
    ],
)
def test_words_with_capitals_get_a_marker(language: str, words: str, marked: str) -> None:
    assert CaseMarkers(language).apply(words) == marked


@pytest.mark.parametrize(
    ("word", "language", "capital"),
    [
        ("és", "fr", "És"),
        ("და", "ka", "და"),  # Georgian has no capitals in running text
        ("ijs", "nl", "IJs"),
        ("ijs", "de", "Ijs"),
        ("ǆep", "hr", "ǅep"),
        ("ﬁre", "en", "Fire"),
        ("istanbul", "tr", "İstanbul"),
        ("ılık", "az", "Ilık"),
        ("", "en", ""),
    ],
)
def test_the_first_letter_is_a_capital_of_the_language(
    word: str, language: str, capital: str
) -> None:
    assert capitalize(word, language) == capital


def test_markers_of_spacing_pass_between_a_marker_and_its_word() -> None:
    markers = CaseMarkers("en", protects=False)
    assert markers.undo(["⇧", JOINED, "a", "⇪"]) == [JOINED, "A"]
    assert markers.undo(["⇪", "⇧", "ab"]) == ["Ab"]
    assert markers.apply(f"a {JOINED} B") == f"a {JOINED} ⇧ b"
