"""Lines that segmenters cut, and models with changed text settings."""

import dataclasses

LINES = ["a b c d", "", "e", "a b c d", "f f a b", "   ", "b a c a d a e a"]


def with_text(model, **changes):
    """Return a model with changed text settings."""
    text = dataclasses.replace(model.config.text, **changes)
    return dataclasses.replace(model, config=dataclasses.replace(model.config, text=text))


def backwards(model):
    return with_text(model, src_language="fr", tgt_language="en")
