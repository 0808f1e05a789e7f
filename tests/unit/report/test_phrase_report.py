"""A phrase table compared with a model: scores and samples of the chosen pairs only."""

import collections
import math
import random

import pytest
import torch

from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.translator import Translator
from nmtkit.models.cslm import CSLMConfig
from nmtkit.report.phrase_report import compare
from nmtkit.smt.phrase_sampling import MIN_LOG_PROB, PhraseSamplingConfig
from nmtkit.smt.phrase_scorer import PhraseScorer
from nmtkit.smt.phrase_table import read_phrase_table

HOW = PhraseSamplingConfig(pairs=30, phrases=2, min_words=2, top=2, seed=3)


@pytest.fixture
def table(tmp_path):
    """Write a phrase table of 60 source phrases with one to six targets each."""
    draw = random.Random(1)
    lines = []
    for number in range(60):
        src = " ".join([*draw.choices("abcde", k=draw.randrange(1, 5)), f"q{number}"])
        for target in draw.sample(["v", "w x", "z z y", "x", "w", "y"], draw.randrange(1, 7)):
            counts = f"9 {number + 1} 1"
            lines.append(f"{src} ||| {target} ||| 1 1 {1 / (number + 1):.6g} 1 ||| ||| {counts}")
    (tmp_path / "table").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path / "table"


def compare_table(table, model=None, how=HOW, **options):
    return compare(read_phrase_table(table), table, how, model, **options)


def test_pairs_have_the_scores_of_the_scorer(make_model, table):
    model = make_model(1)
    scorer = Scorer(Ensemble((model,)))
    comparison = compare_table(table, model, samples=2, batch_size=2)
    phrases = [*comparison.frequent, *comparison.rare]
    pairs = [*comparison.drawn, *(pair for phrase in phrases for pair in phrase.pairs)]
    assert len(comparison.drawn) == 30 and len(phrases) == 4
    scores = scorer.score([(pair.src, pair.tgt) for pair in pairs], tokenized=True)
    for pair, score in zip(pairs, scores, strict=True):
        assert pair.model == pytest.approx(score.log_prob, abs=1e-4)
    for phrase in phrases:
        assert {pair.src for pair in phrase.pairs} == {phrase.src}


def test_a_column_replaces_the_model(make_model, table, tmp_path):
    """The report by the model equals that by the columns that `phrase-table score` wrote."""
    model = make_model(1)
    expected = compare_table(table, model, samples=2)
    for logs in (False, True):
        lines = PhraseScorer([model], logs=logs).lines(read_phrase_table(table))
        (tmp_path / "scored").write_bytes(b"".join(line + b"\n" for line in lines))
        config = PhraseSamplingConfig(**{**HOW.__dict__, "model_column": 5, "logs": logs})
        for model_or_none in (None, model):
            comparison = compare_table(tmp_path / "scored", model_or_none, config, samples=2)
            for pair, expected_item in zip(comparison.drawn, expected.drawn, strict=True):
                assert (pair.src, pair.tgt, pair.table) == (
                    expected_item.src,
                    expected_item.tgt,
                    expected_item.table,
                )
                assert pair.model == pytest.approx(expected_item.model, abs=1e-4)
            for kind in ("frequent", "rare"):
                both = zip(getattr(comparison, kind), getattr(expected, kind), strict=True)
                for phrase, expected_item in both:
                    order = [pair.tgt for pair in phrase.best_of_model(3)]
                    assert order == [pair.tgt for pair in expected_item.best_of_model(3)]
                    assert phrase.samples == (expected_item.samples if model_or_none else ())


def test_samples_are_the_translators_with_counts(make_model, table):
    model = make_model(1)
    comparison = compare_table(table, model, samples=40)
    phrases = [*comparison.frequent, *comparison.rare]
    lines = [phrase.src for phrase in phrases]
    samples = Translator(Ensemble((model,))).sample(lines, 40, HOW.seed, tokenized=True)
    known_pairs = compare_table(table, model, samples=1)
    for phrase, translations in zip(phrases, samples, strict=True):
        times = collections.Counter(t.text for t in translations if t.finished)
        assert {sample.text: sample.times for sample in phrase.samples} == times
        assert phrase.unfinished == 40 - times.total()
        scores = [sample.score for sample in phrase.samples]
        assert scores == sorted(scores, reverse=True)
        targets = {pair.tgt for pair in phrase.pairs}
        assert all(sample.in_table == (sample.text in targets) for sample in phrase.samples)
    assert any(sample.in_table for phrase in phrases for sample in phrase.samples)
    assert [phrase.src for phrase in known_pairs.frequent] == lines[:2]


def test_unfinished_samples_are_only_counted(make_model, table):
    model = make_model(1)
    model.model.b_y[0] -= 100  # </s>
    comparison = compare_table(table, model, samples=7)
    assert {(len(p.samples), p.unfinished) for p in comparison.frequent} == {(0, 7)}


def test_the_same_seed_gives_the_same_report(make_model, table):
    model = make_model(1)
    first, second = (compare_table(table, model, samples=9) for _ in range(2))
    other_seed = compare_table(
        table, model, PhraseSamplingConfig(**{**HOW.__dict__, "seed": 4}), samples=9
    )
    assert first == second
    assert first.frequent[0].samples and first.drawn != other_seed.drawn


def test_scores_are_not_below_moses_minimum(make_model, table):
    model = make_model(1)
    with torch.no_grad():
        model.model.b_y[2] -= 5000  # the word v
    for pair in compare_table(table, model, samples=1).drawn:
        assert (pair.model == MIN_LOG_PROB) == (pair.tgt == "v")


def test_a_language_model_is_refused_before_the_table_is_read(make_model):
    def unread():
        raise AssertionError("was read")
        yield

    with pytest.raises(ModelError, match="language model"):
        compare(unread(), "t", HOW, make_model(1, sizes=CSLMConfig(2, 4, 6, 5)))
    with pytest.raises(ConfigError, match="a model or from a column"):
        compare(unread(), "t", HOW)


def test_a_damaged_model_is_an_error(make_model, table):
    model = make_model(1)
    model.model.W_s.fill_(math.nan)
    with pytest.raises(ModelError, match="not numbers"):
        compare_table(table, model)


def test_an_invalid_table_is_an_error(make_model, tmp_path):
    (tmp_path / "t").write_text("a ||| b ||| 1\n")
    with pytest.raises(DataError, match="t:1"):
        compare_table(tmp_path / "t", make_model(1))


def test_a_pair_too_long_for_memory_is_named(make_model, table, monkeypatch):
    monkeypatch.setattr("nmtkit.inference.scorer.MAX_ALIGNMENT_WEIGHTS", 1)
    message = "the phrase pair that begins with 'c e q0': 3 source and 3 "
    with pytest.raises(DataError, match=message):
        compare_table(table, make_model(1), samples=2)
