"""Features of sentences and words, by hand."""

import numpy as np
import pytest

from nmtkit.inference.confidence import features
from nmtkit.inference.confidence.features import (
    MIN_LOG_PROB,
    SENTENCE_FEATURES,
    WORD_FEATURES,
    AttentionSummary,
    Observation,
    Text,
    sentence_features,
    word_features,
)

LOGS = np.log([0.5, 0.25, 0.1, 0.9])
ATTENTION = np.array([[0.9, 0.1, 0], [0.9, 0.1, 0], [0, 0.5, 0.5], [0, 0, 1]])
SEEN = Observation(LOGS, LOGS - 1, np.arange(4.0), np.zeros(4), AttentionSummary.of(ATTENTION))
TEXT = Text([5, 1], [7, 8, 9], ["a", "12"], ["xy", "a"], [0, 0, 1], True)


def sentence(seen=SEEN, text=TEXT, reverse=()):
    values = sentence_features(seen, text, reverse)
    return dict(zip(SENTENCE_FEATURES, values, strict=True))


def words(seen=SEEN, text=TEXT, reverse=()):
    return dict(zip(WORD_FEATURES, word_features(seen, text, reverse).T, strict=True))


def test_features_of_a_sentence():
    found = sentence(reverse=[-1.0, -2.0, -99.0])
    assert found["mean_log_prob"] == pytest.approx(LOGS.mean())
    assert found["min_log_prob"] == pytest.approx(np.log(0.1))
    assert found["share_below_fifth"] == 0.25 and found["mean_margin"] == pytest.approx(1)
    assert found["coverage"] == pytest.approx((1 + 0.7) / 2)
    assert found["excess_coverage"] == pytest.approx(0.4)
    assert found["unknown_source"] == 0.5 and found["changed_numbers"] == 1
    assert found["copied_words"] == 0.5 and found["tokens_per_word"] == 1.5
    assert found["log_ratio"] == pytest.approx(np.log(4 / 3)) and found["finished"] == 1
    assert found["min_reverse_log_prob"] == MIN_LOG_PROB


def test_features_of_words_are_means_over_their_tokens():
    found = words()
    np.testing.assert_allclose(found["mean_log_prob"], [LOGS[:2].mean(), LOGS[2]])
    np.testing.assert_allclose(found["min_log_prob"], [LOGS[1], LOGS[2]])
    np.testing.assert_allclose(found["previous_log_prob"], [0, LOGS[:2].mean()])
    np.testing.assert_allclose(found["next_log_prob"], [LOGS[2], LOGS[3]])
    np.testing.assert_allclose(found["in_source"], [0, 1])
    np.testing.assert_allclose(found["tokens"], [2, 1])
    np.testing.assert_allclose(found["linked_source_rank"], [np.log(6), np.log(2)])


def test_attention_is_summarised_alike_in_parts_and_as_a_whole(monkeypatch):
    attention = np.random.default_rng(1).dirichlet(np.ones(7), 11).astype(np.float32)
    whole = AttentionSummary.of(attention)
    monkeypatch.setattr(features, "MAX_WEIGHTS", 20)
    parts = AttentionSummary.of(attention)
    for name in ("sums", "entropies", "peaks", "to_end", "linked"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)
    exact = attention.astype(float)
    np.testing.assert_allclose(whole.entropies, -(exact * np.log(exact)).sum(1))
    np.testing.assert_allclose(whole.sums, exact.sum(0))
    assert (whole.linked == exact[:, :-1].argmax(1)).all()
    assert (whole.to_end == attention[:, -1]).all() and (whole.peaks == attention.max(1)).all()


def test_without_attention_its_features_are_zero():
    plain = Observation(LOGS, LOGS - 1, np.arange(4.0), np.zeros(4), None)
    assert sentence(plain)["coverage"] == 0 and sentence(plain)["attention_peak"] == 0
    assert not words(plain)["attention_peak"].any()


@pytest.mark.parametrize(
    "text",
    [
        Text([], [7, 8, 9, 7], [], ["x"], [0, 0, 0, 0], False),
        Text([5], [7, 8, 9, 7], ["a"], [], [], False),
    ],
)
def test_odd_texts_have_finite_features(text):
    attention = AttentionSummary.of(ATTENTION[:, : len(text.src_ids) + 1])
    seen = Observation(LOGS - 1e9, LOGS, np.zeros(4), np.zeros(4), attention)
    assert np.isfinite(list(sentence(seen, text).values())).all()
    assert word_features(seen, text).shape == (len(text.tgt_words), len(WORD_FEATURES))
    assert np.isfinite(word_features(seen, text)).all()
