"""Corrections are read, checked and split into the model's tokens."""

import dataclasses
import logging

import pytest

from nmtkit.errors import DataError
from nmtkit.text.names import PLACEHOLDERS, NameCounts, Names
from nmtkit.text.pipeline import TextPipeline
from nmtkit.training.adaptation.corrections import (
    CHANGED_NAME,
    EMPTY_SIDE,
    Pair,
    corpus_of,
    read_pairs,
    usable_corrections,
    warn_if_swapped,
)

LANGUAGES = ("en", "fr")


def pairs_of(*texts):
    return [Pair(src, tgt, f"c.tsv:{n}") for n, (src, tgt) in enumerate(texts, start=1)]


@pytest.fixture
def model(make_model):
    """A model of the words a to e and v to z that takes at most 4 tokens."""
    model = make_model(1)
    data = dataclasses.replace(model.config.data, max_length=4)
    return dataclasses.replace(model, config=dataclasses.replace(model.config, data=data))


def test_pairs_are_read_from_two_files_or_one(tmp_path):
    (tmp_path / "a.en").write_text("a b\nc\n")
    (tmp_path / "a.fr").write_text("v w\nx\n")
    (tmp_path / "a.tsv").write_text("a b\tv w\nc\tx\n")
    two = read_pairs([tmp_path / "a.en", tmp_path / "a.fr"], LANGUAGES)
    one = read_pairs([tmp_path / "a.tsv"], LANGUAGES)
    assert [pair[:2] for pair in map(dataclasses.astuple, two)] == [("a b", "v w"), ("c", "x")]
    assert [(pair.src, pair.tgt) for pair in two] == [(pair.src, pair.tgt) for pair in one]
    assert [pair.where for pair in one] == [f"{tmp_path / 'a.tsv'}:1", f"{tmp_path / 'a.tsv'}:2"]


def test_an_empty_side_is_reported_by_file_and_line(tmp_path, caplog):
    (tmp_path / "a.tsv").write_text("a\tv\nb\t \n\tw\n")
    assert [pair.src for pair in read_pairs([tmp_path / "a.tsv"], LANGUAGES)] == ["a"]
    assert [record.message.partition(": ")[0] for record in caplog.records] == [
        f"{tmp_path / 'a.tsv'}:{line}" for line in (2, 3)
    ]


def test_a_side_of_characters_that_are_left_out_is_empty(model, caplog):
    """A model learned from it to translate the source by nothing."""
    text = dataclasses.replace(model.config.text, tokenized=False)
    sides = TextPipeline("en", text, None, reads_source=True), TextPipeline("fr", text, None)
    model = dataclasses.replace(model, src_text=sides[0], tgt_text=sides[1])
    pairs = pairs_of(("a", "\x01"), ("b", "v"), ("\x01", "w"), ("\x01\x02", "\x01"))
    found = usable_corrections(pairs, model, "", ["c.tsv"])
    assert [item.pair.src for item in found] == ["b"]
    assert [record.message for record in caplog.records] == [
        f"c.tsv:{line}: {EMPTY_SIDE}" for line in (1, 3, 4)
    ]
    with pytest.raises(DataError, match="no corrections"):
        usable_corrections(pairs[:1], model, "", ["c.tsv"])


def test_a_name_that_is_not_copied_is_reported(make_model, caplog):
    """The model does not read it, so that all names would be translated by that of another."""
    names = Names.learn(NameCounts.empty())
    model = make_model(
        1, " ".join(["a", *PLACEHOLDERS]), " ".join(["v", *PLACEHOLDERS]), names=names
    )
    pairs = pairs_of(("a Zyx", "v Zyx"), ("a Xyz", "v v"), ("a", "v"))
    assert len(usable_corrections(pairs, model, "", ["c.tsv"])) == 3
    assert [record.message for record in caplog.records] == [f"c.tsv:2: {CHANGED_NAME}"]


