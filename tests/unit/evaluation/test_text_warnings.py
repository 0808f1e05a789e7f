"""Warnings about text in another form or language than a metric needs."""

from nmtkit.evaluation.bleu_tokenizer import choose_tokenizer
from nmtkit.evaluation.text_warnings import Conversion, text_warnings


def test_text_in_another_language_is_warned_of_and_a_translation_is_not() -> None:
    lines = [f"a{n} b{n} c{n} d{n}" for n in range(25)]
    useful, foreign = ([f"a{n} x" if n < count else "y" for n in range(25)] for count in (15, 14))
    conversion = Conversion(None, None, choose_tokenizer("fr"))
    found = text_warnings([lines, lines, useful, foreign], ["out", "a", "b", "c"], conversion)
    (warning,) = found
    assert warning.startswith("of the words of out 14% are in the same line of c; ")
