"""Tuning, from lists and references to weights for reranking."""

import logging

import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.smt.mert import MertConfig
from nmtkit.smt.mira import MiraConfig
from nmtkit.smt.nbest import parse
from nmtkit.smt.reranker import Reranker, WeightedScorer
from nmtkit.smt.tuner import tune
from nmtkit.smt.weights import Weights, read_weights

REFERENCES = ["a b c d e", "b c d e f", "c d e f g", "d e f g h"]

ROWS = [
    (0, "a b c d x", -1, -5, -3),
    (0, "a b c d e", -2, -1, -104),
    (1, "b c d x", -1, -4, -2),
    (1, "b c d e f", -3, -1, -3),
    (1, "", 0, -20, -50),
    (3, "d e f g h", -1, -1, -9),
    (3, "d", -4, -9, -1),
]
"""Sentence, words, LM0, RNN0 and total; RNN0 knows best, and sentence 2 has none."""


def entries_of(rows=ROWS):
    lines = [f"{s} ||| {w} ||| LM0= {lm} RNN0= {rnn} ||| {t}" for s, w, lm, rnn, t in rows]
    return [parse(line, "list", n) for n, line in enumerate(lines, start=1)]


CONFIGS = [MertConfig(restarts=2), MiraConfig(epochs=30, c=0.1)]
STARTS = [
    None,
    Weights({"LM0": (1.0,)}),
    Weights({"LM0": (0.5,), "UnknownWordPenalty0": (1.0,)}),
    Weights({"LM0": (1.0,), "RNN0": (0.1,), "Rest0": (2.0,)}, {"LM0": (0.5,)}),
    Weights({"LM0": (1.0,), "Rest0": (1.0,)}, {}),
]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("start", STARTS)
def test_rerank_reaches_what_tuning_says(tmp_path, start, config):
    tuned = tune(entries_of(), REFERENCES, start, config)
    path = tmp_path / "weights"
    path.write_text(tuned.weights.text)
    reranker = Reranker(WeightedScorer(read_weights(path)))
    list(reranker.rerank(entries_of(), len(REFERENCES)))
    assert reranker.bleu(REFERENCES).value == pytest.approx(100 * tuned.after)
    assert tuned.after >= tuned.before
    assert set(tuned.weights.values) == {"LM0", "RNN0"} | (
        set() if tuned.weights.original is None else {"Rest0"}
    )


@pytest.mark.parametrize("start", STARTS[1:])
def test_before_is_the_bleu_of_the_start(start):
    start_weights = start if "Rest0" in start.values else Weights(start.values, None)
    if "UnknownWordPenalty0" in start.values:
        start_weights = Weights(start.values, start.values)
    reranker = Reranker(WeightedScorer(start_weights))
    list(reranker.rerank(entries_of(), len(REFERENCES)))
    tuned = tune(entries_of(), REFERENCES, start, MiraConfig(epochs=1))
    assert 100 * tuned.before == pytest.approx(tokenized_bleu(reranker.best, REFERENCES).value)


def test_the_weight_of_the_rest_counts_at_the_start():
    # LM0 + 2 (total - LM0 / 2) = 2 total, under which the right hypothesis is better; under
    # total + LM0 / 2 the other is.
    rows = [(0, "x", -1, 0, -3), (0, REFERENCES[0], -9, 0, -2.9)]
    start = Weights({"LM0": (1.0,), "Rest0": (2.0,)}, {"LM0": (0.5,)})
    tuned = tune(entries_of(rows), REFERENCES[:1], start, MertConfig(restarts=0))
    assert (tuned.before, tuned.after) == (1.0, 1.0)


@pytest.mark.parametrize("config", CONFIGS)
def test_the_good_feature_is_found(config):
    tuned = tune(entries_of(), REFERENCES, Weights({"LM0": (1.0,)}), config)
    best = ["a b c d e", "b c d e f", "", "d e f g h"]
    assert 100 * tuned.after == pytest.approx(tokenized_bleu(best, REFERENCES).value)
    assert tuned.weights.values["RNN0"][0] > 0


@pytest.mark.parametrize(
    ("start", "original"),
    [
        (STARTS[0], None),
        (STARTS[1], None),
        (STARTS[2], STARTS[2].values if STARTS[2] else None),
        (STARTS[3], {"LM0": (0.5,)}),
        (STARTS[4], {}),
    ],
)
def test_the_original_weights_are_passed_on(start, original):
    assert tune(entries_of(), REFERENCES, start, MiraConfig(epochs=1)).weights.original == original


def test_the_range_of_rest_is_logged(caplog):
    caplog.set_level(logging.INFO, "nmtkit")
    tune(entries_of(), REFERENCES, STARTS[2], MiraConfig(epochs=1))
    message = " ".join(record.getMessage() for record in caplog.records)
    assert "7 hypotheses of 3 sentences, 2 features" in message
    assert (
        "Rest0, the part of totals that the features do not explain: -103 to 1; it differs"
        in message
    )
    assert "between the hypotheses of 3 sentences" in message
    levels = [r.levelname for r in caplog.records if "Rest0" in r.getMessage()]
    assert levels == ["INFO", "WARNING"]
    assert "check that the list was made with the weights" in message
    assert "no weights for RNN0; starting at 0" in message


def test_a_rest_constant_in_each_sentence_gives_no_warning(caplog):
    rows = [(s, w, lm, rnn, 0.5 * lm - 100 * s) for s, w, lm, rnn, _ in ROWS]
    tune(entries_of(rows), REFERENCES, STARTS[2], MiraConfig(epochs=1))
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert warnings == [
        "no hypotheses for 1 line of the references, which counts as an empty translation"
    ]


def test_a_start_that_does_not_match_is_reported():
    with pytest.raises(DataError, match="ini: has weights for 'XM0', which is not a feature"):
        tune(entries_of(), REFERENCES, Weights({"XM0": (1.0,)}, path="ini"))
    turned = Weights({"Rest0": (-1.0,)}, {"LM0": (1.0,)}, "ini")
    with pytest.raises(DataError, match="weight of 'Rest0' is -1; it must be above 1e-100"):
        tune(entries_of(), REFERENCES, turned)
    with pytest.raises(DataError, match=r"ini: has a weight for 'Rest0' but no section"):
        tune(entries_of(), REFERENCES, Weights({"LM0": (1.0,), "Rest0": (1.0,)}, path="ini"))


def test_a_feature_whose_weights_could_not_be_read_again_is_refused():
    entries = [parse("0 ||| a ||| LM0= 1 RNN#0= 2 ||| 1", "list", 1)]
    with pytest.raises(DataError, match="list:1: the feature 'RNN#0' cannot be tuned"):
        tune(entries, ["a"])


@pytest.mark.parametrize("config", CONFIGS)
def test_a_feature_without_values_is_left_out_of_the_weights(tmp_path, config):
    entries = [parse(f"0 ||| {w} ||| E= A= {v} ||| 0") for w, v in (("x", 1), ("a b c d", -1))]
    path = tmp_path / "weights"
    path.write_text(tune(entries, ["a b c d"], config=config).weights.text)
    reranker = Reranker(WeightedScorer(read_weights(path)))
    assert [group[0].hypothesis for group in reranker.rerank(entries)] == ["a b c d"]