def test_ids_end_with_the_end_of_sentence(model):
    (correction,) = usable_corrections(pairs_of(("a b", "v")), model, "", ["c.tsv"])
    assert correction.src == (2, 3, 0) and correction.tgt == (2, 0) and correction.length == 2


def test_the_later_correction_of_a_source_counts(model, caplog):
    pairs = pairs_of(("a", "v"), ("b", "w"), ("a", "x"), ("b", "w"))
    found = usable_corrections(pairs, model, "", ["c.tsv"])
    assert [(item.pair.src, item.pair.tgt) for item in found] == [("a", "x"), ("b", "w")]
    assert [record.message.partition(": ")[0] for record in caplog.records] == ["c.tsv:1"]


def test_blanks_make_no_other_source(model, caplog):
    pairs = pairs_of(("a b", "v"), (" a  b ", "x"), ("a b ", "x"))
    (found,) = usable_corrections(pairs, model, "", ["c.tsv"])
    assert found.pair.tgt == "x"
    assert [record.message.partition(": ")[0] for record in caplog.records] == ["c.tsv:1"]


def test_long_corrections_are_left_out_and_reported(model, caplog):
    pairs = pairs_of(("a b c d", "v"), ("a b c d e", "v"), ("a", "v v v v v"))
    found = usable_corrections(pairs, model, "", ["c.tsv"])
    assert [item.pair.where for item in found] == ["c.tsv:1"]
    assert [record.message[:7] for record in caplog.records] == ["c.tsv:2", "c.tsv:3"]


def test_words_that_the_model_cannot_write_are_reported(model, caplog):
    assert len(usable_corrections(pairs_of(("a", "v q")), model, "", ["c.tsv"])) == 1
    assert "c.tsv:1: has characters or words" in caplog.text


def test_only_the_first_lines_of_a_kind_are_named(model, caplog):
    caplog.set_level(logging.WARNING)
    usable_corrections(pairs_of(*((f"a {i}", "q") for i in range(8))), model, "", ["c.tsv"])
    assert len(caplog.records) == 6 and "3 more" in caplog.records[-1].message


@pytest.mark.parametrize(
    ("texts", "message"), [([], "no corrections"), ([("a a a a a", "v")], "longer than 4")]
)
def test_no_usable_correction_is_an_error(model, texts, message):
    with pytest.raises(DataError, match=f"c.tsv: .*{message}"):
        usable_corrections(pairs_of(*texts), model, "", ["c.tsv"])


def test_a_tag_stands_before_each_source(make_model):
    tagged = make_model(1, src="a b <t>", tags=("<t>",))
    pairs = pairs_of(("a", "v"), ("<t> b", "w"))
    found = usable_corrections(pairs, tagged, "<t>", ["c.tsv"])
    assert [item.src for item in found] == [(4, 2, 0), (4, 3, 0)]


def test_the_corpus_in_memory_has_the_ids(model):
    found = usable_corrections(pairs_of(("a b", "v"), ("c", "w x")), model, "", ["c.tsv"])
    corpus = corpus_of([(item.src, item.tgt) for item in found], model, "test")
    assert len(corpus) == 2
    for index, item in enumerate(found):
        assert tuple(corpus.src[index]) == item.src and tuple(corpus.tgt[index]) == item.tgt


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["c.tsv"], ("the sources", "targets of c.tsv")),
        (["c.en", "c.fr"], ("c.en", "c.fr")),
    ],
)
def test_columns_in_each_others_place_are_warned_of(model, caplog, files, names):
    pairs = pairs_of(*[("a b c d e", "v w x y z")] * 10)
    warn_if_swapped(pairs, model, files)
    assert caplog.messages == []
    warn_if_swapped([Pair(pair.tgt, pair.src, pair.where) for pair in pairs], model, files)
    (message,) = caplog.messages
    assert message.startswith(f"{names[0]} and {names[1]} look swapped: of the words of {names[0]}")
