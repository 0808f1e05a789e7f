"""Laws of scoring: probabilities add up to one; padding and other pairs change nothing."""

import itertools
import math
import random

import pytest
import torch

from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Score, Scorer, Totals
from nmtkit.models.cslm import CSLMConfig
from nmtkit.text.names import Names


def pairs(count: int) -> list[tuple[str, str]]:
    random.seed(count)
    return [
        (
            " ".join(random.choices("abcdef", k=random.randrange(6))),
            " ".join(random.choices("vwxyz", k=random.randrange(6))),
        )
        for _ in range(count)
    ]


@pytest.fixture
def scorer(make_model):
    return Scorer(Ensemble((make_model(1),)), batch_size=8)


def test_probabilities_of_all_translations_add_up_to_one(make_model):
    """Sum over all translations of up to three tokens and the prefixes of all longer ones."""
    scorer = Scorer(Ensemble((make_model(4, tgt="xy"), make_model(5, tgt="xy"))))
    tokens = ["q", "x", "y"]  # q is outside of the vocabulary
    strings = [list(s) for n in range(4) for s in itertools.product(tokens, repeat=n)]
    total = 0.0
    for score in scorer.score([("a b", " ".join(s)) for s in strings]):
        total += math.exp(score.log_prob)
        if len(score.tgt_tokens) == 3:
            probability_to_continue = 1 - math.exp(score.word_scores[-1])
            total += math.exp(sum(score.word_scores[:-1])) * probability_to_continue
    assert total == pytest.approx(1, abs=1e-5)


def test_a_source_of_several_pairs_is_encoded_once(scorer, monkeypatch):
    model, sources = scorer.ensemble.models[0], []
    real = model.encode

    def encode(src, src_mask):
        sources.extend(src.tolist())
        return real(src, src_mask)

    monkeypatch.setattr(model, "encode", encode)
    data = [("a b", "v w"), ("c d", "x y"), ("a b", "z z"), ("a b", "w v")]
    log_probs = [score.log_prob for score in scorer.score(data)]
    assert len(sources) == 2
    assert log_probs == pytest.approx(
        [next(scorer.score([pair])).log_prob for pair in data], abs=1e-5
    )


def test_each_pair_is_scored_as_if_alone(scorer):
    data = pairs(150)  # more than a window
    scores = list(scorer.score(iter(data), alignments=True))
    assert len(scores) == len(data)
    for (source, target), score in zip(data, scores, strict=True):
        [alone] = scorer.score([(source, target)], alignments=True)
        assert score.src_tokens == source.split() and score.tgt_tokens == target.split()
        assert score.word_scores == pytest.approx(alone.word_scores, abs=1e-5)
        assert score.log_prob == pytest.approx(sum(score.word_scores))
        assert score.normalized == pytest.approx(score.log_prob / (len(target.split()) + 1))
        assert score.alignment is not None and alone.alignment is not None
        assert score.alignment.shape == (len(target.split()) + 1, len(source.split()) + 1)
        assert torch.allclose(score.alignment, alone.alignment, atol=1e-5)


def test_a_list_is_scored_as_its_pairs(make_model, monkeypatch):
    monkeypatch.setattr("nmtkit.search.prefix_tree.MAX_PREFIXES", 8)
    targets = [target for _, target in pairs(70)] + ["", "v q", "v", "v q"]
    both = Scorer(Ensemble((make_model(1), make_model(2))).averaged([3, 1]))
    for scorer in (Scorer(Ensemble((make_model(1),))), both):
        for source in ("a b a", ""):
            list_scores = scorer.score_list(source, targets, tokenized=True)
            pair_scores = scorer.score([(source, target) for target in targets], tokenized=True)
            for actual, expected in zip(list_scores, pair_scores, strict=True):
                assert actual.word_scores == pytest.approx(expected.word_scores, abs=1e-5)
                assert actual.log_prob == pytest.approx(sum(actual.word_scores))
                assert (actual.src_tokens, actual.tgt_tokens) == (
                    expected.src_tokens,
                    expected.tgt_tokens,
                )
                assert actual.unknown == expected.unknown
    assert both.score_list("a", []) == []


