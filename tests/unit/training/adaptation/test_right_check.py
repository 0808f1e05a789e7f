"""Corrections that come out right."""

from nmtkit.config import TextConfig
from nmtkit.text.pipeline import TextPipeline
from nmtkit.training.adaptation.right_check import right_lines


def test_a_translation_is_right_if_it_is_the_reference():
    text = TextPipeline("fr", TextConfig(), None)
    assert right_lines(["le chat", "un chien"], ["le chat ", "le chien"], text) == [True, False]


def test_a_translation_is_right_if_the_model_writes_the_reference_so():
    """The tokeniser takes off the double blank, which no translation can have."""
    text = TextPipeline("fr", TextConfig(), None)
    assert right_lines(["le chat , noir"], ["le  chat , noir"], text) == [
        text.line(text.tokens("le  chat , noir")) == "le chat , noir"
    ]
    written = text.line(text.tokens("le  chat"))
    assert right_lines([written], ["le  chat"], text) == [True]
