"""Names are found by what the training data does with them, and come back exactly."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError
from nmtkit.text.names import (
    PLACEHOLDERS,
    NameCounts,
    Names,
    Uses,
    mask,
    may_be_name,
    names_in_both,
    unmask,
)

PAIRS = [
    ("I met Lena near Bern .", "J' ai rencontré Lena près de Bern ."),
    ("The Danube is long .", "Le Danube est long ."),
    ("We saw the Danube .", "Nous avons vu le Danube ."),
    ("In March we saw Lena .", "En mars nous avons vu Lena ."),
    ("He came in March .", "Il est venu en mars ."),
    ("Skiers like 1204 .", "Les skieurs aiment 1204 ."),
]


def learn(pairs: list[tuple[str, str]]) -> Names:
    counts = NameCounts.empty()
    for src, tgt in pairs:
        counts.add_pair(src.split(), tgt.split())
    return Names.learn(counts)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("They saw Lena .", ["Lena"]),
        ("Lena saw them .", ["Lena"]),  # at the beginning, too, as the training data copies it
        ("They saw Ida .", ["Ida"]),
        ("Ida saw them .", []),  # any new word has a capital there
        ("AIDA saw them .", ["AIDA"]),
        ("He came in March .", []),
        ("Skiers saw Skiers .", []),
        ("They paid 77 to Ida and 78 to Lena , said Ida .", ["77", "Ida", "78", "Lena"]),
        ("They read The Danube March .", ["The", "Danube", "March"]),
        ("no name , - . <b> http://a.b/c", []),
        ("the ❶ and ❷", ["❶", "❷"]),
        ("", []),
    ],
)
def test_words_that_translations_copy_are_names(line: str, names: list[str]) -> None:
    assert learn(PAIRS).find(line.split(" ")) == names


def test_frequent_words_are_translated_like_any_other() -> None:
    names = learn([("He met Lena .", "Il a vu Lena .")] * 19)
    assert names.find(["to", "Lena"]) == ["Lena"]
    assert learn([("He met Lena .", "Il a vu Lena .")] * 20).find(["to", "Lena"]) == []


def test_words_of_another_script_are_not_copied() -> None:
    pairs = [(f"He met X{c * 2} .", f"Он видел {c} .") for c in "abcdefghijk"]
    names = learn([*pairs, ("He met 1204 .", "Он видел 1204 .")])
    assert names.find("He met Lena at 1204 .".split()) == ["1204"]


def test_nouns_with_capitals_beside_a_name_are_translated() -> None:
    pairs = [(f"das Haus H{c * 2} und {c}", f"the house {c}") for c in "abcdefghijk"]
    names = learn([*pairs, ("die Funktion ATAN2 ist da", "the function ATAN2 is there")])
    assert names.find("die Funktion ATAN2 und Wert ATAN3".split()) == ["ATAN2", "ATAN3"]


def test_new_words_are_judged_by_where_they_have_capitals() -> None:
    letters = "abcdefghijk"
    pairs = [
        (f"the word H{c * 2} and set{c.upper()}x", f"das Wort {c} und set{c.upper()}x")
        for c in letters
    ]
    pairs += [(f"the part {c}_{c} of x.{c}{c}", f"der Teil {c}_{c} von x,{c}{c}") for c in letters]
    names = learn(pairs)
    line = "so Width and newWidth , odd_integers , x.foo , FormatCells here".split()
    assert names.find(line) == ["newWidth", "odd_integers", "FormatCells"]
    assert names.find("so ABC".split()) == ["ABC"]  # half of all words with capitals are copied


def test_words_in_lower_case_are_no_names_if_none_was_counted() -> None:
    pairs = [(f"the part Name{letter}", f"der Teil Name{letter}") for letter in "abcdefghijklmno"]
    line = "so Width met Lena at p.m. near odd_integers and 20th , 77".split()
    assert learn(pairs).find(line) == ["Width", "Lena", "77"]  # as by counts of nmtkit 0.2
    assert "p.m." in learn([*pairs, ("the x.y here", "das x.y hier")]).find(line)


def test_a_shape_of_few_words_is_judged_by_all_words() -> None:
    pairs = [(f"we met X{c * 2} .", f"мы видели {c} .") for c in "abcdefghijk"]
    assert learn(pairs).find("we met NATO and newWidth .".split()) == []


def test_numbers_that_are_written_in_another_way_are_not_copied() -> None:
    pairs = [(f"pay {n},5 to {n}{n}{n}", f"payez {n}.5 à {n}{n}{n}") for n in range(11)]
    assert learn(pairs).find("pay 88,7 to 4040".split()) == ["4040"]


def test_further_names_than_placeholders_stay() -> None:
    line = [f"{number}{number}{number}" for number in range(1, 10)]
    assert learn(PAIRS).find(line) == line[: len(PLACEHOLDERS)]


WORDS = st.lists(st.sampled_from(["Lena", "Bern", "GI", "77", "the", ".", *PLACEHOLDERS[:3]]))


@settings(max_examples=60)
@given(WORDS)
def test_names_come_back(words: list[str]) -> None:
    names = learn(PAIRS).find(words)
    masked = mask(words, names)
    assert unmask(masked, names) == words
    assert not set(names) - set(PLACEHOLDERS) & set(masked)


def test_a_file_has_all(tmp_path: Path) -> None:
    names = learn(PAIRS)
    names.save(tmp_path / "names.src")
    assert Names.load(tmp_path / "names.src").uses == names.uses
    (tmp_path / "bad").write_text("Lena\t1\t1\t1\nBern\t1\n")
    with pytest.raises(DataError, match="bad:2: not a word and three numbers"):
        Names.load(tmp_path / "bad")


@pytest.mark.parametrize("word", ["<B>", "a", "'S", "%S", "U.S.A.:x", "été", "B&B!", "字"])
def test_other_words_are_no_names(word: str) -> None:
    assert not may_be_name(word)


@given(st.integers(0, 99), st.integers(0, 99))
def test_a_word_is_translated_if_it_is_copied_less_often_than_not(copied: int, other: int) -> None:
    assert Uses(copied + other, copied, 0).is_translated == (copied < other)


@given(st.lists(st.sampled_from("ABC")), st.lists(st.sampled_from("ABC")))
def test_names_of_both_sides_stand_equally_often_in_them(src: list[str], tgt: list[str]) -> None:
    found = names_in_both(src, tgt, "ABC")
    assert found == [name for name in "ABC" if Counter(src)[name] == Counter(tgt)[name]]
    assert names_in_both(["A", "A"], ["A"], ["A"]) == []
