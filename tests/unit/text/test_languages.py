"""The language of a tag chooses the rules of tokenisation."""

import pytest

from nmtkit.text.languages import base_language, has_moses_rules, rules_language
from nmtkit.text.tokenizer import Detokenizer, Tokenizer

GERMAN = "Das ist z. B. der 3. Mai, d. h. Nr. 5 ca. 10 Uhr."


@pytest.mark.parametrize(("tag", "language"), [("de", "de"), ("pt-BR", "pt"), ("zh_Hant", "zh")])
def test_script_and_region_do_not_choose_rules(tag: str, language: str) -> None:
    assert base_language(tag) == rules_language(tag) == language
    assert has_moses_rules(tag)


def test_mandarin_has_the_rules_of_chinese() -> None:
    assert rules_language("cmn-Hans") == "zh"
    assert not has_moses_rules("ka")


@pytest.mark.parametrize("tag", ["de", "de-AT"])
def test_german_abbreviations_and_ordinals_keep_their_periods(tag: str) -> None:
    expected = "Das ist z. B. der 3. Mai , d. h. Nr. 5 ca. 10 Uhr ."
    tokens = Tokenizer(tag).tokenize(GERMAN)
    assert " ".join(tokens) == expected
    assert Detokenizer(tag).detokenize(tokens) == GERMAN
    assert "z . B." in Tokenizer("en").text(GERMAN)


def test_french_of_a_region_is_french() -> None:
    tokens = Tokenizer("fr-CA").tokenize("L'eau, qu'est-ce ?")
    assert tokens == ["L'", "eau", ",", "qu'", "est-ce", "?"]
    assert Detokenizer("fr-CA").detokenize(tokens) == "L'eau, qu'est-ce ?"
