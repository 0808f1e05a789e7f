"""Abbreviations whose period does not end a sentence."""

from nmtkit.text.abbreviations import abbreviations
from nmtkit.text.characters import moses_prefixes


def test_lists_are_beside_those_of_moses() -> None:
    for general, own in zip(moses_prefixes("ro"), abbreviations("ro"), strict=True):
        assert general < own


def test_a_language_without_a_list_uses_the_english_one() -> None:
    assert abbreviations("xx") == abbreviations("en")
    assert "Sen" in abbreviations("en")[0] and "Sen" not in abbreviations("tr")[0]


def test_words_in_small_letters_may_begin_with_a_capital() -> None:
    in_general, before_digits = abbreviations("da")
    assert {"hr", "Hr", "f.eks", "F.eks"} <= in_general
    assert {"kap", "Kap"} <= before_digits
