"""Reranking keeps every entry, sorted by score, and the order of sentences."""

import random
from collections.abc import Callable

import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.smt import reranker as reranker_module
from nmtkit.smt.nbest import Entry, parse
from nmtkit.smt.reranker import (
    AverageScorer,
    GroupScorer,
    OracleScorer,
    Reranker,
    WeightedScorer,
    total_scores,
)
from nmtkit.smt.weights import Weights


def entries_of(*rows):
    return [parse(row, "list", n) for n, row in enumerate(rows, start=1)]


def random_entries(seed, sentences=8):
    rng = random.Random(seed)
    return entries_of(
        *(
            f"{s} ||| {' '.join(rng.choices('abcd', k=rng.randint(0, 6)))} |||"
            f" A= {rng.randint(-3, 3)} {rng.randint(-3, 3)} L= {rng.randint(-9, 0)}"
            f" ||| {rng.randint(-5, 0)} ||| {n}"
            for s in range(sentences)
            for n in range(rng.choice([0, 1, 5]))
        )
    )


def expected_order(entries, score):
    """Sort by sentence, then score, then position in the list."""
    return sorted(entries, key=lambda entry: (entry.sentence, -score(entry), entry.number))


WEIGHTS = Weights({"A": (0.5, -1.0), "L": (0.25,)})
SCORES: dict[str, tuple[GroupScorer, Callable[[Entry], float]]] = {
    "total": (total_scores, lambda e: e.total),
    "average": (AverageScorer(["L"]), lambda e: (e.total + e.features["L"][0]) / 2),
    "weights": (
        WeightedScorer(WEIGHTS),
        lambda e: 0.5 * e.features["A"][0] - e.features["A"][1] + 0.25 * e.features["L"][0],
    ),
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_each_sentence_is_sorted_and_none_is_lost(seed, kind):
    scores, by_hand = SCORES[kind]
    entries = random_entries(seed)
    reranker = Reranker(scores)
    groups = list(reranker.rerank(iter(entries), sentences=8))
    expected = expected_order(entries, by_hand)
    assert [e.number for group in groups for e in group] == [e.number for e in expected]
    assert [e.total for group in groups for e in group] == pytest.approx(
        [by_hand(e) for e in expected]
    )
    assert len(groups) == 8 and all(e.sentence == s for s, g in enumerate(groups) for e in g)
    assert reranker.best == [group[0].hypothesis if group else "" for group in groups]
    assert reranker.missing == sum(not group for group in groups) > 0


def test_sentences_without_hypotheses_stay_in_order():
    entries = entries_of("1 ||| x ||| A= 1 ||| 1", "3 |||  ||| A= 1 ||| 1")
    for sentences, best in ((None, ["", "x", "", ""]), (6, ["", "x", "", "", "", ""])):
        reranker = Reranker(total_scores)
        groups = list(reranker.rerank(entries, sentences))
        assert reranker.best == best
        assert reranker.missing == len(best) - 2
        assert [len(group) for group in groups] == [0, 1, 0, 1, 0, 0][: len(best)]
    assert list(Reranker(total_scores).rerank([])) == []
    assert list(Reranker(total_scores).rerank([], 2)) == [[], []]
    with pytest.raises(DataError, match="list:2: sentence 3, counted from 0, is beyond the 3"):
        list(Reranker(total_scores).rerank(entries, 3))


def test_several_models_have_equal_weight_in_the_average():
    entry = parse("0 ||| x ||| R= -4 L= -8 ||| -3")
    assert AverageScorer(["R", "L"])([entry]) == [pytest.approx(-5.0)]


def test_a_list_without_features_is_told_from_one_with_others():
    entries = [parse("0 ||| x ||| ||| 1", "l", 1)]
    with pytest.raises(DataError, match="l:1: has no values of 'X'.*; it has the features none$"):
        list(Reranker(AverageScorer(["X"])).rerank(entries))


@pytest.mark.parametrize(("name", "message"), [("X", "no values of 'X'"), ("A", "2 values of 'A'")])
def test_a_feature_that_cannot_be_averaged_is_reported(name, message):
    with pytest.raises(DataError, match=f"list:1: has {message}, where one is needed; .* A, L"):
        AverageScorer([name])(entries_of("0 ||| x ||| A= 1 2 L= 1 ||| 1"))


def test_original_weights_keep_the_totals_and_the_order(caplog):
    weights = Weights({"A": (0.1, 0.7), "L": (0.3,), "UnknownWordPenalty0": (1.0,)})
    weights = Weights(weights.values, original=weights.values)
    entries = entries_of(
        "0 ||| x ||| A= 0.3 7 L= 1.1 ||| -4.40479",
        "0 ||| y ||| A= 0.1 0.2 L= 0.6 ||| -4.40479",
        "0 ||| z ||| A= 9 9 L= 9 ||| -104.4",
    )
    [group] = Reranker(WeightedScorer(weights)).rerank(entries)
    assert [entry.line for entry in group] == [entry.line for entry in entries]
    assert not caplog.records


def test_a_feature_without_weights_is_logged_once(caplog):
    entries = entries_of("0 ||| x ||| A= 1 L= 1 ||| 1", "1 ||| x ||| A= 1 L= 1 ||| 1")
    list(Reranker(WeightedScorer(Weights({"A": (1.0,)}, path="w"))).rerank(entries))
    assert [r.getMessage() for r in caplog.records] == ["w: no weight for L; using 0"]


@pytest.mark.parametrize("scores", [total_scores, WeightedScorer(Weights({"A": (0.0,)}))])
def test_a_score_that_is_not_a_number_is_reported(scores):
    entries = entries_of("0 ||| x ||| A= 1 ||| 1", "0 ||| x ||| A= inf ||| nan")
    with pytest.raises(DataError, match="list:2: .* infinite or not a number"):
        list(Reranker(scores).rerank(entries))


def test_a_total_may_be_minus_infinity():
    entries = entries_of("0 ||| x ||| A= 1 ||| -inf", "0 ||| y ||| A= 1 ||| -7")
    reranker = Reranker(total_scores)
    [group] = reranker.rerank(entries)
    assert [entry.line for entry in group] == [entries[1].line, entries[0].line]


def test_the_oracle_is_the_best_of_each_sentence():
    rows = ["x x", "a b c d", "a b", "a b c d"], ["", "e f"], ["", "z"]
    references = ["a b c d", "e f g h", "q", "r"]
    entries = entries_of(
        *(f"{s} ||| {w} ||| A= 1 ||| 0" for s, words in enumerate(rows) for w in words)
    )
    reranker = Reranker(OracleScorer(references))
    groups = list(reranker.rerank(entries, len(references)))
    assert reranker.best == ["a b c d", "e f", "", ""]
    assert groups[0][0].number == 2 and groups[0][0].total == pytest.approx(1.0)
    assert reranker.bleu(references) == tokenized_bleu(reranker.best, references)
    with pytest.raises(DataError, match="sentence 2, counted from 0, is beyond the references' 2"):
        list(Reranker(OracleScorer(references[:2])).rerank(entries))


def test_the_oracle_takes_several_references():
    rows = ["a b c d", "x y z", "z"], ["e f", ""]
    entries = entries_of(
        *(f"{s} ||| {w} ||| A= 1 ||| 0" for s, words in enumerate(rows) for w in words)
    )
    references = [["q", "e f"], ["x y z", ""]]
    reranker = Reranker(OracleScorer(references))
    list(reranker.rerank(entries, 2))
    assert reranker.best == ["x y z", "e f"]
    assert reranker.bleu(references) == tokenized_bleu(reranker.best, references)


def test_a_huge_sentence_number_is_refused():
    entries = entries_of("0 ||| a ||| L= 1 ||| 1", f"{10**15} ||| b ||| L= 1 ||| 1")
    with pytest.raises(DataError, match="list:2: sentence 1000000000000000 comes where 1 was"):
        list(Reranker(total_scores).rerank(iter(entries)))
    with pytest.raises(DataError, match="is beyond the 5 sentences"):
        list(Reranker(total_scores).rerank(iter(entries), 5))
    assert sum(1 for _ in Reranker(total_scores).rerank(entries_of("7 ||| a ||| L= 1 ||| 1"))) == 8


@pytest.mark.parametrize("edge", ["\u2028", "\u2029", "\x85", "\u00a0", "\u3000", "\x1c"])
def test_non_ascii_white_space_is_kept_at_the_ends(edge):
    reranker = Reranker(total_scores)
    list(reranker.rerank(entries_of(f"0 ||| \t{edge}a b{edge} \r ||| L= 1 ||| 1")))
    assert reranker.best == [f"{edge}a b{edge}"]


@pytest.mark.parametrize(("numbers", "is_refused"), [((5, 11, 17, 23), False), ((5, 12), True)])
def test_sentences_may_be_missing_between_two_but_not_too_many(monkeypatch, numbers, is_refused):
    monkeypatch.setattr(reranker_module, "MAX_MISSING_SENTENCES", 5)
    entries = entries_of(*(f"{number} ||| a ||| L= 1 ||| 1" for number in numbers))
    groups = Reranker(total_scores).rerank(entries)
    if is_refused:
        with pytest.raises(DataError, match="list:2: sentence 12 comes where 6 was expected"):
            list(groups)
    else:
        assert [n for n, group in enumerate(groups) if group] == list(numbers)
