"""Lines that segmenters cut, and models for both directions."""

import dataclasses

from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.random_segmenter import RandomSegmenter, with_random_confidences
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.segmenter import ConfidentSegmenter
from nmtkit.inference.segments_file import segments_line
from nmtkit.inference.translator import Translator

LINES = ["a b c d", "", "e", "a b c d", "f f a b", "   ", "b a c a d a e a"]


def with_text(model, **changes):
    """Return a model with changed text settings."""
    text = dataclasses.replace(model.config.text, **changes)
    return dataclasses.replace(model, config=dataclasses.replace(model.config, text=text))


def backwards(model):
    return with_text(model, src_language="fr", tgt_language="en")


def translator_of(make_model):
    return Translator(Ensemble((make_model(1),)), batch_size=4)


def reverse_of(make_model):
    return Scorer(Ensemble((backwards(make_model(2, src="vwxyz", tgt="abcde")),)), batch_size=5)


def confident_of(make_model):
    return ConfidentSegmenter(translator_of(make_model), reverse_of(make_model), max_words=3)


def random_of(make_model):
    return RandomSegmenter(translator_of(make_model), with_random_confidences(3), seed=1)


def write_segments(path, confident):
    """Write the segmenter's segments of some lines to a file."""
    lines = [segments_line(line.segments) for line in confident.segment(LINES)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