def test_an_empty_side_is_the_end_of_the_sentence_alone(scorer):
    scores = list(scorer.score([("a", ""), ("", "x"), ("", "")]))
    assert [len(score.word_scores) for score in scores] == [1, 2, 1]
    assert all(score.log_prob < 0 for score in scores)


def test_a_tag_stands_before_every_source(make_model):
    model = make_model(1, src="<x> <y> a b c d e", tags=("<x>", "<y>"))
    scorer = Scorer(Ensemble((model,)))
    lines = [("a b", "v w"), ("", "x"), ("<y> c", "y")]
    expected = [s.log_prob for s in scorer.score([("<x> a b", "v w"), ("", "x"), ("<y> c", "y")])]
    assert [s.log_prob for s in scorer.with_tag("<x>").score(lines)] == pytest.approx(expected)
    assert next(scorer.score(lines)).log_prob != pytest.approx(expected[0])
    with pytest.raises(ConfigError, match="no tag '<z>'"):
        scorer.with_tag("<z>")


def test_names_are_scored_as_their_placeholders(make_model):
    src, tgt = "a ❶ ❷", "v ❶ ❷"
    copies = Scorer(Ensemble((make_model(1, src=src, tgt=tgt, names=Names({})),)))
    pairs = [("a GI 77", "77 v GI"), ("a GI", "v"), ("GI", "77 GI"), ("a", "GI")]
    masked = [("a ❶ ❷", "❷ v ❶"), ("a ❶", "v"), ("❶", "z ❶"), ("a", "z")]
    plain = Scorer(Ensemble((make_model(1, src=src, tgt=tgt),)))
    expected = [score.log_prob for score in plain.score(masked)]
    assert [score.log_prob for score in copies.score(pairs)] == pytest.approx(expected)
    listed = [score for src, tgt in pairs for score in copies.score_list(src, [tgt])]
    assert [score.log_prob for score in listed] == pytest.approx(expected)


def means(first, second):
    """Return the logs of the mean probabilities of the words by two models."""
    pairs = zip(first.word_scores, second.word_scores, strict=True)
    return [math.log((math.exp(a) + math.exp(b)) / 2) for a, b in pairs]


def test_an_ensemble_averages_probabilities(make_model):
    models = make_model(1), make_model(2)
    single = [list(Scorer(Ensemble((model,))).score(pairs(20))) for model in models]
    averaged = Scorer(Ensemble(models)).score(pairs(20))
    for first, second, mean in zip(*single, averaged, strict=True):
        assert mean.word_scores == pytest.approx(means(first, second), abs=1e-5)


def test_weighted_and_log_linear_averaging(make_model):
    models = make_model(1), make_model(2)
    single = [list(Scorer(Ensemble((model,))).score(pairs(20))) for model in models]
    weighted = Scorer(Ensemble(models).averaged([3, 1])).score(pairs(20))
    log_linear = Scorer(Ensemble(models).averaged([3, 1], log_linear=True)).score(pairs(20))
    for first, second, mean, log_mean in zip(*single, weighted, log_linear, strict=True):
        words = list(zip(first.word_scores, second.word_scores, strict=True))
        expected = [math.log(0.75 * math.exp(a) + 0.25 * math.exp(b)) for a, b in words]
        assert mean.word_scores == pytest.approx(expected, abs=1e-5)
        assert log_mean.word_scores == pytest.approx([0.75 * a + 0.25 * b for a, b in words])
    for weights in ([1.0], [1, 2, 3], [1, 0], [1, -2], [1, math.nan]):
        with pytest.raises(ConfigError, match="weight"):
            Ensemble(models).averaged(weights)


def test_a_damaged_model_is_an_error(make_model):
    model = make_model(1)
    model.model.W_s.fill_(math.nan)
    scorer = Scorer(Ensemble((model,)))
    with pytest.raises(ModelError, match="not numbers"):
        list(scorer.score([("a", "x")]))
    with pytest.raises(ModelError, match="not numbers"):
        scorer.score_list("a", ["x"])


def test_a_model_without_alignment_is_an_error(make_model, monkeypatch):
    model = make_model(1)
    real = model.model.score
    monkeypatch.setattr(model.model, "score", lambda *a: real(*a)._replace(alignment=None))
    scorer = Scorer(Ensemble((model,)))
    assert next(scorer.score([("a", "x")])).alignment is None
    with pytest.raises(ModelError, match="no alignment"):
        next(scorer.score([("a", "x")], alignments=True))


