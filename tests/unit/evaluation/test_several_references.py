"""With several references every metric is sacreBLEU's; with one it is what it always was."""

import random
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError
from nmtkit.evaluation.bleu_statistics import Reference, bleu, corpus_statistics
from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
from nmtkit.evaluation.comparison import ComparisonConfig, compare
from nmtkit.evaluation.metrics import METRICS, evaluate, tokenized_bleu
from nmtkit.evaluation.references import read_references, reference_files
from nmtkit.evaluation.retokenize import Retokenizer

LINES = st.text(st.sampled_from("abcé的 "), max_size=14)
MULTI_BLEU: dict[str, Any] = {"tokenize": "none", "smooth_method": "none", "force": True}


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Draw hypotheses and one to four lists of references; lines may be empty, or copies."""
    size, sets = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    references = [draw(st.lists(LINES, min_size=size, max_size=size)) for _ in range(sets)]
    lines = [st.one_of(LINES, st.sampled_from(row)) for row in zip(*references, strict=True)]
    return [draw(line) for line in lines], references


@settings(max_examples=40)
@given(corpora())
def test_figures_and_signatures_are_sacrebleus(corpus: tuple[list[str], list[list[str]]]) -> None:
    hypotheses, references = corpus
    theirs = [sacrebleu.BLEU(**MULTI_BLEU), sacrebleu.BLEU(), sacrebleu.CHRF(), sacrebleu.TER()]
    for ours, metric in zip(evaluate(hypotheses, references), theirs, strict=True):
        assert ours.value == pytest.approx(metric.corpus_score(hypotheses, references).score)
        assert ours.signature == str(metric.get_signature())


@settings(max_examples=25)
@given(corpora())
def test_statistics_of_bleu_are_sacrebleus_sentence_by_sentence(
    corpus: tuple[list[str], list[list[str]]],
) -> None:
    hypotheses, references = corpus
    statistics = corpus_statistics(hypotheses, *references)
    theirs = sacrebleu.BLEU(**MULTI_BLEU)._extract_corpus_statistics(hypotheses, references)
    for row, (length, reference_length, *counts) in zip(statistics, theirs, strict=True):
        assert (row[4], row[8], [*row[:8]]) == (length, reference_length, counts)
    expected = sacrebleu.BLEU(**MULTI_BLEU).corpus_score(hypotheses, references).score
    assert 100 * bleu(statistics.sum(axis=0)) == pytest.approx(expected)


@given(corpora())
@settings(max_examples=12)
def test_a_list_given_twice_and_the_order_of_lists_change_no_bleu_and_no_chrf(
    corpus: tuple[list[str], list[list[str]]],
) -> None:
    hypotheses, references = corpus
    for name in ("bleu", "sacrebleu", "chrf"):
        once, twice, turned = (
            METRICS[name].corpus_score(hypotheses, lists).value
            for lists in (references, references + references[:1], references[::-1])
        )
        assert once == pytest.approx(twice)
        if name != "chrf":  # of two references with one F-score, sacreBLEU's chrF takes the first
            assert once == pytest.approx(turned)


def test_one_list_in_a_list_is_the_list() -> None:
    hypotheses, references = ["a b c d", "e"], ["a b c d", "e f"]
    assert evaluate(hypotheses, [references]) == evaluate(hypotheses, references)


def test_the_closest_length_counts_and_the_shorter_of_two() -> None:
    reference = Reference("a", "a b c", "a b c d e")
    assert [reference.statistics("x " * n)[8] for n in range(7)] == [1, 1, 1, 3, 3, 5, 5]


def test_an_n_gram_matches_as_often_as_in_one_reference_not_in_their_sum() -> None:
    assert tokenized_bleu(["a a a"], [["a a b"], ["a c d"]]).precisions[0] == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ([["a", "b"], ["c"]], r"2 lines in the hypotheses but 1 in the references \(list 2\)"),
        ([["a"], ["c", "d"]], "2 lines in the hypotheses but 1 in the references; give one"),
    ],
)
def test_lists_of_different_lengths_are_refused(references: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate(["a", "b"], references)


def test_a_string_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="references must be a list"):
        evaluate(["a"], "a")
    with pytest.raises(TypeError, match="references must be a list"):
        evaluate(["a"], [["a"], "a"])


def test_every_reference_is_retokenised() -> None:
    split = Retokenizer("split", lambda line: line.replace(".", " ."))
    raw, words = ["a b c."], ["a b c ."]
    scores = evaluate(raw, [raw, ["x."]], tokenize=split)
    assert scores[0] == tokenized_bleu(words, [words, ["x ."]], tokenization="split")
    assert scores[0].signature.startswith("nrefs:2|")


def test_comparisons_subsets_and_buckets_use_all_references() -> None:
    rng = random.Random(3)
    lines = [[" ".join(rng.choices("abcd", k=rng.randint(4, 9))) for _ in range(20)] for _ in "xyz"]
    hypotheses, *references = lines
    data = EvaluationSet(references[0], more_references=(references[1],))
    bucketing = Bucketing("length", "reference", (6.0,))
    config = ComparisonConfig(samples=30, bucketings=(bucketing,))
    comparison = compare({"one": hypotheses, "two": references[0]}, data, config)
    for score, expected in zip(
        comparison.scores["one"], evaluate(hypotheses, references), strict=True
    ):
        assert score.value == expected.value
        assert score.signature == expected.signature.replace(
            "nrefs:2|", "nrefs:2|bs:30|seed:12345|"
        )
    assert {name: f["two"].value for name, f in comparison.whole.figures.items()} == pytest.approx(
        {"BLEU (multi-bleu)": 100, "BLEU (sacreBLEU)": 100, "chrF": 100, "TER": 0}
    )
    for entry in comparison.buckets:
        chosen = [[text[i] for i in entry.bucket.sentences] for text in lines]
        alone = {score.name: score.value for score in evaluate(chosen[0], chosen[1:])}
        actual = {name: figures["one"].value for name, figures in entry.result.figures.items()}
        assert actual == pytest.approx(alone)


def test_intervals_and_p_values_of_chrf_are_sacrebleus() -> None:
    from sacrebleu.significance import PairedTest

    rng = random.Random(4)
    a, b, x, y = (["".join(rng.choices("abc ", k=12)) for _ in range(30)] for _ in "abxy")
    config = ComparisonConfig(samples=50, metrics=("chrf", "bleu"))
    comparison = compare({"a": a, "b": b}, EvaluationSet(x, more_references=(y,)), config)
    metric = sacrebleu.CHRF(references=[x, y])
    test = PairedTest([("a", a), ("b", b)], {"CHRF": metric}, None, "bs", n_samples=50)
    results: Any = test()[1]
    baseline, second = results["chrF2"]
    figures = comparison.whole.figures["chrF"]
    for name, result in (("a", baseline), ("b", second)):
        assert figures[name].value == pytest.approx(result.score)
        interval = figures[name].interval
        assert interval and (interval.mean, interval.margin) == pytest.approx(
            (result.mean, result.ci)
        )
    (pair,) = [pair for pair in comparison.whole.pairs if pair.measure == "chrF"]
    assert pair.p == pytest.approx(second.p_value)


def test_moses_numbered_files_are_found_if_there_is_no_such_file(tmp_path: Path) -> None:
    stem = str(tmp_path / "ref")
    for number in (0, 1, 3):
        (tmp_path / f"ref{number}").write_text(f"{number}\n")
    assert reference_files([stem, "-"]) == [f"{stem}0", f"{stem}1", "-"]
    assert read_references([stem]) == [["0"], ["1"]]
    (tmp_path / "ref").write_text("only\n")
    assert reference_files([stem]) == [stem]
    assert reference_files(["missing"]) == ["missing"]
    (tmp_path / "ref1").write_text("1\n2\n")
    with pytest.raises(DataError, match="ref has 1, .*ref1 has 2"):
        read_references([stem, f"{stem}1"])
