"""Rescoring keeps each line and adds the score that its hypothesis has by itself."""

import numpy as np
import pytest

from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.models.cslm import CSLMConfig
from nmtkit.search.model_averaging import ModelAveraging
from nmtkit.smt.nbest import parse
from nmtkit.smt.rescorer import Rescorer

TEXTS = ["v w", "x", "", "v w", "y y y z q", "x"]
SOURCES = ["a b", "c", "", "d e a"]


@pytest.fixture
def scorers(make_model):
    """Return a translation model and a language model."""
    lm = CSLMConfig(3, 4, 6, 5)
    models = make_model(1), make_model(2, sizes=lm)
    return [Scorer(Ensemble((model,)), batch_size=2) for model in models]


@pytest.fixture
def entries():
    """Return entries of sentences 0, 1 and 3; the last two exceed a window of 32."""
    result = [(0, text) for text in TEXTS]
    result += [(s, " ".join("vwxyz"[n % 5 :]) + f" v{' w' * n}") for s in (1, 3) for n in range(40)]
    return [parse(f"{s} ||| {t} ||| LM0= {n} ||| -1", "l", n) for n, (s, t) in enumerate(result, 1)]


@pytest.mark.parametrize("many", [2, 64])
def test_every_line_is_kept_with_the_scores_of_its_hypothesis(scorers, entries, many, monkeypatch):
    monkeypatch.setattr("nmtkit.smt.rescorer.MIN_TREE_SIZE", many)
    rescorer = Rescorer(scorers, batch_size=2)
    assert rescorer.names == ["RNN0", "CSLM0"] and rescorer.reads_source
    actual = list(rescorer.rescore(iter(entries), SOURCES))
    assert len(actual) == len(entries)
    for before, after in zip(entries, actual, strict=True):
        features = after.features
        kept = {name: value for name, value in features.items() if name == "LM0"}
        assert kept == before.features and list(features) == ["LM0", "RNN0", "CSLM0"]
        assert (after.hypothesis, after.location) == (before.hypothesis, before.location)
    for after in [*actual[:6], actual[20], actual[-1]]:
        pair = SOURCES[after.sentence], after.hypothesis
        for name, scorer in zip(("RNN0", "CSLM0"), scorers, strict=True):
            [score] = scorer.score([pair])
            assert after.features[name][0] == pytest.approx(score.log_prob, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("many", [2, 64])
@pytest.mark.parametrize(
    ("averaging", "mean"),
    [
        (ModelAveraging(), lambda a, b: np.log((np.exp(a) + np.exp(b)) / 2)),
        (ModelAveraging((2.0, 1.0)), lambda a, b: np.log((2 * np.exp(a) + np.exp(b)) / 3)),
        (ModelAveraging((1.0, 3.0), True), lambda a, b: (a + 3 * b) / 4),
    ],
)
def test_an_ensemble_is_one_feature(make_model, entries, many, averaging, mean, monkeypatch):
    """Its value is the sum of the logs of averaged next-word probabilities, in float64."""
    monkeypatch.setattr("nmtkit.smt.rescorer.MIN_TREE_SIZE", many)
    models = [make_model(seed) for seed in (1, 2)]
    rescorer = Rescorer([Scorer(Ensemble(tuple(models), averaging), batch_size=2)])
    assert rescorer.names == ["RNN0"]
    actual = list(rescorer.rescore(iter(entries[:46]), SOURCES))
    alone = [Scorer(Ensemble((model,)), batch_size=2) for model in models]
    for entry in [*actual[:6], actual[20], actual[-1]]:
        assert list(entry.features) == ["LM0", "RNN0"]
        pair = SOURCES[entry.sentence], entry.hypothesis
        words = [np.array(next(scorer.score([pair])).word_scores) for scorer in alone]
        expected = mean(*words).sum()
        assert entry.features["RNN0"][0] == pytest.approx(expected, rel=1e-6, abs=1e-5)


def test_an_ensemble_has_one_name():
    with pytest.raises(ConfigError, match="2 feature names for an ensemble"):
        Rescorer.load("a", "b", names=["A", "B"], ensemble=True)


def test_a_hypothesis_is_scored_once_per_sentence(scorers, entries, monkeypatch):
    asked = []
    real = Scorer.score

    def score(self, pairs, tokenized, pair_name):
        asked.extend(pairs)
        return real(self, pairs, tokenized, pair_name=pair_name)

    monkeypatch.setattr(Scorer, "score", score)
    rescorer = Rescorer(scorers[:1], batch_size=2)
    list(rescorer.rescore(entries[:6], SOURCES))
    assert asked == [(SOURCES[0], text) for text in ("v w", "x", "", "y y y z q")]
    assert rescorer.totals[0].pairs == 4 and rescorer.totals[0].unknown == 1
    [message] = rescorer.summary()
    assert message.startswith("RNN0: 4 hypotheses, 12 target tokens")
    assert message.endswith("; 1 token unknown")


def test_a_window_has_whole_sentences(scorers, entries):
    """No line is read beyond the window."""
    taken = []

    def stream():
        for entry in entries:
            taken.append(entry.number)
            yield entry

    actual = Rescorer(scorers[1:], batch_size=2).rescore(stream())
    assert next(actual).number == 1
    assert len(taken) == 6 + 40 + 1  # and the line after the sentence


def test_the_word_penalty_counts_words_unknown_to_the_first_model(scorers, entries):
    rescorer = Rescorer(scorers, count_unknown=True)
    plain = Rescorer(scorers)
    actual = list(rescorer.rescore(entries[:6], SOURCES))
    assert rescorer.names == ["RNN0", "CSLM0"]
    assert [list(entry.features)[-1] for entry in actual] == ["WP0"] * 6
    expected = [-entry.hypothesis.split().count("q") for entry in actual]
    assert [entry.features["WP0"][0] for entry in actual] == expected and min(expected) == -1
    for before, after in zip(plain.rescore(entries[:6], SOURCES), actual, strict=True):
        assert before.features == {k: v for k, v in after.features.items() if k != "WP0"}


def test_normalized_scores_are_divided_by_the_tokens(scorers, entries):
    rescorer = Rescorer(scorers[1:])
    plain, epoch_averages = (list(rescorer.rescore(entries, normalized=n)) for n in (False, True))
    for one, mean in zip(plain, epoch_averages, strict=True):
        words = len(one.hypothesis.split()) + 1
        expected = one.features["CSLM0"][0] / words
        assert mean.features["CSLM0"][0] == pytest.approx(expected, abs=1e-5)


def test_a_sentence_beyond_the_source_is_reported(scorers, entries):
    with pytest.raises(DataError, match="l:47: sentence 3, counted from 0, .* 3 lines"):
        list(Rescorer(scorers).rescore(entries, SOURCES[:3]))


def test_a_translation_model_needs_the_sources(scorers, entries):
    with pytest.raises(ModelError, match="give SRC"):
        list(Rescorer(scorers).rescore(entries))
    assert not Rescorer(scorers[1:]).reads_source


def test_an_existing_feature_is_an_error(scorers, entries):
    rescorer = Rescorer(scorers[1:], names=["LM0"])
    with pytest.raises(DataError, match="l:1: has a feature 'LM0' already"):
        list(rescorer.rescore(entries))


def test_default_names_number_the_models_of_a_kind(scorers):
    one, lm = scorers
    assert Rescorer([lm, one, one, lm, one]).names == ["CSLM0", "RNN0", "RNN1", "CSLM1", "RNN2"]
    assert Rescorer(scorers, ["a", "b"]).names == ["a", "b"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "1 feature name for 2 models"),
        (["a", "b", "c"], "3 feature names"),
        (["a", "b c"], "cannot be called 'b c'"),
        (["a=", "b"], "cannot be called 'a='"),
        (["a", "a"], "two features would be called 'a'"),
    ],
)
def test_invalid_names_are_refused(scorers, names, message):
    with pytest.raises(ConfigError, match=message):
        Rescorer(scorers, names)


def test_the_name_of_the_word_penalty_is_taken(scorers):
    with pytest.raises(ConfigError, match="two features would be called 'WP0'"):
        Rescorer(scorers, ["RNN0", "WP0"], count_unknown=True)


@pytest.mark.parametrize("many", [2, 64])
def test_a_hypothesis_too_long_for_memory_is_reported(scorers, entries, many, monkeypatch):
    """The message has its file and line: the first of more than 18 words for sentence 1.

    It is the first of those that are equal, too.
    """
    monkeypatch.setattr("nmtkit.smt.rescorer.MIN_TREE_SIZE", many)
    monkeypatch.setattr("nmtkit.inference.scorer.MAX_ALIGNMENT_WEIGHTS", 18)
    with pytest.raises(DataError, match="l:22: 1 source and 21 target tokens are too many"):
        list(Rescorer(scorers[:1], batch_size=2).rescore(entries, SOURCES))
    again = [parse(entry.line, "again", entry.number) for entry in entries]
    twice = sorted([*entries, *again], key=lambda entry: entry.sentence)
    with pytest.raises(DataError, match="^l:22: "):
        list(Rescorer(scorers[:1], batch_size=2).rescore(twice, SOURCES))