def test_a_language_model_scores_text_without_a_source(make_model):
    lm = make_model(3, sizes=CSLMConfig(3, 4, 6, 5))
    scorer = Scorer(Ensemble((lm,)), batch_size=4)
    texts = [target for _, target in pairs(100)]
    scores = list(scorer.score_text(iter(texts)))
    with_source = scorer.score(pairs(100))
    for text, score, expected in zip(texts, scores, with_source, strict=True):
        assert score.tgt_tokens == text.split() and score.src_tokens == []
        assert score.word_scores == pytest.approx(expected.word_scores, abs=1e-5)
        [alone] = scorer.score_text([text])
        assert score.word_scores == pytest.approx(alone.word_scores, abs=1e-5)
    assert not scorer.reads_source


def test_the_probabilities_of_all_texts_add_up_to_one(make_model):
    scorer = Scorer(Ensemble((make_model(4, tgt="xy", sizes=CSLMConfig(2, 4, 6, 5)),)))
    strings = [list(s) for n in range(3) for s in itertools.product("qxy", repeat=n)]
    total = 0.0
    for score in scorer.score_text(" ".join(s) for s in strings):
        total += math.exp(score.log_prob)
        if len(score.tgt_tokens) == 2:
            total += math.exp(sum(score.word_scores[:-1])) * (1 - math.exp(score.word_scores[-1]))
    assert total == pytest.approx(1, abs=1e-5)


def test_a_translation_model_needs_a_source(make_model):
    translating, lm = make_model(1), make_model(2, sizes=CSLMConfig(2, 4, 6, 5))
    for models in ((translating,), (lm, translating)):
        scorer = Scorer(Ensemble(models))
        assert scorer.reads_source
        with pytest.raises(ModelError, match="both, SRC and TGT"):
            scorer.score_text(["x"])


def test_a_language_model_may_join_one_that_translates(make_model):
    models = make_model(1), make_model(2, sizes=CSLMConfig(2, 4, 6, 5))
    single = [list(Scorer(Ensemble((model,))).score(pairs(9))) for model in models]
    for first, second, mean in zip(*single, Scorer(Ensemble(models)).score(pairs(9)), strict=True):
        assert mean.word_scores == pytest.approx(means(first, second), abs=1e-5)


def test_unknown_words_are_counted(scorer):
    scores = list(scorer.score([("a", "v q q"), ("q", ""), ("a", "q x")]))
    assert [score.unknown for score in scores] == [2, 0, 1]
    totals = Totals()
    for score in scores:
        totals.add(score)
    assert totals.unknown == 3
    assert totals.summary("line").startswith("3 lines, 8 target tokens")


def test_totals_are_those_of_the_tokens():
    totals = Totals()
    assert (totals.cost_per_token, totals.perplexity) == (0.0, 1.0)
    assert totals.summary() == "0 pairs"
    for words in ([-1.0, -2.0], [-6.0]):
        totals.add(Score(sum(words), words, [], []))
    assert (totals.pairs, totals.tokens) == (2, 3)
    assert totals.cost_per_token == pytest.approx(3.0)
    assert totals.perplexity == pytest.approx(math.exp(3.0))
    assert "per token 3.0000, per sentence 4.5000" in totals.summary()
    totals.add(Score(-1e6, [-1e6], [], []))
    assert totals.perplexity == math.inf


def test_a_pair_too_long_for_memory_is_reported(scorer, monkeypatch):
    monkeypatch.setattr("nmtkit.inference.scorer.MAX_ALIGNMENT_WEIGHTS", 12)
    pairs = [("a", "v")] * 2000 + [("a b c", "v w x y"), ("a b c d", "v w x y")]
    scores = scorer.score(pairs)
    with pytest.raises(DataError, match="pair 2002: 4 source and 4 target tokens are too many for"):
        list(scores)
    assert len(list(scorer.score(pairs[:-1]))) == 2001
    with pytest.raises(DataError, match="pair 2: 4 source and 4 target tokens are too many for"):
        scorer.score_list("a b c d", ["x", "v w x y"])
