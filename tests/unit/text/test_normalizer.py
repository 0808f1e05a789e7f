"""Normalisation before tokenisation."""

from nmtkit.text.normalizer import Normalizer


def test_accents_become_one_character() -> None:
    assert Normalizer("vi", nfc=True).normalize("Tie\u0302\u0301ng") == "Ti\u1ebfng"
    assert Normalizer("vi").normalize("e\u0301") == "e\u0301"


def test_punctuation_becomes_plain() -> None:
    assert Normalizer("en-GB", punctuation=True).normalize("“It’s” – yes…") == '"It\'s" - yes...'
