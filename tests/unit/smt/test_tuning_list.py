"""Tuning lists as arrays: the best hypotheses and their BLEU, with missing sentences."""

import numpy as np
import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.smt.nbest import parse
from nmtkit.smt.tuning_list import load_tuning_list, segment_argmax


def best_by_hand(entries, references, weights):
    """Return the hypothesis of each sentence with the greatest sum, entry by entry."""
    best = [("", -np.inf)] * len(references)
    for entry in entries:
        values = [v for feature in entry.features.values() for v in feature]
        score = sum(w * v for w, v in zip(weights, values, strict=True))
        if score > best[entry.sentence][1]:
            best[entry.sentence] = (entry.hypothesis, score)
    return [words for words, _ in best]


@pytest.mark.parametrize("without", [(), (0,), (2, 5), (3, 4)])
def test_bleu_of_weights_is_that_of_the_best_hypotheses(make_list, without):
    entries, references = make_list(1, without=without)
    tuning = load_tuning_list(entries, references)
    random = np.random.default_rng(3)
    reached = set()
    for _ in range(20):
        weights = random.integers(-2, 3, size=3)
        chosen = best_by_hand(entries, references, weights)
        expected = tokenized_bleu(chosen, references).value
        assert 100 * tuning.bleu(weights.astype(float)) == pytest.approx(expected, abs=1e-9)
        reached.add(round(expected, 6))
    assert len(reached) > 3


@pytest.mark.parametrize("without", [(), (2, 5)])
def test_bleu_with_several_references_is_that_of_the_best_hypotheses(make_list, without):
    entries, references = make_list(1, without=without)
    both = [references, [line[::-1] for line in references]]
    tuning = load_tuning_list(entries, both)
    random = np.random.default_rng(3)
    for _ in range(10):
        weights = random.integers(-2, 3, size=3)
        chosen = best_by_hand(entries, references, weights)
        expected = tokenized_bleu(chosen, both).value
        assert 100 * tuning.bleu(weights.astype(float)) == pytest.approx(expected, abs=1e-9)


def test_lists_of_references_that_differ_in_length_are_refused(make_list):
    entries, references = make_list(1)
    with pytest.raises(DataError, match="the references have 6, 5 lines; give each sentence"):
        load_tuning_list(entries, [references, references[1:]])


def test_the_arrays_have_the_values_of_the_lines(make_list, caplog):
    entries, references = make_list(2, without=(1,))
    tuning = load_tuning_list(iter(entries), references)
    assert caplog.messages == [
        "no hypotheses for 1 line of the references, which counts as an empty translation"
    ]
    assert tuning.features.tolist() == [
        [v for feature in entry.features.values() for v in feature] for entry in entries
    ]
    sizes = [sum(e.sentence == s for e in entries) for s in (0, 2, 3, 4, 5)]
    assert np.diff(tuning.offsets).tolist() == sizes
    assert tuning.missing.tolist() == [0] * 8 + [len(references[1].split())]
    assert tuning.rest.tolist() == [0] * len(entries)


def test_the_rest_is_the_total_without_the_weighted_sum(make_list):
    entries, references = make_list(2)
    original = {"A": (0.5, -1.0), "B": (2.0,), "UnknownWordPenalty0": (1.0,)}
    tuning = load_tuning_list(entries, references, original)
    for entry, rest in zip(entries, tuning.rest, strict=True):
        (a, b), (c,) = entry.features["A"], entry.features["B"]
        assert rest == pytest.approx(entry.total - (0.5 * a - b + 2 * c))
    scores = tuning.scores(np.array([0.5, -1.0, 2.0]))
    assert scores == pytest.approx([entry.total for entry in entries])


def test_segment_argmax_returns_the_first_maximum():
    offsets = np.array([0, 3, 4, 7])
    values = np.array([1.0, 5, 5, -np.inf, 2, 2, 1])
    assert segment_argmax(values, offsets).tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the n-best list is empty"),
        (["0 ||| x ||| ||| 1"], "the n-best list has no features"),
        (
            ["0 ||| x ||| A= 1 ||| 1", "2 ||| x ||| A= 1 ||| 1"],
            ":2: sentence 2, counted from 0",
        ),
        (["1 ||| x ||| A= 1 ||| 1", "0 ||| x ||| A= 1 ||| 1"], ":2: sentence 0 comes after"),
        (["0 ||| x ||| A= 1 ||| 1", "0 ||| x ||| B= 1 ||| 1"], r":2: has the features B \(1\)"),
        (["0 ||| x ||| A= 1 ||| 1", "0 ||| x ||| A= -inf ||| 1"], ":2: .* infinite"),
        (["0 ||| x ||| A= nan ||| 1"], ":1: .* not a number"),
        (["0 ||| x ||| A= 1 ||| -inf"], ":1: .* the total is infinite"),
    ],
)
def test_an_unusable_list_is_reported(rows, message):
    entries = [parse(row, "list", n) for n, row in enumerate(rows, start=1)]
    with pytest.raises(DataError, match=message):
        load_tuning_list(entries, ["a", "b"], {"A": (1.0,)})


def test_totals_are_ignored_without_original_weights():
    entries = [parse("0 ||| x ||| A= 1 ||| -inf")]
    assert load_tuning_list(entries, ["x"]).rest.tolist() == [0]
