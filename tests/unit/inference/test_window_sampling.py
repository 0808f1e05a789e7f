"""Samples of windows: what they depend on."""

from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from tests.unit.inference.random_lines import random_lines


def test_samples_depend_on_the_seed_and_the_line_number(translator, make_model):
    lines = random_lines(90)
    tokens = [[t.tokens for t in samples] for samples in translator.sample(lines, n=2, seed=3)]
    one_window = Translator(Ensemble((make_model(1),)), batch_size=64)
    in_one_window = one_window.sample(lines, n=2, seed=3)
    assert tokens == [[t.tokens for t in samples] for samples in in_one_window]
    assert len(tokens) == len(lines) and all(len(samples) == 2 for samples in tokens)
    second_part = translator.sample(lines[70:], n=2, seed=3, first_line=71)
    assert tokens[70:] == [[t.tokens for t in samples] for samples in second_part]
    other_tokens = [
        [t.tokens for t in samples] for samples in translator.sample(lines, n=2, seed=4)
    ]
    assert tokens != other_tokens
