"""Tokens of raw pairs, with placeholders for names that a model copies."""

import pytest

from nmtkit.config import TextConfig
from nmtkit.text.masked_pairs import mask_pair, pair_tokens, translated_names
from nmtkit.text.names import PLACEHOLDERS, NameCounts, Names
from nmtkit.text.pipeline import TextPipeline


@pytest.fixture
def pipelines():
    """Pipelines of a model that copies numbers and unknown names."""
    settings = TextConfig(copy_names=True)
    names = Names.learn(NameCounts.empty())
    return TextPipeline("en", settings, None, names=names), TextPipeline("fr", settings, None)


def test_the_source_has_the_tokens_that_a_translator_reads(pipelines):
    source = "We met Zyx in 1234 ."
    tokens = pair_tokens(pipelines, source, "Nous avons vu Zyx en 1234 .")
    assert tokens[0] == pipelines[0].tokens(source)
    assert set(PLACEHOLDERS).intersection(tokens[0])
    assert [t for t in tokens[0] if t in PLACEHOLDERS] == [
        t for t in tokens[1] if t in PLACEHOLDERS
    ]


def test_in_training_a_name_that_is_translated_is_no_placeholder(pipelines):
    src, tgt = mask_pair(pipelines, "in Zyx", "à Zyks", training=True)
    assert (src, tgt) == ("in Zyx", "à Zyks")
    assert mask_pair(pipelines, "in Zyx", "à Zyks", training=False)[0] != "in Zyx"


def test_pairs_without_names_are_words():
    plain = TextPipeline("en", TextConfig(), None), TextPipeline("fr", TextConfig(), None)
    assert pair_tokens(plain, "a cat.", " un chat.") == (["a", "cat", "."], ["un", "chat", "."])
    assert pair_tokens(plain, "", "x") == ([], ["x"])


@pytest.mark.parametrize(
    ("src", "tgt", "names"),
    [
        ("in Zyx", "à Zyks", ["Zyx"]),
        ("in Zyx", "à Zyx", []),
        ("in Zyx of 1234", "à Zyx , 1235", ["1234"]),
        ("in a house", "à la maison", []),
    ],
)
def test_names_that_the_target_lacks_are_those_whose_placeholders_it_lacks(
    pipelines, src, tgt, names
):
    assert translated_names(pipelines, src, tgt) == names
    tokens = pair_tokens(pipelines, src, tgt)
    lacking = set(PLACEHOLDERS).intersection(tokens[0]).difference(tokens[1])
    assert len(lacking) == len(names)
