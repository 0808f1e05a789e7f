"""Confidences of translations depend on nothing but the line and the models."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from nmtkit.inference.confidence.estimator import ConfidenceEstimator
from nmtkit.inference.confidence.features import SENTENCE_FEATURES, WORD_FEATURES
from nmtkit.inference.confidence.logistic import probabilities
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.stream_batching import WindowDone
from nmtkit.inference.translator import Translator
from nmtkit.io.calibration_record import LogisticRecord
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.models.rnnsearch import RNNsearch
from tests.unit.calibrations import RECORD

LINES = ["a b c", "", "e", "d d d d a b c e", "b c", "c b a", "a"]


def logistic(names):
    random = np.random.default_rng(len(names))
    weights = tuple(random.normal(0, 0.2, len(names)).tolist())
    zeros, ones = (0.0,) * len(names), (1.0,) * len(names)
    return LogisticRecord(names, zeros, ones, weights, 0.5)


RATED = replace(RECORD, sentences=logistic(SENTENCE_FEATURES), words=logistic(WORD_FEATURES))


def translator_of(*members, reverse=None, **settings):
    translator = Translator(Ensemble(tuple(members)), **settings)
    return translator.with_features(ConfidenceEstimator(RATED, reverse))


def confidences(translator, lines, n_best=1):
    return [
        [(t.confidence, *t.word_confidences) for t in translations]
        for translations in translator.translate(lines, n_best, beam=3)
    ]


def assert_close(found, expected):
    for line, other in zip(found, expected, strict=True):
        for one, two in zip(line, other, strict=True):
            assert one == pytest.approx(two, abs=1e-5)


def test_they_depend_neither_on_other_lines_nor_on_the_batch(make_model):
    model = make_model(1)
    together = confidences(translator_of(model), LINES)
    assert_close(together, confidences(translator_of(model, batch_size=2), LINES))
    alone = itertools.chain.from_iterable(
        confidences(translator_of(model), [line]) for line in LINES
    )
    assert_close(together, list(alone))
    assert len({one[0][0] for one in together}) > 3


def test_translations_and_scores_stay_the_same(make_model):
    model = make_model(2)
    plain = Translator(Ensemble((model,)))
    rated = translator_of(model).translate(LINES, 3, alignments=True, beam=3)
    for found, expected in zip(
        rated, plain.translate(LINES, 3, alignments=True, beam=3), strict=True
    ):
        for one, two in zip(found, expected, strict=True):
            assert (one.text, one.tokens) == (two.text, two.tokens)
            assert one.score == pytest.approx(two.score, abs=1e-5)
            assert one.word_alignment is not None
            assert len(one.word_confidences or []) == len(one.word_alignment.tgt_words)
            assert two.confidence is None and two.word_confidences is None


def test_the_evidence_is_that_of_scoring(make_model):
    """log p of each token is that of `Scorer`, and that of the search."""
    model = make_model(3)
    (found,) = translator_of(model).translate(["a b c"], 3, beam=3)
    searcher = translator_of(model)
    sources = [searcher.ensemble.source_tokens("a b c")]
    hypotheses = searcher.with_search(beam=3)._window_search.translations(
        _window(sources), [[0]], 3, alignments=False
    )[0]
    for translation, hypothesis in zip(found, hypotheses, strict=True):
        assert hypothesis.evidence is not None
        values, attention = hypothesis.evidence
        assert values[:, 0].tolist() == pytest.approx(translation.word_scores, abs=1e-5)
        assert attention is not None and attention.shape == (len(hypothesis.ids), 4)
        assert not values[:, 3].any()
        for tensor in (values, attention):  # forks send it back without the rest of its batch
            assert tensor.untyped_storage().nbytes() == tensor.nbytes


def _window(sources):
    from nmtkit.inference.window_search import Window

    return Window(["a b c"], [[]], sources, sources, 0, [], {}, WindowDone(0, 1))


def test_as_many_hypotheses_are_read_together_as_lines_are_searched(make_model, monkeypatch):
    rows, evidence = [], RNNsearch.evidence

    def noting(self, *inputs):
        rows.append(len(inputs[2]))
        return evidence(self, *inputs)

    monkeypatch.setattr(RNNsearch, "evidence", noting)
    found = confidences(translator_of(make_model(1)), LINES, 3)
    lines = [len(of_line) for line, of_line in zip(LINES, found, strict=True) if line]
    assert sum(rows) == sum(lines) > len(lines) >= max(rows)


def test_samples_have_no_confidences(make_model):
    ((one, _),) = translator_of(make_model(1)).sample(["a b"], 2)
    assert one.confidence is None and one.word_confidences is None


def test_an_empty_line_is_certain(make_model):
    assert confidences(translator_of(make_model(1)), ["", " "], 2) == [[(1.0,)], [(1.0,)]]


def test_models_that_agree_have_no_spread(make_model):
    one, other = make_model(1), make_model(2)
    alone = confidences(translator_of(one), LINES)
    assert_close(confidences(translator_of(one, one), LINES), alone)
    spread = list(SENTENCE_FEATURES).index("mean_spread")
    weights = [0.0] * len(SENTENCE_FEATURES)
    weights[spread] = 1.0
    record = replace(RATED, sentences=replace(RATED.sentences, weights=tuple(weights)))
    for members, differs in ((one, one), False), ((one, other), True):
        translator = Translator(Ensemble(members)).with_features(ConfidenceEstimator(record))
        ((best,),) = translator.translate(["a b c"])
        base = probabilities(record.sentences, np.zeros((1, len(weights))))[0]
        assert best.confidence is not None
        assert (best.confidence > base + 1e-4) == differs


def test_the_reverse_model_is_heard(make_model):
    model, back = make_model(1), make_model(4, src="vwxyz", tgt="abcde")
    reverse = Scorer(Ensemble((back,)))
    with_it = confidences(translator_of(model, reverse=reverse), LINES, 2)
    without = confidences(translator_of(model), LINES, 2)
    changed = [
        one[0][0] != two[0][0] for one, two in zip(with_it, without, strict=True) if len(one[0]) > 1
    ]
    assert changed and all(changed)


def test_the_reverse_model_does_not_read_the_tag_of_a_line(make_model):
    model = make_model(5, src="<x> a b c d e", tags=("<x>",))
    reverse = Scorer(Ensemble((make_model(6, src="vwxyz", tgt="abcde"),)))
    translator = translator_of(model, reverse=reverse)
    by_option = confidences(translator.with_tag("<x>"), ["a b c"])
    assert_close(confidences(translator, ["<x> a b c"]), by_option)


def test_models_without_attention_have_confidences(make_model):
    model = make_model(1, sizes=RNNencConfig(embedding=6, hidden=8, maxout=4))
    assert all(0 < one[0][0] <= 1 for one in confidences(translator_of(model), LINES))
