"""Comparison of systems: each subset has the figures that it has by itself."""

import random

import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
from nmtkit.evaluation.comparison import ComparisonConfig, compare
from nmtkit.evaluation.metrics import evaluate
from nmtkit.evaluation.retokenize import Retokenizer
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.vocabulary import Vocabulary

WORDS = ["a", "b", "c", "d", "e", "f"]
VOCABULARY = Vocabulary([*SPECIAL_WORDS, *"abcde"])
BY_LENGTH = Bucketing("length", bounds=(5.0, 9.0, 50.0))


def lines(seed: int, size: int = 40) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 14))) for _ in range(size)]


TEXTS = EvaluationSet(lines(1), lines(2), VOCABULARY, VOCABULARY)
SYSTEMS = {
    "cut": [line[: len(line) * 3 // 4].strip() for line in TEXTS.reference],
    "swapped": [line.replace("a b", "b a") for line in TEXTS.reference],
    "same": list(TEXTS.reference),
}


def figures_alone(system: str, part: list[int]) -> list[float]:
    hypotheses = [SYSTEMS[system][i] for i in part]
    return [m.value for m in evaluate(hypotheses, [TEXTS.reference[i] for i in part])]


def test_a_bucket_has_the_figures_of_its_sentences_alone() -> None:
    actual = compare(SYSTEMS, TEXTS, ComparisonConfig(bucketings=(BY_LENGTH,)))
    for level in actual.buckets:
        part = level.bucket.sentences.tolist()
        assert level.result.sentences == len(part)
        for system in SYSTEMS if part else ():
            values = [of[system].value for of in level.result.figures.values()]
            assert values == pytest.approx(figures_alone(system, part), abs=1e-9)
    whole = [of["cut"].value for of in actual.whole.figures.values()]
    assert whole == pytest.approx(figures_alone("cut", list(range(40))))
    assert actual.lines == actual.whole.sentences == 40


def test_an_empty_bucket_has_no_figures() -> None:
    *_, last = compare(SYSTEMS, TEXTS, ComparisonConfig(samples=3, bucketings=(BY_LENGTH,))).buckets
    assert (last.result.sentences, last.result.figures, last.result.pairs) == (0, {}, ())


def test_without_bootstrap_there_is_neither_interval_nor_pair() -> None:
    actual = compare(SYSTEMS, TEXTS, ComparisonConfig())
    assert not actual.whole.pairs and not actual.buckets
    assert all(f.interval is None for of in actual.whole.figures.values() for f in of.values())


def test_every_pair_of_systems_is_compared_by_every_metric() -> None:
    actual = compare(SYSTEMS, TEXTS, ComparisonConfig(samples=20, bucketings=(BY_LENGTH,)))
    names = list(actual.whole.figures)
    both = [("cut", "swapped"), ("cut", "same"), ("swapped", "same")]
    assert [(p.measure, p.first, p.second) for p in actual.whole.pairs] == [
        (name, *pair) for name in names for pair in both
    ]
    for pair in actual.whole.pairs:
        of = actual.whole.figures[pair.measure]
        assert pair.difference == of[pair.second].value - of[pair.first].value
    assert len(actual.buckets[0].result.pairs) == len(actual.whole.pairs)
    interval = actual.buckets[0].result.figures["chrF"]["cut"].interval
    assert interval and interval.low < interval.high


def test_windows_have_no_intervals() -> None:
    windows = Bucketing("length", window=4), Bucketing("length", neighbours=9)
    actual = compare(
        SYSTEMS, TEXTS, ComparisonConfig(samples=5, metrics=("bleu",), bucketings=windows)
    )
    assert {level.bucketing for level in actual.buckets} == set(windows)
    for level in actual.buckets:
        assert not level.result.pairs
        assert all(f.interval is None for f in level.result.figures["BLEU (multi-bleu)"].values())


def test_the_seed_changes_the_samples() -> None:
    first, again, other = (
        compare(SYSTEMS, TEXTS, ComparisonConfig(samples=20, seed=seed)).whole for seed in (1, 1, 2)
    )
    assert first == again != other


def test_only_selected_sentences_are_evaluated() -> None:
    short = [i for i, line in enumerate(TEXTS.reference) if 4 <= len(line.split()) <= 9]
    part = [i for i in short if 4 <= len(TEXTS.source[i].split()) <= 9]
    actual = compare(SYSTEMS, TEXTS, ComparisonConfig(words=(4, 9), bucketings=(BY_LENGTH,)))
    assert (actual.lines, actual.whole.sentences) == (40, len(part))
    assert [of["cut"].value for of in actual.whole.figures.values()] == pytest.approx(
        figures_alone("cut", part)
    )
    assert sum(level.result.sentences for level in actual.buckets) == len(part)
    assert "|subset:words-4-9|" in actual.scores["cut"][0].signature

    known = [i for i in part if "f" not in TEXTS.reference[i] + TEXTS.source[i]]
    actual = compare(SYSTEMS, TEXTS, ComparisonConfig(words=(4, 9), no_unknown=True, samples=2))
    assert known and actual.whole.sentences == len(known)
    assert "nrefs:1|bs:2|seed:12345|subset:no-unk,words-4-9|" in actual.scores["same"][3].signature


def test_buckets_are_made_from_tokenised_text() -> None:
    """SacreBLEU's metrics get the text as it is given."""
    split = Retokenizer("split", lambda line: line.replace(".", " ."))
    texts = EvaluationSet(["a b c d.", "a b c."], ["a.", "b"])
    bucketings = (
        Bucketing("length", bounds=(1.0,)),
        Bucketing("length", "reference", (4.0,)),
    )
    config = ComparisonConfig(tokenize=split, tokenize_source=split, bucketings=bucketings)
    actual = compare({"same": texts.reference}, texts, config)
    assert [level.bucket.sentences.tolist() for level in actual.buckets] == [[1], [0], [1], [0]]
    assert "tok:split" in actual.scores["same"][0].signature


def test_labels_of_lengths_are_whole_numbers() -> None:
    config = ComparisonConfig(bucketings=(Bucketing("length", bounds=(2.5, 5.0)),))
    labels = [entry.label() for entry in compare(SYSTEMS, TEXTS, config).buckets]
    assert labels == ["to 2.5", "3-5", "over 5"]


def test_different_numbers_of_lines_are_refused_with_both_counts() -> None:
    with pytest.raises(DataError, match=r"39 lines in out.b but 40 in test.fr"):
        compare(
            {"a": SYSTEMS["cut"], "b": SYSTEMS["cut"][1:]},
            TEXTS,
            ComparisonConfig(),
            {"b": "out.b", "": "test.fr"},
        )
    with pytest.raises(DataError, match="no lines in a and the references"):
        compare({"a": []}, EvaluationSet([]), ComparisonConfig())


def test_an_empty_selection_is_refused() -> None:
    with pytest.raises(DataError, match="none of the 40 sentences"):
        compare(SYSTEMS, TEXTS, ComparisonConfig(words=(90, 99)))
    blank = EvaluationSet(["a b"], [""], VOCABULARY, VOCABULARY)
    by_rank = Bucketing("rank", neighbours=3)
    with pytest.raises(DataError, match="no sentence belongs to a bucket by rank of source"):
        compare({"a": ["a b"]}, blank, ComparisonConfig(bucketings=(by_rank,)))


def test_a_difference_has_the_sign_of_the_second_system_against_the_first() -> None:
    """The mean over the samples is that of the one minus that of the other."""
    found = compare(SYSTEMS, TEXTS, ComparisonConfig(samples=40)).whole
    mirrored = compare(dict(reversed(SYSTEMS.items())), TEXTS, ComparisonConfig(samples=40)).whole
    others = {(pair.measure, pair.second, pair.first): pair for pair in mirrored.pairs}
    for pair in found.pairs:
        first, second = (found.figures[pair.measure][s].interval for s in (pair.first, pair.second))
        other = others[pair.measure, pair.first, pair.second]
        assert first and second and pair.interval and other.interval
        assert pair.interval.mean == pytest.approx(second.mean - first.mean)
        assert other.difference == pytest.approx(-pair.difference)
        ends = other.interval.low, other.interval.high
        assert ends == pytest.approx((-pair.interval.high, -pair.interval.low))
